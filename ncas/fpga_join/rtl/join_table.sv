// One table: its build unit, its probe unit, and the memory port that they share, since a table is complete before
// anything looks into it.
module join_table
#(
    parameter int KEY_BITS = 64,
    parameter int VALUE_BITS = 64,
    parameter int ADDRESS_BITS = 26,
    parameter int WINDOW_BITS = 6,
    localparam int SLOTS = bucket_pkg::slots_of(KEY_BITS, VALUE_BITS)
) (
    input logic clk,
    input logic rst,
    input logic probing,
    input logic [ADDRESS_BITS-1:0] mask,

    input  logic                  in_valid,
    output logic                  in_ready,
    input  logic [  KEY_BITS-1:0] in_key,
    input  logic                  in_null,
    input  logic [VALUE_BITS-1:0] in_value,

    output logic                  overflow_valid,
    input  logic                  overflow_ready,
    output logic [  KEY_BITS-1:0] overflow_key,
    output logic [VALUE_BITS-1:0] overflow_value,

    output logic                        out_valid,
    input  logic                        out_ready,
    output logic [           SLOTS-1:0] out_matches,
    output logic [SLOTS*VALUE_BITS-1:0] out_values,
    output logic                        out_overflown,

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

    output logic        idle,
    output logic [63:0] built,
    output logic [63:0] overflowed,
    output logic [63:0] forwards
);
  logic build_ready, build_read, build_answer, build_idle, forwarded;
  logic probe_ready, probe_read, probe_answer, probe_idle;
  logic [ADDRESS_BITS-1:0] build_address, probe_address;

  build_unit #(KEY_BITS, VALUE_BITS, ADDRESS_BITS, WINDOW_BITS) build (
      .clk, .rst, .mask,
      .in_valid(in_valid && !probing), .in_ready(build_ready), .in_key, .in_value,
      .overflow_valid, .overflow_ready, .overflow_key, .overflow_value,
      .read_valid(build_read), .read_ready(read_ready && !probing), .read_address(build_address),
      .answer_valid(answer_valid && !probing), .answer_ready(build_answer), .answer_data,
      .write_valid, .write_ready, .write_address, .write_data,
      .idle(build_idle), .forwarded
  );
  probe_unit #(KEY_BITS, VALUE_BITS, ADDRESS_BITS, WINDOW_BITS) probe (
      .clk, .rst, .mask,
      .in_valid(in_valid && probing), .in_ready(probe_ready), .in_key, .in_null,
      .out_valid, .out_ready, .out_matches, .out_values, .out_overflown,
      .read_valid(probe_read), .read_ready(read_ready && probing), .read_address(probe_address),
      .answer_valid(answer_valid && probing), .answer_ready(probe_answer), .answer_data,
      .idle(probe_idle)
  );

  assign in_ready = probing ? probe_ready : build_ready;
  assign read_valid = probing ? probe_read : build_read;
  assign read_address = probing ? probe_address : build_address;
  assign answer_ready = probing ? probe_answer : build_answer;
  assign idle = build_idle && probe_idle;

  always_ff @(posedge clk) begin
    if (rst) begin
      built      <= '0;
      overflowed <= '0;
      forwards   <= '0;
    end else begin
      if (in_valid && in_ready && !probing) built <= built + 1;
      if (overflow_valid && overflow_ready) overflowed <= overflowed + 1;
      if (forwarded) forwards <= forwards + 1;
    end
  end
endmodule
