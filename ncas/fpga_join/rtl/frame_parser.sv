// Takes frames apart into rows, one a cycle: those of build sides, whose flows have their tables' numbers, and those that
// probe, whose flow is the next one. A frame that is none of these is dropped as a whole.
module frame_parser
#(
    parameter int TABLES = 4,
    parameter int ROW_BYTES = 64,
    localparam int BUS_BYTES = frame_pkg::BUS_BYTES,
    localparam int HEADERS = frame_pkg::HEADERS
) (
    input logic clk,
    input logic rst,
    input logic [63:0] secret,
    input logic [15:0] udp_port,
    input logic [(TABLES+1)*7-1:0] strides,  // bytes of a row of each flow

    input  logic                   in_valid,
    output logic                   in_ready,
    input  logic [8*BUS_BYTES-1:0] in_data,
    input  logic                   in_last,

    output logic                   row_valid,
    input  logic                   row_ready,
    output logic [8*ROW_BYTES-1:0] row,
    output logic [            2:0] row_flow,

    output logic idle,
    output logic dropped  // in this cycle a frame is
);
  localparam int HELD_BYTES = ROW_BYTES + BUS_BYTES;
  typedef enum logic [1:0] {HEADER, ROWS, DROP} state_t;
  state_t state;

  logic [8*HELD_BYTES-1:0] held, kept;
  logic [7:0] count, kept_count;  // bytes held
  logic [10:0] rest;  // bytes of rows of this frame that have not left
  logic [6:0] stride, stride_now;
  logic [2:0] flow;
  logic ended;  // the frame's last word has come
  logic takes, leaves, finishes, spent;

  // ---- headers: they are in the first word ----

  logic [8*HEADERS-1:0] headers;
  logic [15:0] udp_length, rows_length;
  logic [15:0] flow_now;
  logic right;

  function automatic [15:0] word16(input [8*HEADERS-1:0] bytes, input int at);
    word16 = {bytes[8*at+:8], bytes[8*at+8+:8]};
  endfunction
  function automatic [63:0] word64(input [8*HEADERS-1:0] bytes, input int at);
    for (int i = 0; i < 8; i++) word64[8*(7-i)+:8] = bytes[8*(at+i)+:8];
  endfunction

  assign headers = in_data[8*HEADERS-1:0];
  assign flow_now = word16(headers, frame_pkg::FLOW);
  assign udp_length = word16(headers, frame_pkg::UDP_LENGTH);
  assign rows_length = udp_length - 16'(frame_pkg::UDP + frame_pkg::JUMPGATE);
  // A row has a byte at least and ROW_BYTES at most: of another stride no row would ever be the last, or be whole.
  assign stride_now = strides[7*flow_now[2:0]+:7];
  assign right = word16(headers, frame_pkg::ETHER_TYPE) == 16'h0800
      && headers[8*frame_pkg::ETHERNET+:8] == 8'h45
      && headers[8*frame_pkg::IP_PROTOCOL+:8] == 8'd17
      && frame_pkg::ip_sum(headers) == 16'hFFFF
      && word16(headers, frame_pkg::UDP_PORT) == udp_port
      && word16(headers, frame_pkg::IP_LENGTH) == udp_length + 16'(frame_pkg::IP)
      && udp_length >= 16'(frame_pkg::UDP + frame_pkg::JUMPGATE)
      && rows_length <= 16'(frame_pkg::PAYLOAD_MAX)
      && headers[8*frame_pkg::KIND+:8] == 8'(frame_pkg::DATA)
      && headers[8*frame_pkg::PRESENT+:8] == 8'd1
      && flow_now <= 16'(TABLES) && stride_now != 0 && stride_now <= 7'(ROW_BYTES)
      && word64(headers, frame_pkg::SECRET) == secret;

  // ---- rows ----

  always_comb begin
    row = '0;
    for (int i = 0; i < ROW_BYTES; i++) if (i < 32'(stride)) row[8*i+:8] = held[8*i+:8];
  end
  assign row_flow = flow;
  assign row_valid = state == ROWS && rest >= 11'(stride) && count >= 8'(stride);
  assign leaves = row_valid && row_ready;
  assign kept = leaves ? held >> {stride, 3'b0} : held;
  assign kept_count = leaves ? count - 8'(stride) : count;

  // What is left behind the last row is padding, or part of a row, which is no row: it is taken and not kept.
  assign spent = rest < 11'(stride);
  assign finishes = state == ROWS && ended && (spent || count < 8'(stride));
  assign in_ready = state != ROWS || (!ended && (spent || kept_count <= 8'(HELD_BYTES - BUS_BYTES)));
  assign takes = in_valid && in_ready;
  assign dropped = takes && state == HEADER && !right;
  assign idle = state == HEADER;

  always_ff @(posedge clk) begin
    if (rst) begin
      state <= HEADER;
    end else begin
      case (state)
        HEADER:
        if (takes) begin
          if (right) state <= ROWS;
          else if (!in_last) state <= DROP;
        end
        ROWS: if (finishes) state <= HEADER;
        default: if (takes && in_last) state <= HEADER;
      endcase
    end
    if (state == HEADER) begin
      flow  <= flow_now[2:0];
      stride <= stride_now;
      rest  <= rows_length[10:0];
      held  <= {{8 * (HELD_BYTES - BUS_BYTES + HEADERS) {1'b0}}, in_data[8*BUS_BYTES-1:8*HEADERS]};
      count <= 8'(BUS_BYTES - HEADERS);
      ended <= in_last;
    end else begin
      if (takes) ended <= in_last;
      held  <= takes ? kept | ({{8 * ROW_BYTES{1'b0}}, in_data} << {kept_count, 3'b0}) : kept;
      count <= takes ? kept_count + 8'(BUS_BYTES) : kept_count;
      if (leaves) rest <= rest - 11'(stride);
    end
  end
endmodule
