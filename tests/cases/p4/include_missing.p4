#include <tna.p4>
#include "headers_of_nobody.p4"
const bit<8> x = 1;
// error: 2:1 cannot find 'headers_of_nobody.p4'
