#include "include/frame.p4h"
INGRESS {
    Meters(16) meter;
    Lps<bit<32>, bit<8>>(4) filter;
    Register<bit<32>, bit<8>>(256, 0) sum;
    RegisterAction<bit<32>, bit<8>, bit<32>>(total) add = { void apply(inout bit<32> v) { v = v + 1; } };
    bit<8> twice;
    bit<8> twice;
    action set(bit<8> x) { hdr.data.kind = x; }
    table flows { key = { hdr.data.kind: fuzzy; } actions = { set; } }
    table others { key = { hdr.data.kind: exact; } actions = { sets; } }
    apply {
        hdr.data.nothing = 1;
        hdr.nothing.a = 1;
        nothing = 1;
        nothing();
        sum.push(1);
        hdr.data.pop();
        set(1, 2);
        set.apply();
        flows.apply();
        others.apply();
        1 = hdr.data.kind;
    }
}
#include "include/rest.p4h"
// error: 3:5 unknown type 'Meters'
// error: 4:5 unknown type 'Lps'
// error: 6:46 'total' is not declared
// error: 8:12 'twice' is declared twice
// error: 10:36 match kind 'fuzzy'; there are exact, ternary, lpm and range
// error: 11:64 'sets' is not an action
// error: 13:18 data_h has no field 'nothing'; it has kind, flag, short, a, b, c, long
// error: 14:13 headers_t has no field 'nothing'; it has data
// error: 15:9 'nothing' is not declared
// error: 16:9 'nothing' is not an action or function
// error: 17:13 Register.push is not supported
// error: 18:18 a header has no method 'pop'
// error: 19:9 1 arguments are needed, 2 given
// error: 20:13 only controls and tables can be applied here
// error: 23:9 a int cannot be assigned to
