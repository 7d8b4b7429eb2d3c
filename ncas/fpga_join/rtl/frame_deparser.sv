// Packs rows into frames, as many as a frame has room for; `flush` ends one that has fewer. Headers follow a template:
// lengths, the checksum and the sequence, from 1 on, are filled in.
module frame_deparser
#(
    parameter int ROW_BYTES = 64,
    localparam int BUS_BYTES = frame_pkg::BUS_BYTES,
    localparam int HEADERS = frame_pkg::HEADERS
) (
    input logic clk,
    input logic rst,
    input logic [8*HEADERS-1:0] headers,  // lengths, checksum and sequence are zero
    input logic [6:0] stride,  // bytes of a row
    input logic flush,

    input  logic                   row_valid,
    output logic                   row_ready,
    input  logic [8*ROW_BYTES-1:0] row,

    output logic                   out_valid,
    input  logic                   out_ready,
    output logic [8*BUS_BYTES-1:0] out_data,
    output logic [            6:0] out_bytes,  // of this word
    output logic                   out_last,

    output logic idle,
    output logic sent  // in this cycle a frame's last word leaves
);
  localparam int HELD_BYTES = ROW_BYTES + BUS_BYTES;

  // ---- words of one frame after another, with room for headers before the first row ----

  logic [8*HELD_BYTES-1:0] held, kept, masked;
  logic [7:0] count, kept_count;
  logic [10:0] payload;  // bytes of rows in the frame at hand; 0: there is none
  logic closing, full, exceeds, takes, pushes, closes;
  logic word_ready, word_valid, next_word;
  logic [8*BUS_BYTES-1:0] word;
  logic length_ready, length_valid, next_length;
  logic [10:0] length;

  assign full = count >= 8'(BUS_BYTES);
  assign exceeds = payload + 11'(stride) > 11'(frame_pkg::PAYLOAD_MAX);
  assign pushes = word_ready && (full || (closing && count != 0));
  assign closes = closing && count == 0 && length_ready;
  assign row_ready = !closing && !exceeds && (!full || word_ready);
  assign takes = row_valid && row_ready;
  assign kept = pushes ? held >> (8 * BUS_BYTES) : held;
  assign kept_count = !pushes ? count : full ? count - 8'(BUS_BYTES) : 8'd0;
  always_comb begin
    masked = '0;
    for (int i = 0; i < ROW_BYTES; i++) if (i < 32'(stride)) masked[8*i+:8] = row[8*i+:8];
  end

  always_ff @(posedge clk) begin
    if (rst || closes) begin
      held    <= '0;
      count   <= 8'(HEADERS);
      payload <= '0;
      closing <= 1'b0;
    end else begin
      held  <= takes ? kept | (masked << {kept_count, 3'b0}) : kept;
      count <= takes ? kept_count + 8'(stride) : kept_count;
      if (takes) payload <= payload + 11'(stride);
      if (payload != 0 && (exceeds || (flush && !row_valid))) closing <= 1'b1;
    end
  end

  fifo #(8 * BUS_BYTES, 6) words (
      .clk, .rst, .in_valid(pushes), .in_ready(word_ready), .in_data(held[8*BUS_BYTES-1:0]),
      .out_valid(word_valid), .out_ready(next_word), .out_data(word)
  );
  fifo #(11, 4) lengths (
      .clk, .rst, .in_valid(closes), .in_ready(length_ready), .in_data(payload),
      .out_valid(length_valid), .out_ready(next_length), .out_data(length)
  );

  // ---- out: a frame leaves when its length is known ----

  logic [10:0] sent_bytes, rest;
  logic [31:0] sequence_number;
  logic [8*HEADERS-1:0] measured, filled;
  logic [15:0] udp_length, ip_length, checksum;
  logic first;

  assign first = sent_bytes == 0;
  assign rest = 11'(HEADERS) + length - sent_bytes;
  assign udp_length = 16'(length) + 16'(frame_pkg::UDP + frame_pkg::JUMPGATE);
  assign ip_length = udp_length + 16'(frame_pkg::IP);
  assign checksum = ~frame_pkg::ip_sum(measured);
  always_comb begin
    measured = headers;
    measured[8*frame_pkg::IP_LENGTH+:16] = {ip_length[7:0], ip_length[15:8]};
    measured[8*frame_pkg::UDP_LENGTH+:16] = {udp_length[7:0], udp_length[15:8]};
    measured[8*frame_pkg::SEQUENCE+:32] = {
      sequence_number[7:0], sequence_number[15:8], sequence_number[23:16], sequence_number[31:24]
    };
    filled = measured;
    filled[8*frame_pkg::IP_CHECKSUM+:16] = {checksum[7:0], checksum[15:8]};
  end

  assign out_valid = length_valid && word_valid;
  assign out_last = rest <= 11'(BUS_BYTES);
  assign out_bytes = out_last ? rest[6:0] : 7'(BUS_BYTES);
  assign out_data = first ? {word[8*BUS_BYTES-1:8*HEADERS], filled} : word;
  assign next_word = length_valid && out_ready;
  assign sent = out_valid && out_ready && out_last;
  assign next_length = sent;
  assign idle = payload == 0 && !length_valid;

  always_ff @(posedge clk) begin
    if (rst) begin
      sent_bytes      <= '0;
      sequence_number <= 32'd1;
    end else if (out_valid && out_ready) begin
      sent_bytes <= out_last ? '0 : sent_bytes + 11'(BUS_BYTES);
      if (out_last) sequence_number <= sequence_number + 1;
    end
  end
endmodule
