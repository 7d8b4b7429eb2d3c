// Moves chosen items together, in their order: item i of the output is the i-th chosen one. In level l an item goes down
// by 2^l places or stays: place p takes what was 2^l above it if bit p of the level is set. What is behind the last
// chosen item means nothing.
module gather
#(
    parameter int ITEMS = 64,
    parameter int WIDTH = 8,
    parameter int KEPT = 64,  // of the output
    localparam int LEVELS = $clog2(ITEMS)
) (
    input  logic [ITEMS*WIDTH-1:0] in,
    input  logic [LEVELS*ITEMS-1:0] places,
    output logic [KEPT*WIDTH-1:0] out
);
  logic [ITEMS*WIDTH-1:0] level[LEVELS+1];

  assign level[0] = in;
  for (genvar l = 0; l < LEVELS; l++) begin : levels
    for (genvar i = 0; i < ITEMS; i++) begin : items
      if (i + (1 << l) < ITEMS) begin : low
        assign level[l+1][i*WIDTH+:WIDTH] =
            places[l*ITEMS+i] ? level[l][(i+(1<<l))*WIDTH+:WIDTH] : level[l][i*WIDTH+:WIDTH];
      end else begin : high
        assign level[l+1][i*WIDTH+:WIDTH] = level[l][i*WIDTH+:WIDTH];
      end
    end
  end
  assign out = level[LEVELS][KEPT*WIDTH-1:0];
endmodule
