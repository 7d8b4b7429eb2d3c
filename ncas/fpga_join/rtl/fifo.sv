// A queue in distributed memory: what goes in comes out a cycle later at the earliest.
module fifo
#(
    parameter int WIDTH = 8,
    parameter int DEPTH_BITS = 4
) (
    input logic clk,
    input logic rst,

    input  logic             in_valid,
    output logic             in_ready,
    input  logic [WIDTH-1:0] in_data,

    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out_data
);
  logic [WIDTH-1:0] items[1 << DEPTH_BITS];
  logic [DEPTH_BITS-1:0] first;
  logic [DEPTH_BITS:0] count;
  logic enters, leaves;

  assign in_ready = !count[DEPTH_BITS];
  assign out_valid = count != 0;
  assign out_data = items[first];
  assign enters = in_valid && in_ready;
  assign leaves = out_valid && out_ready;

  always_ff @(posedge clk) begin
    if (enters) items[first+count[DEPTH_BITS-1:0]] <= in_data;
    if (rst) begin
      first <= '0;
      count <= '0;
    end else begin
      first <= first + DEPTH_BITS'(leaves);
      count <= count + (DEPTH_BITS + 1)'(enters) - (DEPTH_BITS + 1)'(leaves);
    end
  end
endmodule
