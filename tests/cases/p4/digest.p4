#include "include/frame.p4h"
struct large_t { bit<128> a; bit<128> b; bit<128> c; bit<8> d; }
INGRESS { apply {} }
control IngressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                        in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    Digest<large_t>() seen;
    apply {
        if (dprsr.digest_type == 1) { seen.pack({ 128w1, 128w2, 128w3, 8w4 }); }
    }
}
#define OWN_DEPARSER
#include "include/rest.p4h"
// error: 8:44 a digest carries 48 bytes at most
