#define WIDTH 8
#if WIDTH == 8
const bit<WIDTH> x = 1;
// error: 2:1 #if without #endif
