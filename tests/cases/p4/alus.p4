#include "include/frame.p4h"
INGRESS {
    action by_field(bit<32> n) { hdr.data.b = hdr.data.a << (bit<8>)n; }
    table flows { key = { hdr.data.kind: exact; } actions = { by_field; } size = 16; }
    apply {
        hdr.data.a = hdr.data.a * hdr.data.b;
        hdr.data.a = hdr.data.a * 4;
        hdr.data.long = hdr.data.long + 1;
        hdr.data.long = hdr.data.long ^ 1;
        flows.apply();
        if (hdr.data.a < hdr.data.b) { hdr.data.c = 1; }
        if (hdr.data.kind < 100) { hdr.data.c = 1; }
        if (hdr.data.short >= 100) { hdr.data.c = 1; }
    }
}
#include "include/rest.p4h"
// error: 3:43 the ALUs of a Tofino 1 shift by constants only; look the result up
// error: 6:18 the ALUs of a Tofino 1 do not multiply; shift and add, or look products up
// error: 8:18 '+' of 64 bits; the ALUs of a Tofino 1 work on 32
// error: 11:9 '<' of 32 bits
// error: 13:9 '>=' of 16 bits
