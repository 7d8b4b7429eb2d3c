// Of any requests, resets, gaps and latencies: the first answer after a reset is that of the first read that was asked
// for after it, and all are answered in their order; what is offered stays offered; whoever waits for an answer gets one.
module drain_proof (
    input logic clk,
    input logic rst,
    input logic read_valid,
    input logic answer_ready,
    input logic accepts,
    input logic answers
);
  localparam int LATE_BITS = 2;
  logic read_ready, answer_valid, asks, room, late, takes;
  logic [7:0] number, expected;  // of a read, and of what is to be answered next
  logic [7:0] data;
  logic begun;
  drain #(LATE_BITS + 1) unit (
      .clk, .rst, .memory_rst(!begun), .read_valid, .read_ready, .answer_valid, .answer_ready,
      .memory_read_valid(asks), .memory_read_ready(accepts && room), .memory_answer_valid(late && answers),
      .memory_answer_ready(takes)
  );
  // The memory knows nothing of a reset, but for the first.
  fifo #(8, LATE_BITS) memory (
      .clk, .rst(!begun), .in_valid(asks && accepts), .in_ready(room), .in_data(number),
      .out_valid(late), .out_ready(answers && takes), .out_data(data)
  );
  initial begun = 1'b0;
  always @(posedge clk) begin
    begun <= 1'b1;
    if (!begun) begin
      assume (rst);
      {number, expected} <= '0;
    end else begin
      if (read_valid && read_ready) number <= number + 1'b1;
      if (rst) expected <= number;
      else if (answer_valid && answer_ready) expected <= expected + 1'b1;
      if (rst) assert (!answer_valid && !asks && !takes);
      else begin
        if (answer_valid) assert (data == expected && expected != number);
        if (late && answers && answer_ready) assert (takes);
        if (expected == number && !late && read_valid) assert (asks);
      end
    end
  end
endmodule
