// Of any keys, NULLs, gaps, back-pressure and latencies: the answers come in the order of the keys, each with the entries
// of its key in its bucket, and none for NULL.
module probe_proof (
    input logic clk,
    input logic rst,
    input logic [31:0] low,  // the memory's two buckets,
    input logic [31:0] high,
    input logic [3:0] watched,  // and the number of a key, for the whole proof
    input logic in_valid,
    input logic [3:0] in_key,
    input logic in_null,
    input logic out_ready,
    input logic read_ready,
    input logic answers
);
  localparam int SLOTS = 3, LATE_BITS = 2;
  logic in_ready, out_valid, out_overflown, read_valid, read_address, late, answer_ready, idle;
  logic [SLOTS-1:0] out_matches;
  logic [4*SLOTS-1:0] out_values;
  logic [31:0] answer_data, bucket;
  probe_unit #(4, 4, 1, LATE_BITS) unit (
      .clk, .rst, .mask(1'b1), .in_valid, .in_ready, .in_key, .in_null, .out_valid, .out_ready, .out_matches,
      .out_values, .out_overflown, .read_valid, .read_ready, .read_address, .answer_valid(late && answers),
      .answer_ready, .answer_data, .idle
  );
  fifo #(32, LATE_BITS) memory (
      .clk, .rst, .in_valid(read_valid && read_ready), .in_ready(), .in_data(read_address ? high : low),
      .out_valid(late), .out_ready(answers && answer_ready), .out_data(answer_data)
  );

  logic [3:0] came, left, key;
  logic null_key, seen;
  assign bucket = 1'(bucket_pkg::hash_of({60'b0, key})) ? high : low;

  logic begun;
  logic [67:0] chosen;  // stays
  initial begun = 1'b0;
  always @(posedge clk) begin
    begun <= 1'b1;
    if (!begun) assume (rst);
    else assume (!rst && {low, high, watched} == chosen);
    chosen <= {low, high, watched};
    if (rst) {came, left, seen} <= '0;
    else begin
      if (in_valid && in_ready) begin
        came <= came + 1'b1;
        if (came == watched) {seen, key, null_key} <= {1'b1, in_key, in_null};
      end
      if (out_valid && out_ready) left <= left + 1'b1;
    end
    if (begun && !rst) begin
      assert (left <= came);
      if (idle) assert (left == came);
      if (out_valid && left == watched) begin
        assert (seen);
        assert (out_overflown == (!null_key && bucket[7]));
        for (int slot = 0; slot < SLOTS; slot++) begin
          assert (out_matches[slot] == (!null_key && 3'(slot) < bucket[2:0] && bucket[8+8*slot+:4] == key));
          if (out_matches[slot]) assert (out_values[4*slot+:4] == bucket[12+8*slot+:4]);
        end
      end
    end
  end
endmodule
