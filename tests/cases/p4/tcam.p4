#include "include/frame.p4h"
INGRESS {
    DirectRegister<bit<32>>() seen;  // which keeps the table in one stage
    DirectRegisterAction<bit<32>, bit<32>>(seen) see = { void apply(inout bit<32> value) { value = value + 1; } };
    action set(bit<32> x) { hdr.data.b = x; see.execute(); }
    table ternary_one { key = { hdr.data.long: ternary; } actions = { set; } size = 8192; registers = seen; }
    apply {
        ternary_one.apply();
    }
}
#include "include/rest.p4h"
// error: 8:21 table 'Ingress.ternary_one' needs 32 tcam blocks in one stage; there are 24
