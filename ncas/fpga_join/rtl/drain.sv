// Between a memory port and the units that ask there: answers to reads from before a reset are taken and not handed on,
// and no read is asked for until all of them have come. The memory goes on through `rst`; `memory_rst` is its own reset,
// at which it forgets the reads on their way, and `rst` is high then, too.
module drain
#(
    parameter int OWED_BITS = 8  // log2 of the most reads on their way, and one more
) (
    input logic clk,
    input logic rst,
    input logic memory_rst,

    input  logic read_valid,
    output logic read_ready,
    output logic answer_valid,
    input  logic answer_ready,

    output logic memory_read_valid,
    input  logic memory_read_ready,
    input  logic memory_answer_valid,
    output logic memory_answer_ready
);
  logic [OWED_BITS-1:0] owed;  // answers that are to come; `rst` leaves it
  logic stale, asked, answered, open;

  assign open = !rst && !stale && !(&owed);
  assign memory_read_valid = read_valid && open;
  assign read_ready = memory_read_ready && open;
  assign answer_valid = memory_answer_valid && !rst && !stale;
  assign memory_answer_ready = !rst && (stale || answer_ready);
  assign asked = memory_read_valid && memory_read_ready;
  assign answered = memory_answer_valid && memory_answer_ready;

  always_ff @(posedge clk) begin
    if (memory_rst) begin
      owed  <= '0;
      stale <= 1'b0;
    end else begin
      owed  <= owed + OWED_BITS'(asked) - OWED_BITS'(answered);
      stale <= (rst || stale) && owed != OWED_BITS'(answered);
    end
  end
endmodule
