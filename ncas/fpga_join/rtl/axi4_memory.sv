// A memory port of the card (a bucket at a time) as the manager of an AXI4 bus, such as that of a board's memory
// controller: one burst of 64 bytes for each bucket, all with one ID, so that answers keep their order.
//
// AXI4 orders a read behind a write only once that is answered. Writes without their answer are kept here, and a read
// of such a bucket is answered with the newest of them: a read has all writes that were accepted before it, and perhaps
// later ones, which nobody minds who looks ahead (build_unit). Addresses come from registers, since AXI4 has those stay
// that were not taken, and the interleaver's may change.
module axi4_memory
#(
    parameter int MEMORY_BITS = 26,  // of the buckets' numbers
    parameter int ADDRESS_BITS = 34,
    parameter int DATA_BITS = 512,  // of the bus: a bucket, or a part
    parameter int PLACE_BITS = 6,  // log2 of the writes, and of the reads, that may be on their way
    localparam int BUCKET_BITS = bucket_pkg::BUCKET_BITS,
    localparam int BEATS = BUCKET_BITS / DATA_BITS,
    localparam int BEAT_BITS = BEATS > 1 ? $clog2(BEATS) : 1
) (
    input logic clk,
    input logic rst,
    input logic [ADDRESS_BITS-1:0] base,  // of bucket 0, a multiple of a bucket's bytes

    input  logic                   read_valid,
    output logic                   read_ready,
    input  logic [MEMORY_BITS-1:0] read_address,
    output logic                   answer_valid,
    input  logic                   answer_ready,
    output logic [BUCKET_BITS-1:0] answer_data,
    input  logic                   write_valid,
    output logic                   write_ready,
    input  logic [MEMORY_BITS-1:0] write_address,
    input  logic [BUCKET_BITS-1:0] write_data,

    output logic                    axi_arvalid,
    input  logic                    axi_arready,
    output logic [ADDRESS_BITS-1:0] axi_araddr,
    output logic [             7:0] axi_arlen,
    output logic [             2:0] axi_arsize,
    output logic [             1:0] axi_arburst,
    input  logic                    axi_rvalid,
    output logic                    axi_rready,
    input  logic [   DATA_BITS-1:0] axi_rdata,
    input  logic [             1:0] axi_rresp,
    input  logic                    axi_rlast,
    output logic                    axi_awvalid,
    input  logic                    axi_awready,
    output logic [ADDRESS_BITS-1:0] axi_awaddr,
    output logic [             7:0] axi_awlen,
    output logic [             2:0] axi_awsize,
    output logic [             1:0] axi_awburst,
    output logic                    axi_wvalid,
    input  logic                    axi_wready,
    output logic [   DATA_BITS-1:0] axi_wdata,
    output logic [ DATA_BITS/8-1:0] axi_wstrb,
    output logic                    axi_wlast,
    input  logic                    axi_bvalid,
    output logic                    axi_bready,
    input  logic [             1:0] axi_bresp,

    output logic idle,  // all is answered
    output logic failed  // from the first answer on that says so
);
  localparam int PLACES = 1 << PLACE_BITS;
  localparam int OFFSET_BITS = $clog2(BUCKET_BITS / 8);
  localparam logic [7:0] LAST = 8'(BEATS - 1);
  localparam logic [2:0] SIZE = 3'($clog2(DATA_BITS / 8));
  localparam logic [1:0] INCREMENTING = 2'b01;

  function automatic [ADDRESS_BITS-1:0] bytes_of(
      input [ADDRESS_BITS-1:0] first, input [MEMORY_BITS-1:0] bucket);
    bytes_of = first + (ADDRESS_BITS'(bucket) << OFFSET_BITS);
  endfunction

  // ---- writes: a ring of those that are not answered ----

  logic [PLACE_BITS-1:0] accepted, addressed, moved, answered;  // places in this order, as many times round
  logic [PLACE_BITS:0] count, unaddressed, unmoved;
  logic [MEMORY_BITS-1:0] addresses[PLACES];
  logic [BUCKET_BITS-1:0] buckets[PLACES], moving;
  logic [PLACES-1:0] pending;
  logic accepts, addresses_now, moves, answers_write;
  logic [BEAT_BITS-1:0] write_beat;

  assign write_ready = count != (PLACE_BITS + 1)'(PLACES);
  assign accepts = write_valid && write_ready;

  assign axi_awvalid = unaddressed != 0;
  assign axi_awaddr = bytes_of(base, addresses[addressed]);
  assign axi_awlen = LAST;
  assign axi_awsize = SIZE;
  assign axi_awburst = INCREMENTING;
  assign addresses_now = axi_awvalid && axi_awready;

  assign axi_wvalid = unmoved != 0;
  assign axi_wstrb = '1;
  assign axi_wlast = write_beat == BEAT_BITS'(BEATS - 1);
  assign moves = axi_wvalid && axi_wready;
  assign moving = buckets[moved];
  if (BEATS > 1) begin : narrow_writes
    assign axi_wdata = moving[write_beat*DATA_BITS+:DATA_BITS];
  end else begin : whole_writes
    assign axi_wdata = moving;
  end

  assign axi_bready = 1'b1;
  assign answers_write = axi_bvalid;

  always_ff @(posedge clk) begin
    if (accepts) begin
      addresses[accepted] <= write_address;
      buckets[accepted]   <= write_data;
    end
    if (rst) begin
      {accepted, addressed, moved, answered} <= '0;
      {count, unaddressed, unmoved} <= '0;
      pending    <= '0;
      write_beat <= '0;
    end else begin
      if (answers_write) begin
        pending[answered] <= 1'b0;
        answered          <= answered + 1'b1;
      end
      if (accepts) begin
        pending[accepted] <= 1'b1;
        accepted          <= accepted + 1'b1;
      end
      if (addresses_now) addressed <= addressed + 1'b1;
      if (moves) begin
        write_beat <= axi_wlast ? '0 : write_beat + 1'b1;
        if (axi_wlast) moved <= moved + 1'b1;
      end
      count       <= count + (PLACE_BITS + 1)'(accepts) - (PLACE_BITS + 1)'(answers_write);
      unaddressed <= unaddressed + (PLACE_BITS + 1)'(accepts) - (PLACE_BITS + 1)'(addresses_now);
      unmoved     <= unmoved + (PLACE_BITS + 1)'(accepts) - (PLACE_BITS + 1)'(moves && axi_wlast);
    end
  end

  // ---- reads: a register in which the newest write is looked for, then the bus, or what is written ----

  logic staged, enters, held, here, is_here, here_valid, here_ready, order_ready, order_valid, ask_ready, last_beat;
  logic [MEMORY_BITS-1:0] staged_address, asked_address;
  logic [PLACES-1:0] equal;
  logic [PLACE_BITS-1:0] source;
  logic [BUCKET_BITS-1:0] here_data;
  logic [BEAT_BITS-1:0] read_beat;

  assign read_ready = !staged || enters;
  always_comb for (int at = 0; at < PLACES; at++) equal[at] = pending[at] && addresses[at] == staged_address;
  newest_match #(PLACE_BITS) newest (.equal, .next(accepted), .found(held), .place(source));
  assign enters = staged && order_ready && (held ? here_ready : ask_ready);

  // A write that is accepted together with a read, or while that is staged, comes after it or may be seen: either is right.
  always_ff @(posedge clk) begin
    if (read_ready) staged_address <= read_address;
    if (rst) staged <= 1'b0;
    else if (read_ready) staged <= read_valid;
  end

  fifo #(1, PLACE_BITS + 1) order (
      .clk, .rst, .in_valid(enters), .in_ready(order_ready), .in_data(held),
      .out_valid(order_valid), .out_ready(answer_valid && answer_ready), .out_data(here)
  );
  fifo #(BUCKET_BITS, PLACE_BITS) written (
      .clk, .rst, .in_valid(enters && held), .in_ready(here_ready), .in_data(buckets[source]),
      .out_valid(here_valid), .out_ready(is_here && answer_ready), .out_data(here_data)
  );
  fifo #(MEMORY_BITS, 2) asked (
      .clk, .rst, .in_valid(enters && !held), .in_ready(ask_ready), .in_data(staged_address),
      .out_valid(axi_arvalid), .out_ready(axi_arready), .out_data(asked_address)
  );
  assign axi_araddr = bytes_of(base, asked_address);
  assign axi_arlen = LAST;
  assign axi_arsize = SIZE;
  assign axi_arburst = INCREMENTING;

  assign is_here = order_valid && here;
  assign last_beat = read_beat == BEAT_BITS'(BEATS - 1);
  assign axi_rready = order_valid && !here && (!last_beat || answer_ready);
  assign answer_valid = is_here ? here_valid : order_valid && axi_rvalid && last_beat;
  if (BEATS > 1) begin : narrow_reads
    logic [BUCKET_BITS-DATA_BITS-1:0] came;  // beats before this one, the latest at the top
    logic [BUCKET_BITS-1:0] whole;
    assign whole = {axi_rdata, came};
    always_ff @(posedge clk) if (axi_rvalid && axi_rready) came <= whole[BUCKET_BITS-1:DATA_BITS];
    assign answer_data = is_here ? here_data : whole;
  end else begin : whole_reads
    assign answer_data = is_here ? here_data : axi_rdata;
  end
  always_ff @(posedge clk)
    if (rst) read_beat <= '0;
    else if (axi_rvalid && axi_rready) read_beat <= last_beat ? '0 : read_beat + 1'b1;

  assign idle = !staged && !order_valid && count == 0;
  always_ff @(posedge clk)
    if (rst) failed <= 1'b0;
    else if ((axi_rvalid && axi_rready && (axi_rresp != '0 || axi_rlast != last_beat)) || (axi_bvalid && axi_bresp != '0))
      failed <= 1'b1;
endmodule
