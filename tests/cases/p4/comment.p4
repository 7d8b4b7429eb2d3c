#include <tna.p4>
const bit<8> x = 1; /* this goes on
and on
// error: 2:21 comment without an end
