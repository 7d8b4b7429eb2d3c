// A tuple enters each cycle, whatever its key: with a memory that takes a read and a write a cycle and answers in time
// neither unit ever says that it is not ready, and an answer leaves in each cycle after the first.
module line_rate_proof (
    input logic clk,
    input logic rst,
    input logic [3:0] key,
    input logic [3:0] value,
    input logic [31:0] build_data,  // whatever is in the buckets
    input logic [31:0] probe_data
);
  localparam int WINDOW_BITS = 3, LATENCY = 4;
  logic build_ready, build_reads, build_address, writes, probe_ready, probe_reads, probe_address, answered;
  logic [LATENCY-1:0] build_late, probe_late;  // reads that are so many cycles old
  build_unit #(4, 4, 1, WINDOW_BITS) build (
      .clk, .rst, .mask(1'b1), .in_valid(1'b1), .in_ready(build_ready), .in_key(key), .in_value(value),
      .overflow_valid(), .overflow_ready(1'b1), .overflow_key(), .overflow_value(), .read_valid(build_reads),
      .read_ready(1'b1), .read_address(build_address), .answer_valid(build_late[LATENCY-1]), .answer_ready(),
      .answer_data(build_data), .write_valid(writes), .write_ready(1'b1), .write_address(), .write_data(), .idle(),
      .forwarded()
  );
  probe_unit #(4, 4, 1, WINDOW_BITS) probe (
      .clk, .rst, .mask(1'b1), .in_valid(1'b1), .in_ready(probe_ready), .in_key(key), .in_null(1'b0),
      .out_valid(answered), .out_ready(1'b1), .out_matches(), .out_values(), .out_overflown(),
      .read_valid(probe_reads), .read_ready(1'b1), .read_address(probe_address),
      .answer_valid(probe_late[LATENCY-1]), .answer_ready(), .answer_data(probe_data), .idle()
  );
  logic begun, wrote, looked_up;
  initial begun = 1'b0;
  always @(posedge clk) begin
    begun <= 1'b1;
    if (!begun) assume (rst);
    else assume (!rst);
    if (rst) {build_late, probe_late, wrote, looked_up} <= '0;
    else begin
      build_late <= {build_late[LATENCY-2:0], build_reads};
      probe_late <= {probe_late[LATENCY-2:0], probe_reads};
      wrote      <= wrote || writes;
      looked_up  <= looked_up || answered;
    end
    if (begun && !rst) begin
      assert (build_ready && probe_ready);
      if (wrote) assert (writes);
      if (looked_up) assert (answered);
    end
  end
endmodule
