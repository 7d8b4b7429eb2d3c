#include "include/frame.p4h"
INGRESS {
    DirectCounter<bit<32>>(CounterType_t.PACKETS) hits;  // which keeps the table in one stage
    action set(bit<32> x) { hdr.data.b = x; hits.count(); }
    table ternary_one { key = { hdr.data.long: ternary; } actions = { set; } size = 8192; counters = hits; }
    apply {
        ternary_one.apply();
    }
}
#include "include/rest.p4h"
// error: 7:21 table 'Ingress.ternary_one' needs 32 tcam blocks in one stage; there are 24
