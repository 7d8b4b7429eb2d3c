// A small program with one of everything, whose mutants reach every pass.
#include <core.p4>
#include <tna.p4>
#define TWICE(x) ((x) + (x))
typedef bit<16> kind_t;
const kind_t KIND = 16w0x800;
enum bit<8> Op { GET = 1, PUT = 2 }
header eth_h { bit<48> dst; bit<48> src; kind_t kind; }
header tag_h { bit<3> a; bit<13> b; Op op; bit<8> c; }
header opt_h { bit<8> size; varbit<64> rest; }
header copy_h { bit<8> kind; bit<16> port; }
struct pair_t { bit<32> first; bit<32> second; }
struct headers_t { eth_h eth; tag_h[3] tags; opt_h opt; copy_h copy; }
struct meta_t { bit<10> session; bit<8> e; pair_t pair; bool flag; bit<16> err; MeterColor_t color; }

parser Sub(packet_in pkt, out headers_t hdr)(bit<8> limit = 3) {
    state start { pkt.extract(hdr.opt, (bit<32>)(pkt.lookahead<bit<8>>() & 1) << 3); transition accept; }
}
parser IngressParser(packet_in pkt, out headers_t hdr, out meta_t md, out ingress_intrinsic_metadata_t ig) {
    Sub(4) sub;
    Checksum() sum;
    ParserCounter() left;
    value_set<bit<16>>(4) known;
    state start {
        pkt.extract(ig);
        transition select(ig.resubmit_flag) { 1: again; default: port; }
    }
    state again { pkt.advance(64); transition eth; }
    state port { md.pair = port_metadata_unpack<pair_t>(pkt); transition eth; }
    state eth {
        pkt.extract(hdr.eth);
        sum.subtract({hdr.eth.src, hdr.eth.kind});
        md.err = sum.get();
        verify(hdr.eth.dst != 0, error.NoMatch);
        transition select(hdr.eth.kind, hdr.eth.dst[7:0]) {
            (KIND, 1 .. 9): tag;
            (0x8100 &&& 0xff00, _): tag;
            (known, _): rest;
            default: accept;
        }
    }
    state tag {
        pkt.extract(hdr.tags.next);
        left.set(hdr.tags.last.c);
        left.decrement(1);
        transition select(hdr.tags.last.op, left.is_zero()) { (Op.GET, false): tag; (Op.PUT, _): rest; default: reject; }
    }
    state rest { sub.apply(pkt, hdr); transition accept; }
}
bit<8> square(in bit<8> x) { return x + x; }
control Count(inout headers_t hdr, inout meta_t md)(bit<8> much, bool again) {
    action add(bit<8> x) { md.e = md.e |+| x; }
    apply { add(much); if (again) { add(x = 2); } }
}
control Ingress(inout headers_t hdr, inout meta_t md, in ingress_intrinsic_metadata_t ig,
    in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
    inout ingress_intrinsic_metadata_for_tm_t tm) {
    Register<pair_t, bit<8>>(256, {first = 1, second = 2}) pairs;
    RegisterAction<pair_t, bit<8>, bit<32>>(pairs) take = {
        void apply(inout pair_t v, out bit<32> rv) {
            if (v.first > hdr.eth.dst[31:0] && v.second != 0) { v.second = max(v.first, 7); rv = v.second; }
            else { v.first = v.first + 1; rv = this.predicate(v.first == 1, v.second < 3); }
        }
    };
    DirectRegister<bit<8>>(3) mine;
    DirectRegisterAction<bit<8>, bit<8>>(mine) more = { void apply(inout bit<8> v, out bit<8> rv) { rv = v; v = v + 1; } };
    Counter<bit<32>, bit<8>>(16, CounterType_t.BYTES) bytes;
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) hits;
    Meter<bit<8>>(8, MeterType_t.BYTES, 3, 1, 0) meter;
    DirectMeter(MeterType_t.PACKETS) own;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) hash;
    CRCPolynomial<bit<16>>(16w0x1021, true, false, false, 16w0, 16w0) poly;
    Hash<bit<24>>(HashAlgorithm_t.CUSTOM, poly) custom;
    Random<bit<8>>() dice;
    RegisterParam<bit<8>>(8w9) nine;
    Lpf<bit<8>, bit<8>>(size = 4) filter;
    Wred<bit<8>, bit<8>>(4, 1, 0) wred;
    ActionProfile(16) profile;
    ActionSelector(profile, hash, SelectorMode_t.FAIR, 4, 4) selector;
    Count(much = 5, again = true) count;
    bit<32> seen = 0;
    action drop() { dprsr.drop_ctl = 1; exit; }
    action send(PortId_t port, bit<8> e) { tm.ucast_egress_port = port; md.e = e; hits.count(); md.e = more.execute(); }
    @name("the_table") table t {
        key = { hdr.eth.dst: exact; hdr.eth.kind[15:8]: ternary @name("kind"); md.e: range; }
        actions = { send; drop; @defaultonly NoAction; }
        const default_action = NoAction();
        const entries = {
            (1, 8 &&& 0xc, 3 .. 9): send(2, 3);
            (2, _, 0): drop();
        }
        size = 64;
        registers = mine;
        counters = hits;
    }
    table u { key = { hdr.eth.src: lpm; hdr.eth.dst: selector; } actions = { drop; } implementation = selector; }
    apply {
        count.apply(hdr, md);
        if (t.apply().hit || !hdr.tags[1].isValid()) { seen = take.execute(hdr.tags[0].c); }
        switch (u.apply().action_run) { drop: { md.flag = true; } default: { md.flag = false; } }
        switch (hdr.eth.kind) { 1: 2: { bytes.count(md.e); } default: { md.color = (MeterColor_t)meter.execute(1); } }
        md.pair = {second = seen, first = md.pair.first};
        hdr.eth.kind = hash.get({hdr.eth.dst, md.pair.first, 8w1});
        hdr.eth.src[31:8] = custom.get({hdr.eth.dst});
        md.e = square(dice.get()) ^ (md.flag ? nine.read() : filter.execute(md.e, 1));
        hdr.tags[0].setValid();
        hdr.tags[0] = {1, 13w2, Op.PUT, wred.execute(md.e, 0)};
        hdr.tags[2] = hdr.tags[0];
        hdr.tags[1].b = hdr.tags[1].b << 2 | hdr.tags[1].a ++ 10w0;
        md.err = (bit<16>)(int<16>)((int<8>)md.e >> 1) - TWICE(16w3);
        if (prsr.parser_err != 0) { dprsr.mirror_type = 1; return; }
        md.session = 5;
        dprsr.digest_type = 2;
        dprsr.resubmit_type = 3;
    }
}
control IngressDeparser(packet_out pkt, inout headers_t hdr, in meta_t md,
    in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    Mirror(1) mirror;
    Resubmit() again;
    Digest<pair_t>() digest;
    Checksum() sum;
    apply {
        if (dprsr.mirror_type == 1) { mirror.emit<copy_h>(md.session, {port = 16w2, kind = md.e}); }
        if (dprsr.resubmit_type == 3) { again.emit<pair_t>({md.pair.first, 3}); }
        if (dprsr.digest_type == 2) { digest.pack({first = md.pair.first, second = 1}); }
        hdr.eth.kind = sum.update({hdr.eth.dst, 8w1, md.e}, md.flag);
        pkt.emit(hdr);
        pkt.emit(hdr.tags);
    }
}
parser EgressParser(packet_in pkt, out headers_t hdr, out meta_t md, out egress_intrinsic_metadata_t eg) {
    state start { pkt.extract(eg); pkt.extract(hdr.eth); transition accept; }
}
control Egress(inout headers_t hdr, inout meta_t md, in egress_intrinsic_metadata_t eg,
    in egress_intrinsic_metadata_from_parser_t prsr, inout egress_intrinsic_metadata_for_deparser_t dprsr,
    inout egress_intrinsic_metadata_for_output_port_t oport) {
    apply { if (eg.egress_rid_first == 1) { hdr.eth.dst[8:0] = eg.egress_port; } else { dprsr.drop_ctl = 1; } }
}
control EgressDeparser(packet_out pkt, inout headers_t hdr, in meta_t md,
    in egress_intrinsic_metadata_for_deparser_t dprsr) {
    Mirror() mirror;
    apply { if (dprsr.mirror_type == 2) { mirror.emit(md.session); } pkt.emit(hdr.eth); }
}
Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
