#include "include/frame.p4h"
INGRESS {
    action again(inout bit<8> x) { x = x + 1; again(x); }
    apply {
        again(hdr.data.kind);
    }
}
#include "include/rest.p4h"
// error: 3:47 calls nested too deep; recursion is not possible
