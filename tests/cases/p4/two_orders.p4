#include "include/frame.p4h"
INGRESS {
    Register<bit<32>, bit<8>>(256, 0) one;
    Register<bit<32>, bit<8>>(256, 0) two;
    RegisterAction<bit<32>, bit<8>, bit<32>>(one) from_one = {
        void apply(inout bit<32> v, out bit<32> rv) { rv = v; v = hdr.data.a; }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(two) from_two = {
        void apply(inout bit<32> v, out bit<32> rv) { rv = v; v = hdr.data.a; }
    };
    apply {
        if (hdr.data.flag == 1) {
            hdr.data.a = from_one.execute(hdr.data.kind);
            hdr.data.a = from_two.execute(hdr.data.kind);
        } else {
            hdr.data.a = from_two.execute(hdr.data.kind);
            hdr.data.a = from_one.execute(hdr.data.kind);
        }
    }
}
#include "include/rest.p4h"
// error: 17:35 registers 'Ingress.one' and 'Ingress.two' are reached in two orders
