#include "include/frame.p4h"
struct eight_t { bit<32> m0; bit<32> m1; bit<32> m2; bit<32> m3; bit<32> m4; bit<32> m5; bit<32> m6; bit<32> m7; }
INGRESS {
    Hash<bit<32>>(HashAlgorithm_t.CRC32) all;
    eight_t p;
    eight_t q;
    apply {
        p.m0 = hdr.data.a + 1; p.m1 = hdr.data.a + 2; p.m2 = hdr.data.a + 3; p.m3 = hdr.data.a + 4;
        p.m4 = hdr.data.a + 5; p.m5 = hdr.data.a + 6; p.m6 = hdr.data.a + 7; p.m7 = hdr.data.a + 8;
        q.m0 = hdr.data.a + 9; q.m1 = hdr.data.a + 10; q.m2 = hdr.data.a + 11; q.m3 = hdr.data.a + 12;
        q.m4 = hdr.data.a + 13; q.m5 = hdr.data.a + 14; q.m6 = hdr.data.a + 15; q.m7 = hdr.data.a + 16;
        hdr.data.c = all.get({ p, q });
    }
}
#include "include/rest.p4h"
// error: 8:11 the packet header vector has no room for the 32 bits of 'p.m0' in one group with those of 16 fields that are combined with it
