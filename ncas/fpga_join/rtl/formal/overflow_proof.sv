// Whatever is in the buckets, and whatever gaps and back-pressure there are: a tuple without room that is offered stays
// offered until it is taken, and leaves once; those that have room do not leave.
module overflow_proof (
    input logic clk,
    input logic rst,
    input logic in_valid,
    input logic [3:0] in_key,
    input logic overflow_ready,
    input logic read_ready,
    input logic write_ready,
    input logic answer_valid,
    input logic [31:0] answer_data
);
  localparam int SLOTS = 3;
  logic in_ready, overflow_valid, read_valid, answer_ready, write_valid, idle;
  logic [3:0] overflow_key, offered;
  logic [31:0] write_data;
  build_unit #(4, 4, 1, 2) unit (
      .clk, .rst, .mask(1'b1), .in_valid, .in_ready, .in_key, .in_value(in_key), .overflow_valid, .overflow_ready,
      .overflow_key, .overflow_value(), .read_valid, .read_ready, .read_address(), .answer_valid, .answer_ready,
      .answer_data, .write_valid, .write_ready, .write_address(), .write_data, .idle, .forwarded()
  );

  logic begun, waits;
  logic [3:0] owed, full, left;  // reads without answer; buckets that were written with the flag, tuples that left
  initial begun = 1'b0;
  always @(posedge clk) begin
    begun <= 1'b1;
    if (!begun) assume (rst);
    else assume (!rst);
    waits   <= !rst && overflow_valid && !overflow_ready;
    offered <= overflow_key;
    if (rst) {owed, full, left} <= '0;
    else begin
      owed <= owed + 4'(read_valid && read_ready) - 4'(answer_valid && answer_ready);
      if (overflow_valid && overflow_ready) left <= left + 1'b1;
      if (write_valid && write_ready && write_data[7] && write_data[2:0] == 3'(SLOTS)) full <= full + 1'b1;
      assume (!answer_valid || (owed != 0 && answer_data[2:0] <= 3'(SLOTS) && !answer_data[7]));
    end
    if (begun && !rst) begin
      if (waits) assert (overflow_valid && overflow_key == offered);
      if (idle) assert (left == full);
    end
  end
endmodule
