// The card between its network port and its memory banks: frames of rows come in, those of build sides fill tables, and
// those that probe leave as frames of joined rows, or add to a count and a sum. What a job is stands at the inputs
// above the first handshake; they may change while the card is idle, or in a reset, which may come at any time.
module join_card
#(
    parameter int TABLES = 4,
    parameter int BANKS = 2,
    parameter int KEY_BITS = 64,
    parameter int VALUE_BITS = 64,
    parameter int ADDRESS_BITS = 26,
    parameter int WINDOW_BITS = 6,
    parameter int ROW_BYTES = 64,  // at most, of rows that come and rows that leave
    localparam int SLOTS = bucket_pkg::slots_of(KEY_BITS, VALUE_BITS),
    localparam int BUCKET_BITS = bucket_pkg::BUCKET_BITS,
    localparam int MEMORY_BITS = ADDRESS_BITS + $clog2(TABLES),
    localparam int KEY_BYTES = KEY_BITS / 8,
    localparam int VALUE_BYTES = VALUE_BITS / 8,
    localparam int NULL_BITS = 64,  // of a row
    localparam int TABLE_NULLS = 8 * bucket_pkg::nulls_of(VALUE_BYTES),
    // of a joined row: NULL bits of the row that probes and of each table; bytes of the new NULL bits, of the row
    // that probes, and of each table's key and value
    localparam int JOINED_NULLS = NULL_BITS + TABLES * TABLE_NULLS,
    localparam int JOINED_BYTES = NULL_BITS / 8 + ROW_BYTES + TABLES * (KEY_BYTES + VALUE_BYTES),
    localparam int BUS_BYTES = frame_pkg::BUS_BYTES,
    localparam int HEADERS = frame_pkg::HEADERS
) (
    input logic clk,
    input logic rst,
    input logic memory_rst,  // the memories are reset, with `rst`; else they go on, and `drain` takes their answers
    input logic [63:0] secret,
    input logic [15:0] udp_port,
    input logic [TABLES*ADDRESS_BITS-1:0] masks,  // of each table's addresses in use
    input logic [TABLES*MEMORY_BITS-1:0] bases,  // where each begins in every bank
    input logic [TABLES*3-1:0] kinds,
    input logic [TABLES*4-1:0] build_nulls,  // bytes of NULL bits that a row begins with, 0: none of its columns is NULL
    input logic [3:0] probe_nulls,
    input logic [(TABLES+1)*7-1:0] strides,
    input logic [$clog2(JOINED_NULLS)*JOINED_NULLS-1:0] null_places,
    input logic [NULL_BITS-1:0] null_mask,  // of the columns that leave; 0: their rows have no NULL bits
    input logic [$clog2(JOINED_BYTES)*JOINED_BYTES-1:0] byte_places,
    input logic [6:0] out_stride,
    input logic [8*HEADERS-1:0] headers,
    input logic aggregates,  // joined rows do not leave: their first column is an integer of 64 bits that is added up
    input logic flush,

    input  logic                   in_valid,
    output logic                   in_ready,
    input  logic [8*BUS_BYTES-1:0] in_data,
    input  logic                   in_last,
    output logic                   out_valid,
    input  logic                   out_ready,
    output logic [8*BUS_BYTES-1:0] out_data,
    output logic [            6:0] out_bytes,
    output logic                   out_last,

    // entries of the host: those without room, and rows that ask for such
    output logic                               overflow_valid,
    input  logic                               overflow_ready,
    output logic [                        2:0] overflow_table,
    output logic [               KEY_BITS-1:0] overflow_key,
    output logic [             VALUE_BITS-1:0] overflow_value,
    output logic                               rest_valid,
    input  logic                               rest_ready,
    output logic [            8*ROW_BYTES-1:0] rest_row,
    output logic [           TABLES*SLOTS-1:0] rest_matches,
    output logic [TABLES*SLOTS*VALUE_BITS-1:0] rest_values,
    output logic [                 TABLES-1:0] rest_overflown,

    output logic [            BANKS-1:0] read_valid,
    input  logic [            BANKS-1:0] read_ready,
    output logic [BANKS*MEMORY_BITS-1:0] read_address,
    input  logic [            BANKS-1:0] answer_valid,
    output logic [            BANKS-1:0] answer_ready,
    input  logic [BANKS*BUCKET_BITS-1:0] answer_data,
    output logic [            BANKS-1:0] write_valid,
    input  logic [            BANKS-1:0] write_ready,
    output logic [BANKS*MEMORY_BITS-1:0] write_address,
    output logic [BANKS*BUCKET_BITS-1:0] write_data,

    output logic idle,
    output logic [63:0] built,
    output logic [63:0] probed,
    output logic [63:0] joined,
    output logic [63:0] rested,  // rows that are the host's to join
    output logic [63:0] overflowed,
    output logic [63:0] forwards,
    output logic [63:0] dropped,
    output logic [63:0] sent,  // frames
    output logic [63:0] stalled,  // cycles in which a row waited to enter
    output logic [63:0] added,  // rows whose column was not NULL
    output logic signed [127:0] sum
);
  // ---- rows ----

  logic row_valid, row_ready, parser_idle, drops;
  logic [8*ROW_BYTES-1:0] row;
  logic [2:0] row_flow;
  frame_parser #(TABLES, ROW_BYTES) parser (
      .clk, .rst, .secret, .udp_port, .strides, .in_valid, .in_ready, .in_data, .in_last,
      .row_valid, .row_ready, .row, .row_flow, .idle(parser_idle), .dropped(drops)
  );

  // The key that begins so many bytes into the row, highest byte first.
  function automatic [KEY_BITS-1:0] key_at(input [8*ROW_BYTES-1:0] bytes, input [31:0] at);
    logic [8*ROW_BYTES-1:0] moved;
    moved = bytes >> {at, 3'b0};
    for (int i = 0; i < KEY_BYTES; i++) key_at[8*(KEY_BYTES-1-i)+:8] = moved[8*i+:8];
  endfunction
  // The row without its key, which follows the NULL bits.
  function automatic [VALUE_BITS-1:0] value_of(input [8*ROW_BYTES-1:0] bytes, input [3:0] nulls);
    logic [8*(ROW_BYTES+KEY_BYTES)-1:0] longer;
    longer = {{KEY_BITS{1'b0}}, bytes};
    for (int i = 0; i < VALUE_BYTES; i++)
      value_of[8*i+:8] = i < 32'(nulls) ? longer[8*i+:8] : longer[8*(i+KEY_BYTES)+:8];
  endfunction

  // Tables are built, or looked into: a row of the other sort waits until what is on its way has arrived.
  logic probes, probing, turns, all_ready, enters, queue_ready, queue_valid, queue_pop;
  logic [TABLES-1:0] used, chosen, table_valid, table_ready, table_idle;
  logic [8*ROW_BYTES-1:0] queued;
  assign probes = row_flow == 3'(TABLES);
  assign turns = row_valid && probes != probing && &table_idle && !queue_valid;
  assign all_ready = &(table_ready | ~chosen) && (!probes || queue_ready);
  assign row_ready = probes == probing && (chosen == '0 && !probes ? 1'b1 : all_ready);
  assign enters = row_valid && row_ready;
  always_comb
    for (int t = 0; t < TABLES; t++) begin
      used[t]   = kinds[3*t+:3] != bucket_pkg::UNUSED;
      // a NULL key is not built
      chosen[t] = used[t] && (probes || (row_flow == 3'(t) && !(row[0] && build_nulls[4*t+:4] != 0)));
      table_valid[t] = enters && chosen[t];
    end
  always_ff @(posedge clk)
    if (rst) probing <= 1'b0;
    else if (turns) probing <= probes;

  // Rows wait here for what the tables answer.
  fifo #(8 * ROW_BYTES, WINDOW_BITS + 1) queue (
      .clk, .rst, .in_valid(enters && probes), .in_ready(queue_ready), .in_data(row),
      .out_valid(queue_valid), .out_ready(queue_pop), .out_data(queued)
  );

  // ---- tables ----

  logic [TABLES-1:0] table_answers, answer_taken, table_overflown, overflows, overflow_takes;
  logic [TABLES*KEY_BITS-1:0] overflow_keys;
  logic [TABLES*VALUE_BITS-1:0] overflow_values;
  logic [TABLES*SLOTS-1:0] hits;
  logic [TABLES*SLOTS*VALUE_BITS-1:0] values;
  logic [TABLES-1:0] asks, asks_ready, got, got_ready, puts, puts_ready;
  logic [TABLES*ADDRESS_BITS-1:0] asks_address, puts_address;
  logic [TABLES*BUCKET_BITS-1:0] got_data, puts_data;
  logic [63:0] table_built[TABLES], table_overflowed[TABLES], table_forwards[TABLES];

  for (genvar t = 0; t < TABLES; t++) begin : tables
    join_table #(KEY_BITS, VALUE_BITS, ADDRESS_BITS, WINDOW_BITS) at (
        .clk, .rst, .probing, .mask(masks[t*ADDRESS_BITS+:ADDRESS_BITS]),
        .in_valid(table_valid[t]), .in_ready(table_ready[t]),
        .in_key(key_at(row, probes ? 32'(probe_nulls) + 32'(KEY_BYTES * t) : 32'(build_nulls[4*t+:4]))),
        .in_null(row[t] && probe_nulls != 0), .in_value(value_of(row, build_nulls[4*t+:4])),
        .overflow_valid(overflows[t]), .overflow_ready(overflow_takes[t]),
        .overflow_key(overflow_keys[t*KEY_BITS+:KEY_BITS]),
        .overflow_value(overflow_values[t*VALUE_BITS+:VALUE_BITS]),
        .out_valid(table_answers[t]), .out_ready(answer_taken[t]), .out_matches(hits[t*SLOTS+:SLOTS]),
        .out_values(values[t*SLOTS*VALUE_BITS+:SLOTS*VALUE_BITS]), .out_overflown(table_overflown[t]),
        .read_valid(asks[t]), .read_ready(asks_ready[t]), .read_address(asks_address[t*ADDRESS_BITS+:ADDRESS_BITS]),
        .answer_valid(got[t]), .answer_ready(got_ready[t]), .answer_data(got_data[t*BUCKET_BITS+:BUCKET_BITS]),
        .write_valid(puts[t]), .write_ready(puts_ready[t]),
        .write_address(puts_address[t*ADDRESS_BITS+:ADDRESS_BITS]), .write_data(puts_data[t*BUCKET_BITS+:BUCKET_BITS]),
        .idle(table_idle[t]), .built(table_built[t]), .overflowed(table_overflowed[t]), .forwards(table_forwards[t])
    );
  end

  logic [BANKS-1:0] banks_ask, banks_ask_ready, banks_answer, banks_answer_ready;
  for (genvar b = 0; b < BANKS; b++) begin : drains
    drain #(WINDOW_BITS + $clog2(TABLES) + 1) at (
        .clk, .rst, .memory_rst, .read_valid(banks_ask[b]), .read_ready(banks_ask_ready[b]),
        .answer_valid(banks_answer[b]), .answer_ready(banks_answer_ready[b]),
        .memory_read_valid(read_valid[b]), .memory_read_ready(read_ready[b]),
        .memory_answer_valid(answer_valid[b]), .memory_answer_ready(answer_ready[b])
    );
  end

  interleaver #(TABLES, BANKS, ADDRESS_BITS, MEMORY_BITS, WINDOW_BITS) memory (
      .clk, .rst, .bases,
      .read_valid(asks), .read_ready(asks_ready), .read_address(asks_address),
      .answer_valid(got), .answer_ready(got_ready), .answer_data(got_data),
      .write_valid(puts), .write_ready(puts_ready), .write_address(puts_address), .write_data(puts_data),
      .bank_read_valid(banks_ask), .bank_read_ready(banks_ask_ready), .bank_read_address(read_address),
      .bank_answer_valid(banks_answer), .bank_answer_ready(banks_answer_ready), .bank_answer_data(answer_data),
      .bank_write_valid(write_valid), .bank_write_ready(write_ready), .bank_write_address(write_address),
      .bank_write_data(write_data)
  );

  logic overflow_waits;  // what is offered stays, whatever comes of other tables
  logic [2:0] overflow_before;
  always_ff @(posedge clk) begin
    overflow_waits  <= !rst && overflow_valid && !overflow_ready;
    overflow_before <= overflow_table;
  end
  assign overflow_valid = |overflows;
  always_comb begin
    overflow_takes = '0;
    overflow_table = '0;
    overflow_key   = '0;
    overflow_value = '0;
    for (int t = TABLES - 1; t >= 0; t--)
      if (overflows[t] && (!overflow_waits || overflow_before == 3'(t))) begin
        overflow_takes = TABLES'(overflow_ready) << t;
        overflow_table = 3'(t);
        overflow_key   = overflow_keys[t*KEY_BITS+:KEY_BITS];
        overflow_value = overflow_values[t*VALUE_BITS+:VALUE_BITS];
      end
  end
`ifndef SYNTHESIS
  always_ff @(posedge clk)
    if (!rst && overflow_waits) assert (overflow_valid && overflow_table == overflow_before);
`endif

  // ---- joined rows ----

  logic made, made_ready;
  logic [8*ROW_BYTES-1:0] made_row;
  logic [TABLES-1:0] made_found;
  logic [TABLES*VALUE_BITS-1:0] made_values;
  combiner #(TABLES, KEY_BITS, VALUE_BITS, 8 * ROW_BYTES) combine (
      .clk, .rst, .kinds, .row_valid(queue_valid), .row_ready(queue_pop), .row(queued),
      .answer_valid(table_answers), .answer_ready(answer_taken), .hits, .values, .overflown(table_overflown),
      .joined_valid(made), .joined_ready(made_ready), .joined_row(made_row), .joined_found(made_found),
      .joined_values(made_values), .rest_valid, .rest_ready
  );
  assign rest_row = queued;
  assign rest_matches = hits;
  assign rest_values = values;
  assign rest_overflown = table_overflown & used;

  // Three registers: what was joined, its NULL bits moved together, then its bytes.
  logic whole_valid, nulled_valid, leaving_valid, whole_ready, nulled_ready, leaving_ready;
  logic [JOINED_NULLS-1:0] whole_nulls, nulls_now;
  logic [JOINED_BYTES*8-NULL_BITS-1:0] whole, whole_now, nulled;
  logic [NULL_BITS-1:0] new_nulls, nulled_nulls;
  logic [8*ROW_BYTES-1:0] new_row, leaving;

  always_comb begin
    nulls_now = '1;
    nulls_now[NULL_BITS-1:0] = probe_nulls != 0 ? made_row[NULL_BITS-1:0] : '0;
    whole_now = '0;
    whole_now[8*ROW_BYTES-1:0] = made_row;
    for (int t = 0; t < TABLES; t++)
      if (made_found[t]) begin
        for (int i = 0; i < TABLE_NULLS; i++)
          nulls_now[NULL_BITS+t*TABLE_NULLS+i] = build_nulls[4*t+:4] != 0 && i < VALUE_BITS
              && made_values[t*VALUE_BITS+(i<VALUE_BITS?i : 0)];
        whole_now[8*ROW_BYTES+t*(KEY_BITS+VALUE_BITS)+:KEY_BITS+VALUE_BITS] = {
          made_values[t*VALUE_BITS+:VALUE_BITS], KEY_BITS'(made_row >> {32'(probe_nulls) + 32'(KEY_BYTES * t), 3'b0})
        };
      end
  end
  gather #(JOINED_NULLS, 1, NULL_BITS) of_nulls (.in(whole_nulls), .places(null_places), .out(new_nulls));
  gather #(JOINED_BYTES, 8, ROW_BYTES) of_bytes (.in({nulled, nulled_nulls}), .places(byte_places), .out(new_row));
  assign made_ready = !whole_valid || whole_ready;
  assign whole_ready = !nulled_valid || nulled_ready;
  assign nulled_ready = !leaving_valid || leaving_ready;
  always_ff @(posedge clk) begin
    if (made_ready) begin
      whole_nulls <= nulls_now;
      whole <= whole_now;
    end
    if (whole_ready) begin
      nulled_nulls <= new_nulls & null_mask;
      nulled <= whole;
    end
    if (nulled_ready) leaving <= new_row;
    if (rst) {whole_valid, nulled_valid, leaving_valid} <= '0;
    else begin
      if (made_ready) whole_valid <= made;
      if (whole_ready) nulled_valid <= whole_valid;
      if (nulled_ready) leaving_valid <= nulled_valid;
    end
  end

  logic deparser_ready, deparser_idle, sends, on_its_way;
  assign on_its_way = row_valid || queue_valid || whole_valid || nulled_valid || leaving_valid;
  assign leaving_ready = aggregates || deparser_ready;
  frame_deparser #(ROW_BYTES) deparser (
      .clk, .rst, .headers, .stride(out_stride), .flush(flush && parser_idle && !on_its_way),
      .row_valid(leaving_valid && !aggregates), .row_ready(deparser_ready), .row(leaving),
      .out_valid, .out_ready, .out_data, .out_bytes, .out_last, .idle(deparser_idle), .sent(sends)
  );
  assign idle = parser_idle && !on_its_way && &table_idle && deparser_idle;

  // ---- aggregation, statistics ----

  logic adds;
  logic signed [63:0] column;
  assign adds = aggregates && leaving_valid && !(null_mask[0] && leaving[0]);
  always_comb  // behind a byte of NULL bits, if there is one
    for (int i = 0; i < 8; i++) column[8*(7-i)+:8] = null_mask[0] ? leaving[8*(i+1)+:8] : leaving[8*i+:8];

  always_comb begin
    built = '0;
    overflowed = '0;
    forwards = '0;
    for (int t = 0; t < TABLES; t++) begin
      built += table_built[t];
      overflowed += table_overflowed[t];
      forwards += table_forwards[t];
    end
  end
  always_ff @(posedge clk) begin
    if (rst) begin
      {probed, joined, rested, dropped, sent, stalled, added} <= '0;
      sum <= '0;
    end else begin
      probed  <= probed + 64'(enters && probes);
      joined  <= joined + 64'(made && made_ready);
      rested  <= rested + 64'(rest_valid && rest_ready);
      dropped <= dropped + 64'(drops);
      sent    <= sent + 64'(sends);
      stalled <= stalled + 64'(row_valid && !row_ready);
      added   <= added + 64'(adds);
      if (adds) sum <= sum + 128'(column);
    end
  end
endmodule
