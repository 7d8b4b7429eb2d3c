// Looks keys up: one a cycle, answers in the order of the keys. A key that is not looked up (NULL) takes its turn without a
// read. After a reset no answer may come to a read from before it (`drain`).
module probe_unit
#(
    parameter int KEY_BITS = 64,
    parameter int VALUE_BITS = 64,
    parameter int ADDRESS_BITS = 26,
    parameter int WINDOW_BITS = 6,
    localparam int SLOTS = bucket_pkg::slots_of(KEY_BITS, VALUE_BITS)
) (
    input logic clk,
    input logic rst,
    input logic [ADDRESS_BITS-1:0] mask,  // of the addresses in use

    input  logic                in_valid,
    output logic                in_ready,
    input  logic [KEY_BITS-1:0] in_key,
    input  logic                in_null,

    output logic                        out_valid,
    input  logic                        out_ready,
    output logic [           SLOTS-1:0] out_matches,
    output logic [SLOTS*VALUE_BITS-1:0] out_values,
    output logic                        out_overflown,

    output logic                    read_valid,
    input  logic                    read_ready,
    output logic [ADDRESS_BITS-1:0] read_address,
    input  logic                    answer_valid,
    output logic                    answer_ready,
    input  logic [ bucket_pkg::BUCKET_BITS-1:0] answer_data,

    output logic idle
);
  localparam int WINDOW = 1 << WINDOW_BITS;

  logic staged, staged_null;
  logic [ADDRESS_BITS-1:0] staged_address;
  logic [KEY_BITS-1:0] staged_key;

  logic [KEY_BITS-1:0] keys[WINDOW];
  logic nulls[WINDOW];
  logic [WINDOW_BITS-1:0] entered, answered;
  logic [WINDOW_BITS:0] count;
  logic enters, leaves, has_room, turn;

  assign has_room = count != (WINDOW_BITS + 1)'(WINDOW);
  assign in_ready = !staged || enters;
  assign read_valid = staged && !staged_null && has_room;
  assign read_address = staged_address;
  assign enters = staged && has_room && (staged_null || read_ready);

  assign turn = count != 0 && (nulls[answered] || answer_valid);
  assign leaves = turn && (!out_valid || out_ready);
  assign answer_ready = count != 0 && !nulls[answered] && (!out_valid || out_ready);

  always_ff @(posedge clk) begin
    if (rst) begin
      staged    <= 1'b0;
      entered   <= '0;
      answered  <= '0;
      count     <= '0;
      out_valid <= 1'b0;
    end else begin
      if (in_ready) begin
        staged         <= in_valid;
        staged_null    <= in_null;
        staged_key     <= in_key;
        staged_address <= ADDRESS_BITS'(bucket_pkg::hash_of(64'(in_key))) & mask;
      end
      if (enters) begin
        keys[entered]  <= staged_key;
        nulls[entered] <= staged_null;
        entered        <= entered + 1'b1;
      end
      if (leaves) begin
        answered <= answered + 1'b1;
        for (int slot = 0; slot < SLOTS; slot++) begin
          out_matches[slot] <= !nulls[answered] && 3'(slot) < answer_data[2:0] &&
              answer_data[bucket_pkg::FLAG_BITS+slot*(KEY_BITS+VALUE_BITS)+:KEY_BITS] == keys[answered];
          out_values[slot*VALUE_BITS+:VALUE_BITS] <=
              answer_data[bucket_pkg::FLAG_BITS+slot*(KEY_BITS+VALUE_BITS)+KEY_BITS+:VALUE_BITS];
        end
        out_overflown <= !nulls[answered] && answer_data[bucket_pkg::OVERFLOWN];
      end
      if (leaves) out_valid <= 1'b1;
      else if (out_ready) out_valid <= 1'b0;
      count <= count + (WINDOW_BITS + 1)'(enters) - (WINDOW_BITS + 1)'(leaves);
    end
  end

  assign idle = !staged && count == 0 && !out_valid;
endmodule
