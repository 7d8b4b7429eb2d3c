#include <tna.p4>
const bit<8> a = 99999999999999999999999999999999999999999999;
const bit<0> f = 0;
const bit<2049> g = 0;
const bit<8> h = 1 / 0;
const bit<8> i = -129;
const bit<8> j = 1 << 100000;
const bit<8> l = m;
const bit<8> m = 1;
const bit<8> m = 2;
const bool n = 1;
// error: 2:14 99999999999999999999999999999999999999999999 does not fit in bit<8>
// error: 3:7 bit<0>: widths are 1 to 2048
// error: 4:7 bit<2049>: widths are 1 to 2048
// error: 5:20 division by zero
// error: 6:14 -129 does not fit in bit<8>
// error: 7:20 a shift by 100000
// error: 8:18 'm' is not declared
// error: 10:14 'm' is declared twice
// error: 11:12 expected bool, this is int; a cast makes it explicit
