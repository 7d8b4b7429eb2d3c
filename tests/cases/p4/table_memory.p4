#include "include/frame.p4h"
INGRESS {
    DirectCounter<bit<32>>(CounterType_t.PACKETS) hits;  // which keeps the table in one stage
    action set(bit<32> x) { hdr.data.b = x; hits.count(); }
    table exact_one { key = { hdr.data.long: exact; } actions = { set; } size = 200000; counters = hits; }
    apply {
        exact_one.apply();
    }
}
#include "include/rest.p4h"
// error: 7:19 table 'Ingress.exact_one' needs 294 sram blocks in one stage; there are 80
