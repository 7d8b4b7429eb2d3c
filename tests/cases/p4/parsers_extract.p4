#include <tna.p4>
header data_h { bit<8> kind; }
struct headers_t { data_h data; data_h[2] more; }
struct empty_t {}
parser IngressParser(packet_in pkt, out headers_t hdr, out empty_t md, out ingress_intrinsic_metadata_t ig) {
    state start { pkt.extract(ig); pkt.advance(PORT_METADATA_SIZE); transition bits; }
    state bits {
        pkt.advance(3);
        pkt.extract(hdr);
        pkt.extract(hdr.data.kind);
        pkt.extract(hdr.more.last);
        pkt.extract(hdr.more[2]);
        pkt.emit(hdr.data);
        transition select(hdr.data.kind) { 1: keys; 2: large; 3: empty; }
    }
    state keys { transition select(hdr.data.kind) { (1, 2): accept; } }
    state large { transition select(hdr.data.kind) { 256: accept; } }
    state empty { transition select(hdr.data.kind) { 5 .. 4: accept; } }
}
control Ingress(inout headers_t hdr, inout empty_t md, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) { apply {} }
#define metadata_t empty_t
#include "include/rest.p4h"
// error: 8:13 advance takes whole bytes, as bits
// error: 9:21 extract takes a header
// error: 10:30 extract takes a header
// error: 11:30 '.last' before anything was extracted into the stack
// error: 12:29 the stack has elements 0 to 1
// error: 13:13 packet.emit is not supported here
// error: 16:53 select compares 1 values, the case has 2
// error: 17:54 256 does not fit in bit<8>
// error: 18:56 an empty range
