#include "include/frame.p4h"
bit<8> nothing(in bit<8> x) { return; }
INGRESS {
    Register<bit<32>, bit<8>>(256, 0) sum;
    RegisterAction<bit<32>, bit<8>, bit<32>>(sum) leaves = { void apply(inout bit<32> v) { v = 1; exit; } };
    apply {
        leaves.execute(0);
        hdr.data.kind = hdr.data.setValid();
        hdr.data.kind = nothing(1);
        return 1;
    }
}
#include "include/rest.p4h"
// error: 2:31 the function returns a value
// error: 5:67 'exit' is not possible in a RegisterAction
// error: 8:34 this call has no value
// error: 10:9 the function returns nothing
