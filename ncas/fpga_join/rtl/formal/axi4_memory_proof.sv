// Of any requests, back-pressure and latencies, beside a memory that reads as early and writes as late as AXI4 lets it:
// reads are answered in their order, each with a whole bucket of its place that no write before it has replaced; what
// the bus did not take stays.
module axi4_memory_proof (
    input logic clk,
    input logic rst,
    input logic [1:0] watched,  // the number of a read, for the whole proof
    input logic read_valid,
    input logic read_address,
    input logic answer_ready,
    input logic write_valid,
    input logic write_address,
    input logic arready,
    input logic awready,
    input logic wready,
    input logic rvalid,
    input logic bvalid
);
  localparam int ADDRESS_BITS = 4, MEMORY_BITS = 1, DATA_BITS = 16, SEQUENCE_BITS = 3;

  // What is written: twice the place and the number of the write.
  logic [SEQUENCE_BITS-1:0] writes;
  logic [15:0] written;
  assign written = {12'b0, write_address, writes + 1'b1};

  logic read_ready, answer_valid, write_ready, failed;
  logic [31:0] answer_data;
  logic ar_valid, ar_ready, r_valid, r_ready, r_last, aw_valid, aw_ready, w_valid, w_ready, w_last, b_valid;
  logic [ADDRESS_BITS-1:0] ar_address, aw_address;
  logic [DATA_BITS-1:0] r_data, w_data;
  axi4_memory #(MEMORY_BITS, ADDRESS_BITS, DATA_BITS, 1) unit (
      .clk, .rst, .base(4'd4), .read_valid, .read_ready, .read_address, .answer_valid, .answer_ready, .answer_data,
      .write_valid, .write_ready, .write_address, .write_data({written, written}),
      .axi_arvalid(ar_valid), .axi_arready(ar_ready), .axi_araddr(ar_address), .axi_arlen(), .axi_arsize(),
      .axi_arburst(), .axi_rvalid(r_valid), .axi_rready(r_ready), .axi_rdata(r_data), .axi_rresp(2'b0),
      .axi_rlast(r_last), .axi_awvalid(aw_valid), .axi_awready(aw_ready), .axi_awaddr(aw_address), .axi_awlen(),
      .axi_awsize(), .axi_awburst(), .axi_wvalid(w_valid), .axi_wready(w_ready), .axi_wdata(w_data), .axi_wstrb(),
      .axi_wlast(w_last), .axi_bvalid(b_valid), .axi_bready(), .axi_bresp(2'b0), .idle(), .failed
  );

  // ---- the memory ----

  logic ar_room, aw_room, w_room, reading, addressed, moved, place, beat_in, beat_out;
  logic [31:0] bucket, coming, first, second;
  logic [15:0] low;
  assign ar_ready = arready && ar_room;
  assign aw_ready = awready && aw_room;
  assign w_ready = wready && w_room;
  fifo #(32, 2) reads (
      .clk, .rst, .in_valid(ar_valid && ar_ready), .in_ready(ar_room), .in_data(ar_address == 4'd4 ? first : second),
      .out_valid(reading), .out_ready(r_valid && r_ready && beat_out), .out_data(bucket)
  );
  fifo #(1, 1) places (
      .clk, .rst, .in_valid(aw_valid && aw_ready), .in_ready(aw_room), .in_data(aw_address != 4'd4),
      .out_valid(addressed), .out_ready(b_valid), .out_data(place)
  );
  fifo #(32, 1) data (
      .clk, .rst, .in_valid(w_valid && w_ready && beat_in), .in_ready(w_room), .in_data({w_data, low}),
      .out_valid(moved), .out_ready(b_valid), .out_data(coming)
  );
  assign b_valid = bvalid && addressed && moved;
  assign r_valid = rvalid && reading;
  assign r_data = beat_out ? bucket[31:16] : bucket[15:0];
  assign r_last = beat_out;
  always @(posedge clk)
    if (rst) begin
      {beat_in, beat_out} <= '0;
      first  <= '0;
      second <= {16'd8, 16'd8};
    end else begin
      if (w_valid && w_ready) beat_in <= !beat_in;
      if (w_valid && w_ready) low <= w_data;
      if (r_valid && r_ready) beat_out <= !beat_out;
      if (b_valid && !place) first <= coming;
      if (b_valid && place) second <= coming;
    end

  // ---- the read that is watched, and what the bus did not take ----

  logic [1:0] asked, answered, chosen;
  logic [SEQUENCE_BITS-1:0] latest_first, latest_second, before;
  logic begun, seen, address, ar_waits, aw_waits, w_waits, w_last_before;
  logic [ADDRESS_BITS-1:0] ar_before, aw_before;
  logic [DATA_BITS-1:0] w_before;
  initial begun = 1'b0;
  always @(posedge clk) begin
    begun <= 1'b1;
    if (!begun) assume (rst);
    else assume (!rst && watched == chosen);
    chosen <= watched;
    if (rst) {asked, answered, seen, writes, latest_first, latest_second, ar_waits, aw_waits, w_waits} <= '0;
    else begin
      assume (asked != 2'd3);
      assume (writes != 3'd7);
      if (write_valid && write_ready) begin
        writes <= writes + 1'b1;
        if (write_address) latest_second <= writes + 1'b1;
        else latest_first <= writes + 1'b1;
      end
      if (read_valid && read_ready) begin
        asked <= asked + 1'b1;
        if (asked == watched) {seen, address, before} <= {1'b1, read_address, read_address ? latest_second : latest_first};
      end
      if (answer_valid && answer_ready) answered <= answered + 1'b1;
      ar_waits <= ar_valid && !ar_ready;
      aw_waits <= aw_valid && !aw_ready;
      w_waits  <= w_valid && !w_ready;
      {ar_before, aw_before, w_before, w_last_before} <= {ar_address, aw_address, w_data, w_last};
    end
    if (begun && !rst) begin
      assert (!failed);
      if (answer_valid) assert (answered < asked);
      if (answer_valid && answered == watched) begin
        assert (seen && answer_data[31:16] == answer_data[15:0] && answer_data[3] == address);
        assert (answer_data[2:0] >= before && answer_data[2:0] <= (address ? latest_second : latest_first));
      end
      if (w_valid) assert (w_last == beat_in);
      if (ar_waits) assert (ar_valid && ar_address == ar_before);
      if (aw_waits) assert (aw_valid && aw_address == aw_before);
      if (w_waits) assert (w_valid && w_data == w_before && w_last == w_last_before);
    end
  end
endmodule
