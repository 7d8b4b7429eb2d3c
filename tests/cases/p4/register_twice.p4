#include "include/frame.p4h"
INGRESS {
    Register<bit<32>, bit<8>>(256, 0) seen;
    RegisterAction<bit<32>, bit<8>, bit<32>>(seen) read = { void apply(inout bit<32> v, out bit<32> rv) { rv = v; } };
    RegisterAction<bit<32>, bit<8>, bit<32>>(seen) write = { void apply(inout bit<32> v) { v = hdr.data.a; } };
    apply {
        hdr.data.a = read.execute(hdr.data.kind);
        if (hdr.data.flag == 1) { write.execute(hdr.data.kind); }
    }
}
#include "include/rest.p4h"
// error: 8:41 register 'Ingress.seen' is accessed twice in one pass
