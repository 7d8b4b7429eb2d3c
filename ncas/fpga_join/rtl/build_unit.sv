// Puts tuples into their buckets: one a cycle, whatever their keys are. After a reset no answer may come to a read from
// before it (`drain`).
//
// A bucket is read, changed and written, and the memory answers some cycles later. Tuples on their way are in a window.
// When one enters, its address is compared with all those before it in the window (look-ahead): if one is equal, it will
// take what that one makes, instead of what the memory answers, which is then out of date. What tuples make is kept in
// a small memory of the window's size, which is read in the cycle after it was written, so that not even neighbours wait.
module build_unit
#(
    parameter int KEY_BITS = 64,
    parameter int VALUE_BITS = 64,
    parameter int ADDRESS_BITS = 26,
    parameter int WINDOW_BITS = 6,  // log2 of the tuples on their way: more than the memory's latency
    localparam int SLOTS = bucket_pkg::slots_of(KEY_BITS, VALUE_BITS)
) (
    input logic clk,
    input logic rst,
    input logic [ADDRESS_BITS-1:0] mask,  // of the addresses in use

    input  logic                  in_valid,
    output logic                  in_ready,
    input  logic [  KEY_BITS-1:0] in_key,
    input  logic [VALUE_BITS-1:0] in_value,

    // tuples whose bucket is full: the host's
    output logic                  overflow_valid,
    input  logic                  overflow_ready,
    output logic [  KEY_BITS-1:0] overflow_key,
    output logic [VALUE_BITS-1:0] overflow_value,

    output logic                    read_valid,
    input  logic                    read_ready,
    output logic [ADDRESS_BITS-1:0] read_address,
    input  logic                    answer_valid,
    output logic                    answer_ready,
    input  logic [ bucket_pkg::BUCKET_BITS-1:0] answer_data,
    output logic                    write_valid,
    input  logic                    write_ready,
    output logic [ADDRESS_BITS-1:0] write_address,
    output logic [ bucket_pkg::BUCKET_BITS-1:0] write_data,

    output logic idle,
    output logic forwarded  // in this cycle a tuple takes what one before it made
);
  localparam int WINDOW = 1 << WINDOW_BITS;

  // The window: [written, entered), of which those below `changed` have their new bucket.
  logic [WINDOW_BITS-1:0] entered, changed, written;
  logic [WINDOW_BITS:0] count;  // entered - written

  logic [ADDRESS_BITS-1:0] addresses[WINDOW];
  logic [WINDOW-1:0] waiting;  // entered and not written
  logic [KEY_BITS-1:0] keys[WINDOW];
  logic [VALUE_BITS-1:0] values[WINDOW];
  logic depends[WINDOW];
  logic [WINDOW_BITS-1:0] sources[WINDOW];
  logic [bucket_pkg::BUCKET_BITS-1:0] made[WINDOW];

  // ---- entering: the read is asked for, and the newest tuple before with the same bucket found ----

  logic [ADDRESS_BITS-1:0] address;
  logic enters, depends_now;
  logic [WINDOW_BITS-1:0] source_now;

  // one register before the window, so that hash and comparisons have a cycle each
  logic staged;
  logic [ADDRESS_BITS-1:0] staged_address;
  logic [KEY_BITS-1:0] staged_key;
  logic [VALUE_BITS-1:0] staged_value;

  assign address = ADDRESS_BITS'(bucket_pkg::hash_of(64'(in_key))) & mask;
  assign in_ready = !staged || enters;
  assign read_valid = staged && count != (WINDOW_BITS + 1)'(WINDOW);
  assign read_address = staged_address;
  assign enters = read_valid && read_ready;

  logic [WINDOW-1:0] equal;
  always_comb for (int at = 0; at < WINDOW; at++) equal[at] = waiting[at] && addresses[at] == staged_address;
  newest_match #(WINDOW_BITS) newest (.equal, .next(entered), .found(depends_now), .place(source_now));

  always_ff @(posedge clk) begin
    if (rst) begin
      staged  <= 1'b0;
      entered <= '0;
    end else begin
      if (in_ready) begin
        staged         <= in_valid;
        staged_address <= address;
        staged_key     <= in_key;
        staged_value   <= in_value;
      end
      if (enters) begin
        entered            <= entered + 1'b1;
        addresses[entered] <= staged_address;
        keys[entered]      <= staged_key;
        values[entered]    <= staged_value;
        depends[entered]   <= depends_now;
        sources[entered]   <= source_now;
      end
    end
  end

  // ---- changing: the memory's answer, or the bucket that the window has ----

  logic [bucket_pkg::BUCKET_BITS-1:0] base, next;
  logic full, changes;

  logic written_valid;
  logic [WINDOW_BITS-1:0] writing;

  assign base = depends[changed] ? made[sources[changed]] : answer_data;
  assign full = base[2:0] == 3'(SLOTS);
  always_comb begin
    next = base;
    for (int slot = 0; slot < SLOTS; slot++) begin
      if (base[2:0] == 3'(slot)) begin
        next[bucket_pkg::FLAG_BITS+slot*(KEY_BITS+VALUE_BITS)+:KEY_BITS+VALUE_BITS] = {values[changed], keys[changed]};
      end
    end
    if (full) next[bucket_pkg::OVERFLOWN] = 1'b1;
    else next[2:0] = base[2:0] + 1'b1;
  end

  // A tuple without room waits in a register of its own: what is offered stays offered, whatever the memory does.
  assign answer_ready = (!written_valid || write_ready) && (!full || !overflow_valid || overflow_ready);
  assign changes = answer_valid && answer_ready;
  assign forwarded = changes && depends[changed];

  // ---- writing ----

  assign write_valid = written_valid;
  assign write_address = addresses[writing];

  always_ff @(posedge clk) begin
    if (rst) begin
      changed        <= '0;
      written_valid  <= 1'b0;
      overflow_valid <= 1'b0;
    end else begin
      if (changes && full) begin
        overflow_key   <= keys[changed];
        overflow_value <= values[changed];
      end
      if (changes && full) overflow_valid <= 1'b1;
      else if (overflow_ready) overflow_valid <= 1'b0;
      if (changes) begin
        made[changed] <= next;
        write_data    <= next;
        writing       <= changed;
        changed       <= changed + 1'b1;
      end
      if (changes) written_valid <= 1'b1;
      else if (write_ready) written_valid <= 1'b0;
    end
  end

  logic leaves;
  assign leaves = write_valid && write_ready;
  always_ff @(posedge clk) begin
    if (rst) begin
      written <= '0;
      waiting <= '0;
      count   <= '0;
    end else begin
      if (leaves) begin
        waiting[written] <= 1'b0;
        written          <= written + 1'b1;
      end
      if (enters) waiting[entered] <= 1'b1;
      count <= count + (WINDOW_BITS + 1)'(enters) - (WINDOW_BITS + 1)'(leaves);
    end
  end

  assign idle = !staged && count == 0 && !overflow_valid;

`ifndef SYNTHESIS
  // A source is still in the window's memory when its bucket is taken: places are reused only after that many tuples.
  always_ff @(posedge clk)
    if (!rst) begin
      assert (!changes || count != 0);
      assert (!leaves || writing == written);
      assert (!(changes && depends[changed]) || sources[changed] != changed);
    end
`endif
endmodule
