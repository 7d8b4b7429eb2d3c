#include "include/frame.p4h"
INGRESS {
    DirectRegister<bit<32>>() seen;  // which keeps the table in one stage
    DirectRegisterAction<bit<32>, bit<32>>(seen) see = { void apply(inout bit<32> value) { value = value + 1; } };
    action set(bit<32> x) { hdr.data.b = x; see.execute(); }
    table exact_one { key = { hdr.data.long: exact; } actions = { set; } size = 150000; registers = seen; }
    apply {
        exact_one.apply();
    }
}
#include "include/rest.p4h"
// error: 8:19 table 'Ingress.exact_one' needs 185 sram blocks in one stage; there are 80
