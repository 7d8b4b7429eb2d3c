// Spreads the buckets of all tables over all memory banks: bucket b of table t is in bank (b + t) modulo the banks, so that
// neighbours, and equal keys of tables that are asked together, are in different banks; there the table begins at its base.
// Each table's answers keep their order. Banks answer in order, too; the oldest read of all is the first of its bank and
// of its table, so that nobody waits in a circle.
module interleaver
#(
    parameter int TABLES = 4,
    parameter int BANKS = 2,  // a power of two
    parameter int ADDRESS_BITS = 24,  // of a table's buckets
    parameter int MEMORY_BITS = 25,  // of a bank's buckets
    parameter int WINDOW_BITS = 6,
    localparam int BUCKET_BITS = bucket_pkg::BUCKET_BITS,
    localparam int BANK_BITS = BANKS > 1 ? $clog2(BANKS) : 1,
    localparam int TABLE_BITS = TABLES > 1 ? $clog2(TABLES) : 1
) (
    input logic clk,
    input logic rst,
    input logic [TABLES*MEMORY_BITS-1:0] bases,  // of each table in every bank

    input  logic [             TABLES-1:0] read_valid,
    output logic [             TABLES-1:0] read_ready,
    input  logic [TABLES*ADDRESS_BITS-1:0] read_address,
    output logic [             TABLES-1:0] answer_valid,
    input  logic [             TABLES-1:0] answer_ready,
    output logic [ TABLES*BUCKET_BITS-1:0] answer_data,
    input  logic [             TABLES-1:0] write_valid,
    output logic [             TABLES-1:0] write_ready,
    input  logic [TABLES*ADDRESS_BITS-1:0] write_address,
    input  logic [ TABLES*BUCKET_BITS-1:0] write_data,

    output logic [            BANKS-1:0] bank_read_valid,
    input  logic [            BANKS-1:0] bank_read_ready,
    output logic [BANKS*MEMORY_BITS-1:0] bank_read_address,
    input  logic [            BANKS-1:0] bank_answer_valid,
    output logic [            BANKS-1:0] bank_answer_ready,
    input  logic [BANKS*BUCKET_BITS-1:0] bank_answer_data,
    output logic [            BANKS-1:0] bank_write_valid,
    input  logic [            BANKS-1:0] bank_write_ready,
    output logic [BANKS*MEMORY_BITS-1:0] bank_write_address,
    output logic [BANKS*BUCKET_BITS-1:0] bank_write_data
);
  function automatic [BANK_BITS-1:0] bank_of(input [BANK_BITS-1:0] low, input [BANK_BITS-1:0] table_number);
    bank_of = (low + table_number) & BANK_BITS'(BANKS - 1);
  endfunction
  function automatic [MEMORY_BITS-1:0] place_of(
      input [ADDRESS_BITS-1:0] address, input [MEMORY_BITS-1:0] base);
    place_of = base + MEMORY_BITS'(address >> $clog2(BANKS));
  endfunction

  // ---- each bank takes one read and one write of those that want it, the tables taking turns ----

  logic [TABLES-1:0] reads[BANKS], writes[BANKS], granted_reads[BANKS], granted_writes[BANKS];
  logic [TABLE_BITS-1:0] turn[BANKS];  // who comes first
  logic [TABLES-1:0] order_ready, asked;
  logic [BANKS-1:0] asker_ready;
  logic [BANK_BITS-1:0] read_bank[TABLES], order[TABLES];
  logic [TABLES-1:0] order_valid;
  logic [TABLE_BITS-1:0] reader[BANKS], asker[BANKS];
  logic [BANKS-1:0] asker_valid;

  // The first of `wanting` from place `from` on, as one bit.
  function automatic [TABLES-1:0] first_of(input [TABLES-1:0] wanting, input [TABLE_BITS-1:0] from);
    logic [TABLES-1:0] later;
    later = wanting & ({TABLES{1'b1}} << from);
    first_of = |later ? later & (~later + 1'b1) : wanting & (~wanting + 1'b1);
  endfunction

  for (genvar t = 0; t < TABLES; t++) begin : tables
    assign read_bank[t] = bank_of(read_address[t*ADDRESS_BITS+:BANK_BITS], BANK_BITS'(t));
    fifo #(BANK_BITS, WINDOW_BITS + 1) banks_asked (
        .clk, .rst, .in_valid(asked[t]), .in_ready(order_ready[t]), .in_data(read_bank[t]),
        .out_valid(order_valid[t]), .out_ready(answer_valid[t] && answer_ready[t]), .out_data(order[t])
    );
  end
  for (genvar b = 0; b < BANKS; b++) begin : banks
    always_comb begin
      for (int t = 0; t < TABLES; t++) begin
        reads[b][t]  = read_valid[t] && order_ready[t] && read_bank[t] == BANK_BITS'(b);
        writes[b][t] = write_valid[t]
            && bank_of(write_address[t*ADDRESS_BITS+:BANK_BITS], BANK_BITS'(t)) == BANK_BITS'(b);
      end
      granted_reads[b]  = first_of(reads[b], turn[b]);
      granted_writes[b] = first_of(writes[b], turn[b]);
      bank_read_address[b*MEMORY_BITS+:MEMORY_BITS]  = '0;
      bank_write_address[b*MEMORY_BITS+:MEMORY_BITS] = '0;
      bank_write_data[b*BUCKET_BITS+:BUCKET_BITS]    = '0;
      reader[b] = '0;
      for (int t = 0; t < TABLES; t++) begin
        if (granted_reads[b][t]) begin
          reader[b] = TABLE_BITS'(t);
          bank_read_address[b*MEMORY_BITS+:MEMORY_BITS] = place_of(
              read_address[t*ADDRESS_BITS+:ADDRESS_BITS], bases[t*MEMORY_BITS+:MEMORY_BITS]);
        end
        if (granted_writes[b][t]) begin
          bank_write_address[b*MEMORY_BITS+:MEMORY_BITS] = place_of(
              write_address[t*ADDRESS_BITS+:ADDRESS_BITS], bases[t*MEMORY_BITS+:MEMORY_BITS]);
          bank_write_data[b*BUCKET_BITS+:BUCKET_BITS] = write_data[t*BUCKET_BITS+:BUCKET_BITS];
        end
      end
    end
    assign bank_read_valid[b]  = |reads[b] && asker_ready[b];
    assign bank_write_valid[b] = |writes[b];
    always_ff @(posedge clk)
      if (rst) turn[b] <= '0;
      else turn[b] <= turn[b] == TABLE_BITS'(TABLES - 1) ? '0 : turn[b] + 1'b1;
    fifo #(TABLE_BITS, WINDOW_BITS + 2) tables_asking (
        .clk, .rst, .in_valid(bank_read_valid[b] && bank_read_ready[b]), .in_ready(asker_ready[b]), .in_data(reader[b]),
        .out_valid(asker_valid[b]), .out_ready(bank_answer_valid[b] && bank_answer_ready[b]), .out_data(asker[b])
    );
  end
  always_comb begin
    asked = '0;
    write_ready = '0;
    for (int b = 0; b < BANKS; b++) begin
      if (asker_ready[b] && bank_read_ready[b]) asked |= granted_reads[b];
      if (bank_write_ready[b]) write_ready |= granted_writes[b];
    end
  end
  assign read_ready = asked;

  // ---- a bank's answer goes to who asked, when it is that one's turn ----

  always_comb begin
    answer_valid = '0;
    answer_data  = '0;
    bank_answer_ready = '0;
    for (int t = 0; t < TABLES; t++) begin
      for (int b = 0; b < BANKS; b++) begin
        if (order_valid[t] && order[t] == BANK_BITS'(b) && asker_valid[b] && asker[b] == TABLE_BITS'(t)) begin
          answer_valid[t] = bank_answer_valid[b];
          answer_data[t*BUCKET_BITS+:BUCKET_BITS] = bank_answer_data[b*BUCKET_BITS+:BUCKET_BITS];
          bank_answer_ready[b] = answer_ready[t];
        end
      end
    end
  end
endmodule
