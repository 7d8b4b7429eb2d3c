#include <tna.p4>
header padded_h { bit<8> a; bit<3> b; }  // error: 2:8 header padded_h has 11 bits; whole bytes are needed
const bit<8> big = 300;                  // error: 3:14 300 does not fit in bit<8>
struct unknown_t { missing_t x; }        // error: 4:20 unknown type 'missing_t'
