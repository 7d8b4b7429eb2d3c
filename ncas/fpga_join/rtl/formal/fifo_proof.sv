// A queue keeps every item and its order, for as many cycles as the proof goes: an item that the solver chooses leaves when
// as many have left as entered before it.
module fifo_proof (
    input logic clk,
    input logic rst,
    input logic [4:0] watched,  // the number of an item, for the whole proof
    input logic in_valid,
    input logic [3:0] in_data,
    input logic out_ready
);
  localparam int DEPTH_BITS = 2;
  logic in_ready, out_valid;
  logic [3:0] out_data;
  fifo #(4, DEPTH_BITS) queue (.clk, .rst, .in_valid, .in_ready, .in_data, .out_valid, .out_ready, .out_data);

  logic [4:0] entered, left;
  logic [3:0] item;
  logic seen, begun;
  logic [4:0] chosen;  // stays
  initial begun = 1'b0;
  always @(posedge clk) begin
    begun <= 1'b1;
    if (!begun) assume (rst);
    else assume (!rst && watched == chosen);
    chosen <= watched;
    if (rst) begin
      entered <= '0;
      left    <= '0;
      seen    <= 1'b0;
    end else begin
      if (in_valid && in_ready) begin
        entered <= entered + 1'b1;
        if (entered == watched && !seen) begin
          item <= in_data;
          seen <= 1'b1;
        end
      end
      if (out_valid && out_ready) left <= left + 1'b1;
    end
    if (begun && !rst) begin
      assert (5'(entered - left) <= 5'd4);
      assert (in_ready == (5'(entered - left) < 5'd4));
      assert (out_valid == (entered != left));
      if (seen && out_valid && left == watched && 5'(entered - watched) <= 5'd4 && entered < 5'd24)
        assert (out_data == item);
    end
  end
endmodule
