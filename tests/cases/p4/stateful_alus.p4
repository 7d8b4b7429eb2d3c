#include "include/frame.p4h"
INGRESS {
    Register<bit<32>, bit<8>>(256, 0) r0;
    Register<bit<32>, bit<8>>(256, 0) r1;
    Register<bit<32>, bit<8>>(256, 0) r2;
    Register<bit<32>, bit<8>>(256, 0) r3;
    Register<bit<32>, bit<8>>(256, 0) r4;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r0) add0 = { void apply(inout bit<32> v) { v = v + 1; } };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r1) add1 = { void apply(inout bit<32> v) { v = v + 1; } };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r2) add2 = { void apply(inout bit<32> v) { v = v + 1; } };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r3) add3 = { void apply(inout bit<32> v) { v = v + 1; } };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r4) add4 = { void apply(inout bit<32> v) { v = v + 1; } };
    action count() {
        add0.execute(hdr.data.kind);
        add1.execute(hdr.data.kind);
        add2.execute(hdr.data.kind);
        add3.execute(hdr.data.kind);
        add4.execute(hdr.data.kind);
    }
    table flows { key = { hdr.data.flag: exact; } actions = { count; } size = 16; }
    apply {
        flows.apply();
    }
}
#include "include/rest.p4h"
// error: 22:15 table 'Ingress.flows' needs 5 stateful alus in one stage; there are 4
