#include <tna.p4>
header a_h { bit<8> x; }
header_union either_h { a_h one; a_h other; }
// error: 3:1 a header_union is not supported; write a header for each of its members
