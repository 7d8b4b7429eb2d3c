#include "include/frame.p4h"
INGRESS {
    action set(bit<32> x) { hdr.data.b = x; }
    table exact_one { key = { hdr.data.long: exact; } actions = { set; } size = 200000; }
    apply {
        exact_one.apply();
    }
}
#include "include/rest.p4h"
// error: 6:19 table 'Ingress.exact_one' needs 196 sram blocks in one stage; there are 80
