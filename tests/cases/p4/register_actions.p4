#include "include/frame.p4h"
#define ADD(name, by) RegisterAction<bit<32>, bit<8>, bit<32>>(sum) name = { void apply(inout bit<32> v) { v = v + by; } };
INGRESS {
    Register<bit<32>, bit<8>>(256, 0) sum;
    ADD(one, 1) ADD(two, 2) ADD(three, 3) ADD(four, 4) ADD(five, 5)
    apply {
        if (hdr.data.kind == 1) { one.execute(0); }
        else if (hdr.data.kind == 2) { two.execute(0); }
        else if (hdr.data.kind == 3) { three.execute(0); }
        else if (hdr.data.kind == 4) { four.execute(0); }
        else { five.execute(0); }
    }
}
#include "include/rest.p4h"
// error: 11:21 register 'Ingress.sum' has more than 4 RegisterActions that are used
