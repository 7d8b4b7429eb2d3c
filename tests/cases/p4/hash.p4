#include "include/frame.p4h"
INGRESS {
    Hash<bit<32>>(HashAlgorithm_t.CRC32) plain;
    Hash<bit<32>>(HashAlgorithm_t.CRC64) wide;
    action a_plainly() { hdr.data.a = plain.get({ hdr.data.a }); }
    action a_widely() { hdr.data.a = wide.get({ hdr.data.a }); }
    action b_plainly() { hdr.data.b = plain.get({ hdr.data.b }); }
    action b_widely() { hdr.data.b = wide.get({ hdr.data.b }); }
    table flows { key = { hdr.data.kind: exact; } actions = { a_plainly; a_widely; b_plainly; b_widely; } size = 16; }
    apply {
        flows.apply();
    }
}
#include "include/rest.p4h"
// error: 11:15 table 'Ingress.flows' needs 8 hash slices in one stage; there are 6
