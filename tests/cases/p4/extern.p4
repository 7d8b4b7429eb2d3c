#include <tna.p4>
extern Meter { Meter(bit<32> size); bit<8> execute(in bit<32> index); }
control c(inout bit<8> x) { Meter(16) meter; apply { x = meter.execute(0); } }
// error: 2:1 'extern' declarations are not supported; TNA's are built in
