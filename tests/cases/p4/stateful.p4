#include "include/frame.p4h"
INGRESS {
    Register<bit<32>, bit<8>>(256, 0) r0;
    Register<bit<32>, bit<8>>(256, 0) r1;
    Register<bit<32>, bit<8>>(256, 0) r2;
    Register<bit<32>, bit<8>>(256, 0) r3;
    Register<bit<32>, bit<8>>(256, 0) r4;
    Register<bit<32>, bit<8>>(256, 0) r5;
    Register<pair_t, bit<8>>(256, {0, 0}) r6;
    Register<bit<32>, bit<8>>(256, 0) r7;
    Register<bit<32>, bit<8>>(256, 0) r8;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r0) chained = {
        void apply(inout bit<32> v) { v = v + hdr.data.a + hdr.data.b; }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r1) product = { void apply(inout bit<32> v) { v = v * 3; } };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r2) shifted = {
        void apply(inout bit<32> v, out bit<32> rv) { rv = v >> 1; }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r3) three_fields = {
        void apply(inout bit<32> v) {
            if (hdr.data.a == v) { v = hdr.data.b; }
            else if (hdr.data.a > v) { v = hdr.data.c; }
        }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r4) three_comparisons = {
        void apply(inout bit<32> v, out bit<32> rv) {
            if (v == 1) { rv = 1; }
            else if (v == 2) { rv = 2; }
            else if (v == 3) { rv = 3; }
        }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r5) slice = {
        void apply(inout bit<32> v, out bit<32> rv) { if (v[7:0] == 1) { rv = 1; } }
    };
    RegisterAction<pair_t, bit<8>, bit<32>>(r6) three_values = {
        void apply(inout pair_t v) {
            v.first = v.first + 1;
            if (v.second == 9) { v.second = 0; }
            else { v.second = v.second + 1; }
        }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r7) wide = {
        void apply(inout bit<32> v) { if (hdr.data.long == 1) { v = 0; } }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r8) constants = {
        void apply(inout bit<32> v) {
            if (v == 100) { v = 101; }
            else if (v == 102) { v = 103; }
        }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r8) constants_more = { void apply(inout bit<32> v) { v = 104; } };
    apply {
        chained.execute(0);
        product.execute(0);
        shifted.execute(0);
        three_fields.execute(0);
        three_comparisons.execute(0);
        slice.execute(0);
        three_values.execute(0);
        wide.execute(0);
        if (hdr.data.flag == 1) { constants.execute(0); } else { constants_more.execute(0); }
    }
}
#include "include/rest.p4h"
// error: 13:39 RegisterAction 'chained' computes with the result of another operation
// error: 15:92 RegisterAction 'product' computes '*'; +, -, |+|, |-|, min, max, &, |, ^ are possible
// error: 17:55 RegisterAction 'shifted' computes '>>'; +, -, |+|, |-|, min, max, &, |, ^ are possible
// error: 29:18 RegisterAction 'three_comparisons' makes more than 2 comparisons
// error: 33:55 RegisterAction 'slice' compares a slice of the register's value
// error: 39:22 RegisterAction 'three_values' computes more than 2 values for the register
// error: 51:99 register 'Ingress.r8' uses more than 4 constants outside -8 … 7; give them as fields
// error: 56:22 RegisterAction 'three_fields' reads 3 fields of the packet; 2 are possible
// error: 60:14 RegisterAction 'wide' has an operand of 64 bits; 32 are possible
