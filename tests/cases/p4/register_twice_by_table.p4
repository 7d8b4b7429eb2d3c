#include "include/frame.p4h"
INGRESS {
    Register<bit<32>, bit<8>>(256, 0) seen;
    RegisterAction<bit<32>, bit<8>, bit<32>>(seen) add = {
        void apply(inout bit<32> v, out bit<32> rv) { v = v + 1; rv = v; }
    };
    action count() { hdr.data.a = add.execute(hdr.data.kind); }
    action pass() {}
    table flows { key = { hdr.data.kind: exact; } actions = { count; pass; } size = 16; const default_action = pass(); }
    apply {
        flows.apply();
        add.execute(0);
    }
}
#include "include/rest.p4h"
// error: 12:13 register 'Ingress.seen' is accessed twice in one pass
