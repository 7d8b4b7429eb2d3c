// Of any kinds of joins, answers and back-pressure: a row leaves once for each combination of partners, or as the join's
// kind says without, or once to the host if a bucket has overflown. A value is the number of its slot.
module combiner_proof (
    input logic clk,
    input logic rst,
    input logic [7:0] watched,  // a combination, for the whole proof
    input logic [5:0] kinds,
    input logic row_valid,
    input logic [1:0] answer_valid,
    input logic [5:0] hits,
    input logic [1:0] overflown,
    input logic joined_ready,
    input logic rest_ready
);
  localparam int SLOTS = 3;
  logic row_ready, joined_valid, rest_valid;
  logic [1:0] answer_ready, joined_found;
  logic [7:0] joined_values;
  combiner #(2, 4, 4, 1) unit (
      .clk, .rst, .kinds, .row_valid, .row_ready, .row(1'b0), .answer_valid, .answer_ready, .hits,
      .values({2{4'd2, 4'd1, 4'd0}}), .overflown, .joined_valid, .joined_ready, .joined_row(), .joined_found,
      .joined_values, .rest_valid, .rest_ready
  );

  // ---- what should leave of the row at hand ----

  logic [1:0] used, found, pairs, fails;
  logic [3:0] expected, times[2];
  always_comb begin
    for (int t = 0; t < 2; t++) begin
      used[t]  = kinds[3*t+:3] != bucket_pkg::UNUSED;
      found[t] = |hits[SLOTS*t+:SLOTS];
      pairs[t] = kinds[3*t+:3] == bucket_pkg::INNER || kinds[3*t+:3] == bucket_pkg::LEFT;
      fails[t] = ((kinds[3*t+:3] == bucket_pkg::INNER || kinds[3*t+:3] == bucket_pkg::SEMI) && !found[t])
          || (kinds[3*t+:3] == bucket_pkg::ANTI && found[t]);
      times[t] = pairs[t] && found[t] ? 4'(hits[SLOTS*t]) + 4'(hits[SLOTS*t+1]) + 4'(hits[SLOTS*t+2]) : 4'd1;
    end
    expected = |fails ? 4'd0 : times[0] * times[1];
  end

  logic [3:0] left, seen;
  logic is_watched, possible, begun, held;
  logic [5:0] last_hits;
  logic [1:0] last_overflown, last_answers;
  assign is_watched = joined_values == watched && joined_found == (pairs & found);
  always_comb begin
    possible = expected != 0;
    for (int t = 0; t < 2; t++) begin
      if (pairs[t] && found[t])
        possible &= watched[4*t+:4] < 4'(SLOTS) && hits[SLOTS*t+:SLOTS] >> watched[4*t+:4] & 1'b1;
      else possible &= watched[4*t+:4] == 0;
    end
  end

  logic [7:0] chosen;  // stays
  initial begun = 1'b0;
  always @(posedge clk) begin
    begun <= 1'b1;
    if (!begun) assume (rst);
    else assume (!rst && watched == chosen);
    chosen <= watched;
    for (int t = 0; t < 2; t++) assume (kinds[3*t+:3] <= bucket_pkg::ANTI);
    assume (kinds == $past(kinds) || !begun);
    // who offers a row or an answer keeps it there until it is taken
    if (begun && held) begin
      assume (row_valid && hits == last_hits && overflown == last_overflown);
      assume ((answer_valid & last_answers) == last_answers);
    end
    held <= !rst && row_valid && !row_ready;
    {last_hits, last_overflown, last_answers} <= {hits, overflown, answer_valid};
    if (rst || row_ready) {left, seen} <= '0;
    else if (joined_valid && joined_ready) begin
      left <= left + 1'b1;
      seen <= seen + 4'(is_watched);
    end
    if (begun && !rst) begin
      assert (answer_ready == (row_ready ? used : 2'b0));
      if (rest_valid || joined_valid) assert (rest_valid == |(overflown & used));
      if (row_ready) begin
        assert (row_valid && (answer_valid & used) == used);
        if (rest_valid) assert (left == 0);
        else begin
          assert (left + 4'(joined_valid && joined_ready) == expected);
          assert (seen + 4'(joined_valid && joined_ready && is_watched) == 4'(possible));
        end
      end
    end
  end
endmodule
