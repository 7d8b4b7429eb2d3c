// Buckets of one memory word: byte 0 holds the number of entries (bits 2 to 0) and whether one had no room (bit 7),
// behind it are entries of a key and a value: the row without its key. The same as card/bucket.h, bit for bit.
package bucket_pkg;
`ifdef FORMAL
  localparam int BUCKET_BITS = 32;  // three entries of four and four bits: proofs are of the logic, not of the width
`else
  localparam int BUCKET_BITS = 512;
`endif
  localparam int FLAG_BITS = 8;
  localparam int OVERFLOWN = 7;

  // What a table is to a chain of joins.
  localparam logic [2:0] UNUSED = 0, INNER = 1, LEFT = 2, SEMI = 3, ANTI = 4;

  // Entries that fit behind the flags; the count has three bits.
  function automatic [31:0] slots_of(input [31:0] key_bits, input [31:0] value_bits);
    logic [31:0] slots;
    slots = (BUCKET_BITS - FLAG_BITS) / (key_bits + value_bits);
    slots_of = slots < 7 ? slots : 7;
  endfunction

  // Bytes of the NULL bits of the most columns that a key and a value are: with columns of a byte.
  function automatic [31:0] nulls_of(input [31:0] value_bytes);
    nulls_of = (value_bytes + 8) / 8;
  endfunction

  // CRC-32C: each of its bits is an exclusive or of some of the key's.
  function automatic [31:0] hash_of(input [63:0] key);
    logic [31:0] crc;
    logic feedback;
    integer i;
    crc = 0;
    for (i = 0; i < 64; i = i + 1) begin
      feedback = crc[0] ^ key[i];
      crc = {1'b0, crc[31:1]} ^ (feedback ? 32'h82F63B78 : 32'h0);
    end
    hash_of = crc;
  endfunction
endpackage
