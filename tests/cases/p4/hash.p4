#include "include/frame.p4h"
INGRESS {
    Hash<bit<64>>(HashAlgorithm_t.CRC64) whole;
    Hash<bit<48>>(HashAlgorithm_t.CRC64) part;
    action both() {
        md.wide = whole.get({ hdr.data.a });
        hdr.data.long = 16w0 ++ part.get({ hdr.data.b });
    }
    table flows { key = { hdr.data.kind: exact; } actions = { both; } size = 16; }
    apply {
        flows.apply();
    }
}
#include "include/rest.p4h"
// error: 11:15 table 'Ingress.flows' needs 7 hash slices in one stage; there are 6
