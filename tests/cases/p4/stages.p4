#include "include/frame.p4h"
INGRESS {
    apply {
        hdr.data.a = hdr.data.a + hdr.data.b;
        hdr.data.b = hdr.data.b + hdr.data.a;
        hdr.data.a = hdr.data.a + hdr.data.b;
        hdr.data.b = hdr.data.b + hdr.data.a;
        hdr.data.a = hdr.data.a + hdr.data.b;
        hdr.data.b = hdr.data.b + hdr.data.a;
        hdr.data.a = hdr.data.a + hdr.data.b;
        hdr.data.b = hdr.data.b + hdr.data.a;
        hdr.data.a = hdr.data.a + hdr.data.b;
        hdr.data.b = hdr.data.b + hdr.data.a;
        hdr.data.a = hdr.data.a + hdr.data.b;
        hdr.data.b = hdr.data.b + hdr.data.a;
        hdr.data.a = hdr.data.a + hdr.data.b;
    }
}
#include "include/rest.p4h"
// error: 16:18 the program needs 13 stages, a Tofino 1 has 12
