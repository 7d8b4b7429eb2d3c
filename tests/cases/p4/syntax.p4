#include <tna.p4>
header h { bit<8> a }       // error: 2:21 expected ';' after the field, found '}'
const bit<8> x = 1 + ;      // error: 3:22 expected an expression, found ';'
