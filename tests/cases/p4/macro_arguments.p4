#define ADD(a, b) ((a) + (b))
const bit<8> x = ADD(1, 2);
const bit<8> y = ADD(1);
// error: 3:18 macro ADD takes 2 arguments, 1 given
