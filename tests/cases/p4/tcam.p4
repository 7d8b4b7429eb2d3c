#include "include/frame.p4h"
INGRESS {
    action set(bit<32> x) { hdr.data.b = x; }
    table ternary_one { key = { hdr.data.long: ternary; } actions = { set; } size = 8192; }
    apply {
        ternary_one.apply();
    }
}
#include "include/rest.p4h"
// error: 6:21 table 'Ingress.ternary_one' needs 32 tcam blocks in one stage; there are 24
