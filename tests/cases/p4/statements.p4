#include "include/frame.p4h"
INGRESS {
    action a(bit<8> x) { hdr.data.kind = x }
    apply {
        if hdr.data.kind == 1 { hdr.data.kind = 2; }
        hdr.data.kind = ;
        hdr.data.kind 2;
        hdr.data.kind = 2
        hdr.data.flag = 3;
        for (;;) {}
        else { }
    }
}
#include "include/rest.p4h"
// error: 3:44 expected ';' after the assignment, found '}'
// error: 5:12 expected '(', found 'hdr'
// error: 6:25 expected an expression, found ';'
// error: 7:23 expected '=' or '(' of a statement, found '2'
// error: 9:9 expected ';' after the assignment, found 'hdr'
// error: 10:14 expected an expression, found ';'
// error: 10:16 expected an expression, found ')'
// error: 11:9 expected an expression, found 'else'
