// Of any requests, back-pressure and latencies: each table's reads are answered in their order, each by the place of its
// bucket; a write reaches that place once, and no two tables share one.
module interleaver_proof (
    input logic clk,
    input logic rst,
    input logic table_number,  // one of both,
    input logic [2:0] watched,  // and the number of one of its reads, for the whole proof
    input logic [1:0] read_valid,
    input logic [3:0] read_address,
    input logic [1:0] answer_ready,
    input logic [1:0] write_valid,
    input logic [3:0] write_address,
    input logic [1:0] bank_read_ready,
    input logic [1:0] bank_write_ready,
    input logic [1:0] answers
);
  localparam int LATE_BITS = 2, MEMORY_BITS = 3;
  logic [1:0] read_ready, answer_valid, write_ready, bank_read_valid, bank_write_valid, late, bank_answer_ready, queued;
  logic [2*32-1:0] answer_data, bank_answer_data, bank_write_data;
  logic [2*MEMORY_BITS-1:0] bank_read_address, bank_write_address;
  interleaver #(2, 2, 2, MEMORY_BITS, 1) unit (
      .clk, .rst, .bases({3'd2, 3'd0}), .read_valid, .read_ready, .read_address, .answer_valid, .answer_ready,
      .answer_data, .write_valid, .write_ready, .write_address, .write_data({32'd1, 32'd0}), .bank_read_valid,
      .bank_read_ready(bank_read_ready & queued), .bank_read_address, .bank_answer_valid(late & answers),
      .bank_answer_ready, .bank_answer_data, .bank_write_valid, .bank_write_ready, .bank_write_address,
      .bank_write_data
  );
  // A bank answers with its number and the place.
  for (genvar b = 0; b < 2; b++) begin : banks
    fifo #(32, LATE_BITS) memory (
        .clk, .rst, .in_valid(bank_read_valid[b] && bank_read_ready[b]), .in_ready(queued[b]),
        .in_data({28'(b), 1'b0, bank_read_address[MEMORY_BITS*b+:MEMORY_BITS]}), .out_valid(late[b]),
        .out_ready(answers[b] && bank_answer_ready[b]), .out_data(bank_answer_data[32*b+:32])
    );
  end

  // ---- the table and the read ----

  logic [2:0] asked, answered;
  logic [1:0] address, writing;
  logic bank, seen, begun;
  assign writing = write_address[2*table_number+:2];
  assign bank = writing[0] ^ table_number;

  logic [3:0] chosen;  // stays
  initial begun = 1'b0;
  always @(posedge clk) begin
    begun <= 1'b1;
    if (!begun) assume (rst);
    else assume (!rst && {table_number, watched} == chosen);
    chosen <= {table_number, watched};
    if (rst) {asked, answered, seen} <= '0;
    else begin
      assume (asked != 3'd7);
      if (read_valid[table_number] && read_ready[table_number]) begin
        asked <= asked + 1'b1;
        if (asked == watched) {seen, address} <= {1'b1, read_address[2*table_number+:2]};
      end
      if (answer_valid[table_number] && answer_ready[table_number]) answered <= answered + 1'b1;
    end
    if (begun && !rst) begin
      assert (answered <= asked);
      if (answer_valid[table_number]) assert (answered < asked);
      if (answer_valid[table_number] && answered == watched) begin
        assert (seen);
        assert (answer_data[32*table_number+:32]
            == {27'b0, address[0] ^ table_number, 1'b0, 3'(address[1]) + (table_number ? 3'd2 : 3'd0)});
      end
      if (write_valid[table_number] && write_ready[table_number]) begin
        assert (bank_write_valid[bank] && bank_write_ready[bank]);
        assert (bank_write_data[32*bank+:32] == 32'(table_number));
        assert (bank_write_address[MEMORY_BITS*bank+:MEMORY_BITS]
            == 3'(writing[1]) + (table_number ? 3'd2 : 3'd0));
      end
    end
  end
endmodule
