#include "include/frame.p4h"
INGRESS {
    Register<bit<24>, bit<8>>(256, 0) odd;
    Hash<bit<64>>(HashAlgorithm_t.XOR32) narrow;
    action set(bit<8> x) { hdr.data.kind = x; }
    table flows {
        key = { hdr.data.kind: exact; }
        actions = { set; }
        const entries = { 256: set(1); 1: set(256); (1, 2): set(3); 0 &&& 3: set(4); 5: unset(); 6: set(); }
    }
    apply {
        hdr.data.kind = hdr.data.a;
        hdr.data.kind = hdr.data.a[8:0];
        hdr.data.kind = hdr.data.kind ++ hdr.data.flag;
        hdr.data.kind = 300;
        hdr.data.kind = hdr.data.kind + hdr.data.short;
        hdr.data.kind = hdr.data.kind[8:1];
        hdr.data.long = (bit<2049>)hdr.data.kind;
        hdr.data.long = hdr.data.long ++ hdr.data.long ++ hdr.data.long;
        if (hdr.data.kind) { hdr.data.kind = 1; }
        if (hdr.data.kind == 1 && hdr.data.flag) { hdr.data.kind = 1; }
        md.bit_ = true;
        flows.apply();
    }
}
#include "include/rest.p4h"
// error: 3:39 a register's numbers have 1, 8, 16 or 32 bits (64 on Tofino 2), equal in a pair
// error: 4:42 the hash gives 32 bits, bit<64> is wanted
// error: 9:27 256 does not fit in bit<8>
// error: 12:18 expected bit<8>, this is bit<32>; a cast makes it explicit
// error: 13:18 expected bit<8>, this is bit<9>; a cast makes it explicit
// error: 14:18 expected bit<8>, this is bit<16>; a cast makes it explicit
// error: 15:18 300 does not fit in bit<8>
// error: 16:39 expected bit<8>, this is bit<16>; a cast makes it explicit
// error: 17:38 [8:1] is not within bit<8>
// error: 18:26 bit<2049>: widths are 1 to 2048
// error: 19:18 expected bit<64>, this is bit<192>; a cast makes it explicit
// error: 20:22 expected bool, this is bit<8>; a cast makes it explicit
// error: 21:44 expected bool, this is bit<8>; a cast makes it explicit
// error: 22:12 expected bit<1>, this is bool; a cast makes it explicit
