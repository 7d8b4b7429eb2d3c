#include <core.p4>
#include <tna.p4>
header large_h { bit<32> w0; bit<32> w1; bit<32> w2; bit<32> w3; bit<32> w4; bit<32> w5; bit<32> w6; bit<32> w7; }
struct headers_t { large_h[17] all; }
struct metadata_t { bit<32> sum; }
struct empty_t {}
parser IngressParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig) {
    state start { pkt.extract(ig); pkt.advance(PORT_METADATA_SIZE); transition more; }
    state more {
        pkt.extract(hdr.all.next);
        transition select(hdr.all.last.w0) { 0: accept; default: more; }
    }
}
#define EACH(i) \
    hdr.all[i].w0 = 1; hdr.all[i].w1 = 1; hdr.all[i].w2 = 1; hdr.all[i].w3 = 1; \
    hdr.all[i].w4 = 1; hdr.all[i].w5 = 1; hdr.all[i].w6 = 1; hdr.all[i].w7 = 1;
control Ingress(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    action all() {
        EACH(0) EACH(1) EACH(2) EACH(3) EACH(4) EACH(5) EACH(6) EACH(7) EACH(8) EACH(9)
        EACH(10) EACH(11) EACH(12) EACH(13) EACH(14) EACH(15) EACH(16)
    }
    table flows { key = { ig.ingress_port: exact; } actions = { all; } size = 16; }
    apply {
        flows.apply();
    }
}
#include "include/rest.p4h"
// error: 10:29 the packet header vector has no room for the 32 bits of 'hdr.all[16].w0'
