// Joins the answers of all tables to the row that asked, in order: one joined row a cycle. A row with several partners
// leaves once for each combination, the last table's changing fastest. A row one of whose buckets had entries without
// room is the host's, which has these: it leaves with all answers.
module combiner
#(
    parameter int TABLES = 4,
    parameter int KEY_BITS = 64,
    parameter int VALUE_BITS = 64,
    parameter int ROW_BITS = 512,
    localparam int SLOTS = bucket_pkg::slots_of(KEY_BITS, VALUE_BITS)
) (
    input logic clk,
    input logic rst,
    input logic [TABLES*3-1:0] kinds,

    input  logic                               row_valid,
    output logic                               row_ready,
    input  logic [               ROW_BITS-1:0] row,
    input  logic [                 TABLES-1:0] answer_valid,
    output logic [                 TABLES-1:0] answer_ready,
    input  logic [           TABLES*SLOTS-1:0] hits,
    input  logic [TABLES*SLOTS*VALUE_BITS-1:0] values,
    input  logic [                 TABLES-1:0] overflown,

    output logic                         joined_valid,
    input  logic                         joined_ready,
    output logic [         ROW_BITS-1:0] joined_row,
    output logic [           TABLES-1:0] joined_found,  // tables of which it has a partner
    output logic [TABLES*VALUE_BITS-1:0] joined_values,

    output logic rest_valid,
    input  logic rest_ready
);
  logic [TABLES-1:0] used, found, pairs, last;
  logic [TABLES*SLOTS-1:0] choices, left, now, next;  // partners: all, and those that have not left
  logic begun, present, passes, excepted, leaves, done;

  always_comb begin
    passes = 1'b1;
    for (int t = 0; t < TABLES; t++) begin
      used[t]  = kinds[3*t+:3] != bucket_pkg::UNUSED;
      found[t] = |hits[t*SLOTS+:SLOTS];
      pairs[t] = kinds[3*t+:3] == bucket_pkg::INNER || kinds[3*t+:3] == bucket_pkg::LEFT;
      case (kinds[3*t+:3])
        bucket_pkg::INNER, bucket_pkg::SEMI: passes &= found[t];
        bucket_pkg::ANTI: passes &= !found[t];
        default: ;
      endcase
      choices[t*SLOTS+:SLOTS] = pairs[t] && found[t] ? hits[t*SLOTS+:SLOTS] : SLOTS'(1);
    end
  end
  assign present = row_valid && &(answer_valid | ~used);
  assign excepted = |(overflown & used);
  assign now = begun ? left : choices;

  always_comb begin
    logic turns;  // all later tables begin anew
    turns = 1'b1;
    joined_values = '0;
    next = now;
    for (int t = TABLES - 1; t >= 0; t--) begin
      logic [SLOTS-1:0] own, rest;
      own  = now[t*SLOTS+:SLOTS];
      rest = own & (own - 1'b1);
      last[t] = rest == '0;
      if (turns) next[t*SLOTS+:SLOTS] = last[t] ? choices[t*SLOTS+:SLOTS] : rest;
      turns &= last[t];
      for (int slot = SLOTS - 1; slot >= 0; slot--)
        if (own[slot] && pairs[t] && found[t])
          joined_values[t*VALUE_BITS+:VALUE_BITS] = values[(t*SLOTS+slot)*VALUE_BITS+:VALUE_BITS];
    end
  end

  assign joined_valid = present && passes && !excepted;
  assign joined_row = row;
  assign joined_found = found & pairs;
  assign rest_valid = present && excepted;
  assign leaves = joined_valid && joined_ready;
  assign done = rest_valid ? rest_ready : present && (!passes || (leaves && &last));
  assign row_ready = done;
  assign answer_ready = {TABLES{done}} & used;

  always_ff @(posedge clk) begin
    if (rst || done) begin
      begun <= 1'b0;
    end else if (leaves) begin
      begun <= 1'b1;
      left  <= next;
    end
  end
endmodule
