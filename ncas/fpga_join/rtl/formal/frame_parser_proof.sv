// Of any frames, strides, gaps and back-pressure: a frame that has no more rows is taken to its end, at a word a cycle
// that one comes, and no more rows leave than its length has room for; a row that is offered stays offered.
module frame_parser_proof (
    input logic clk,
    input logic rst,
    input logic [63:0] secret,
    input logic [15:0] udp_port,
    input logic [13:0] strides,
    input logic in_valid,
    input logic [511:0] in_data,
    input logic in_last,
    input logic row_ready
);
  localparam int ROW_BYTES = 8;
  logic in_ready, row_valid, idle, dropped;
  frame_parser #(1, ROW_BYTES) unit (
      .clk, .rst, .secret, .udp_port, .strides, .in_valid, .in_ready, .in_data, .in_last, .row_valid, .row_ready, .row(),
      .row_flow(), .idle, .dropped
  );

  // ---- the frame at hand ----

  logic first, waits;
  logic [15:0] room;  // bytes of rows that may still leave
  logic [15:0] udp_length;
  logic [6:0] stride, own;
  logic [1:0] stuck;  // cycles without a word, a row or a wait for either
  assign udp_length = {in_data[8*frame_pkg::UDP_LENGTH+:8], in_data[8*frame_pkg::UDP_LENGTH+8+:8]};
  assign own = in_data[8*frame_pkg::FLOW+8] ? strides[13:7] : strides[6:0];

  logic begun;
  logic [93:0] settings;
  initial begun = 1'b0;
  always @(posedge clk) begin
    begun <= 1'b1;
    if (!begun) assume (rst);
    else assume (!rst && {secret, udp_port, strides} == settings);
    settings <= {secret, udp_port, strides};
    if (rst) begin
      {waits, stuck} <= '0;
      first <= 1'b1;
      room  <= '0;
    end else begin
      if (in_valid && in_ready) begin
        first <= in_last;
        if (first && idle) begin
          stride <= own;
          room   <= dropped ? 16'd0 : udp_length - 16'(frame_pkg::UDP + frame_pkg::JUMPGATE);
          if (own == 0 || own > 7'(ROW_BYTES)) assert (dropped);
        end
      end
      if (row_valid && row_ready) room <= room - 16'(stride);
      waits <= row_valid && !row_ready;
      stuck <= (in_valid && !in_ready && !row_valid) ? stuck + 1'b1 : '0;
    end
    if (begun && !rst) begin
      if (row_valid) assert (stride != 0 && room >= 16'(stride));
      if (waits) assert (row_valid);
      assert (stuck < 2'd2);
      if (idle) assert (!row_valid);
    end
  end
endmodule
