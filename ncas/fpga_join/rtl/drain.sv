// Between a memory port and what asks there: answers to reads from before a reset are taken and not handed on, and no
// read is asked for until all have come. The memory itself may go on through a reset, or be reset with the card if it
// forgets the reads on their way then: `forgets` says so.
module drain
#(
    parameter int OWED_BITS = 8  // log2 of the reads on their way, and one more
) (
    input logic clk,
    input logic rst,
    input logic forgets,

    input  logic read_valid,
    output logic read_ready,
    output logic answer_valid,
    input  logic answer_ready,

    output logic memory_read_valid,
    input  logic memory_read_ready,
    input  logic memory_answer_valid,
    output logic memory_answer_ready
);
  logic [OWED_BITS-1:0] owed;  // answers that are to come; a reset leaves it
  logic stale, asked, answered, open;
  initial {owed, stale} = '0;

  assign open = !rst && !stale && !(&owed);
  assign memory_read_valid = read_valid && open;
  assign read_ready = memory_read_ready && open;
  assign answer_valid = memory_answer_valid && !rst && !stale;
  assign memory_answer_ready = answer_ready || rst || stale;
  assign asked = memory_read_valid && memory_read_ready;
  assign answered = memory_answer_valid && memory_answer_ready;

  always_ff @(posedge clk) begin
    if (rst && forgets) owed <= '0;
    else owed <= owed + OWED_BITS'(asked) - OWED_BITS'(answered);
    stale <= (rst || stale) && !(rst && forgets) && owed != OWED_BITS'(answered);
  end
endmodule
