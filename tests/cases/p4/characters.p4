#include <tna.p4>
const bit<8> x = 1 $ 2;
// error: 2:20 unexpected character '$'
