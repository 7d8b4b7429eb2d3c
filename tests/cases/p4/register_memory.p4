#include "include/frame.p4h"
INGRESS {
    Register<bit<32>, bit<32>>(1 << 18, 0) large;
    RegisterAction<bit<32>, bit<32>, bit<32>>(large) add = { void apply(inout bit<32> v) { v = v + 1; } };
    apply {
        add.execute(hdr.data.a);
    }
}
#include "include/rest.p4h"
// error: 6:13 register 'add' needs 65 stateful blocks in one stage; there are 48
