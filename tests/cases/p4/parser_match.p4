#include <tna.p4>
header data_h { bit<64> key; }
struct headers_t { data_h data; }
struct empty_t {}
parser IngressParser(packet_in pkt, out headers_t hdr, out empty_t md, out ingress_intrinsic_metadata_t ig) {
    state start {
        pkt.extract(ig);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.data);
        transition select(hdr.data.key) { 1: accept; default: reject; }
    }
}
control Ingress(inout headers_t hdr, inout empty_t md, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) { apply {} }
#define metadata_t empty_t
#include "include/rest.p4h"
// error: 6:11 state 'start' selects on 64 bits; the parser compares 32 at once: split the state
