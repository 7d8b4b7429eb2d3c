// The newest of the equal places of a ring: those below `next` were taken last, the highest first, then those from
// `next` on, the highest first.
module newest_match
#(
    parameter int PLACE_BITS = 6
) (
    input  logic [(1<<PLACE_BITS)-1:0] equal,
    input  logic [     PLACE_BITS-1:0] next,  // place to be taken
    output logic                       found,
    output logic [     PLACE_BITS-1:0] place
);
  localparam int PLACES = 1 << PLACE_BITS;

  // The number of the highest bit that is set, in a tree.
  function automatic [PLACE_BITS-1:0] highest(input [PLACES-1:0] bits);
    logic [PLACES-1:0] left, upper;
    left = bits;
    for (int level = PLACE_BITS - 1; level >= 0; level--) begin
      upper = left >> (1 << level);
      highest[level] = |upper;
      left = |upper ? upper : left;
    end
  endfunction

  logic [PLACES-1:0] below;
  always_comb
    for (int at = 0; at < PLACES; at++) below[at] = equal[at] && PLACE_BITS'(at) < next;
  assign found = |equal;
  assign place = |below ? highest(below) : highest(equal);
endmodule
