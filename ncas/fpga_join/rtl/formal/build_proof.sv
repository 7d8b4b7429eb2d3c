// Of any tuples, gaps, back-pressure and latencies: when the unit is idle, each bucket has the first tuples that came for
// it in their order, and all others left as overflow. What is read is as old as the read: writes on their way are not in it.
module build_proof (
    input logic clk,
    input logic rst,
    input logic bucket,  // one of both,
    input logic [2:0] watched,  // and the number of a tuple that comes for it: whichever, for the whole proof
    input logic in_valid,
    input logic [3:0] in_key,
    input logic [3:0] in_value,
    input logic overflow_ready,
    input logic read_ready,
    input logic write_ready,
    input logic answers
);
  localparam int SLOTS = 3, LATE_BITS = 2;
  logic in_ready, overflow_valid, read_valid, read_address, answer_valid, answer_ready, write_valid, write_address, idle;
  logic forwarded;
  logic [3:0] overflow_key, overflow_value;
  logic [31:0] answer_data, write_data;
  build_unit #(4, 4, 1, LATE_BITS) unit (
      .clk, .rst, .mask(1'b1), .in_valid, .in_ready, .in_key, .in_value, .overflow_valid, .overflow_ready,
      .overflow_key, .overflow_value, .read_valid, .read_ready, .read_address, .answer_valid, .answer_ready,
      .answer_data, .write_valid, .write_ready, .write_address, .write_data, .idle, .forwarded
  );

  // ---- memory ----

  logic [31:0] low, high;  // its two buckets
  logic late;
  fifo #(32, LATE_BITS) memory (
      .clk, .rst, .in_valid(read_valid && read_ready), .in_ready(), .in_data(read_address ? high : low),
      .out_valid(late), .out_ready(answers && answer_ready), .out_data(answer_data)
  );
  assign answer_valid = late && answers;
  always @(posedge clk) begin
    if (rst) {low, high} <= '0;
    else if (write_valid && write_ready) begin
      if (write_address) high <= write_data;
      else low <= write_data;
    end
  end

  // ---- the bucket and the tuple ----

  logic [3:0] came, overflown;
  logic [7:0] tuple;
  logic [31:0] held;
  function automatic is_of(input [3:0] key, input wanted);
    is_of = 1'(bucket_pkg::hash_of({60'b0, key})) == wanted;
  endfunction
  assign held = bucket ? high : low;

  logic begun;
  logic [3:0] chosen;  // stays
  initial begun = 1'b0;
  always @(posedge clk) begin
    begun <= 1'b1;
    if (!begun) assume (rst);
    else assume (!rst && {bucket, watched} == chosen);
    chosen <= {bucket, watched};
    if (rst) {came, overflown} <= '0;
    else begin
      if (in_valid && in_ready && is_of(in_key, bucket)) begin
        came <= came + 1'b1;
        if (came == {1'b0, watched}) tuple <= {in_value, in_key};
      end
      if (overflow_valid && overflow_ready && is_of(overflow_key, bucket)) begin
        overflown <= overflown + 1'b1;
        if (watched >= 3'(SLOTS) && 4'(watched) == overflown + 4'(SLOTS)) assert ({overflow_value, overflow_key} == tuple);
      end
    end
    if (begun && !rst && idle) begin
      assert (held[2:0] == (came < 4'(SLOTS) ? came[2:0] : 3'(SLOTS)));
      assert (held[7] == (came > 4'(SLOTS)));
      assert (overflown == (came > 4'(SLOTS) ? came - 4'(SLOTS) : 4'd0));
      for (int slot = 0; slot < SLOTS; slot++)
        if (came > 4'(slot) && watched == 3'(slot)) assert (held[8+8*slot+:8] == tuple);
    end
  end
endmodule
