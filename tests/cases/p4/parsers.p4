#include <tna.p4>
header data_h { bit<8> kind; }
struct headers_t { data_h data; data_h[2] more; }
struct empty_t {}
parser IngressParser(packet_in pkt, out headers_t hdr, out empty_t md, out ingress_intrinsic_metadata_t ig) {
    state start { pkt.extract(ig); pkt.advance(PORT_METADATA_SIZE); transition first; }
    state first { pkt.extract(hdr.data); transition select(hdr.data.kind) { 1: waiting; 2: missing; 3: accept; } }
    state waiting { transition select(pkt.lookahead<bit<8>>()) { 1: round; default: accept; } }
    state round { transition waiting; }
}
control Ingress(inout headers_t hdr, inout empty_t md, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) { apply {} }
#define metadata_t empty_t
#include "include/rest.p4h"
// error: 7:89 there is no state 'missing'
// error: 9:11 state 'round' is in a loop that reads nothing
