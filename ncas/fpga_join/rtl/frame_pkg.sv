// Frames of Ethernet, IPv4 and UDP with rows (p4/PROTOCOL.md), as a stream of words: the first byte on the wire is the
// lowest of a word, and each number of the headers has its highest byte first.
package frame_pkg;
  localparam int BUS_BYTES = 64;
  localparam int ETHERNET = 14, IP = 20, UDP = 8, JUMPGATE = 16;
  localparam int HEADERS = ETHERNET + IP + UDP + JUMPGATE;
  localparam int PAYLOAD_MAX = 1384;  // of rows; a datagram has 1400 bytes

  // where fields begin
  localparam int ETHER_TYPE = 12, IP_LENGTH = 16, IP_PROTOCOL = 23, IP_CHECKSUM = 24;
  localparam int UDP_PORT = 36, UDP_LENGTH = 38, KIND = 42, PRESENT = 43, FLOW = 44, SEQUENCE = 46, SECRET = 50;
  localparam int DATA = 1;

  // The ones' complement sum of the words of an IPv4 header: all ones where its checksum is right.
  function automatic [15:0] ip_sum(input [8*HEADERS-1:0] headers);
    logic [19:0] sum;
    sum = 0;
    for (int i = ETHERNET; i < ETHERNET + IP; i += 2) sum += {4'b0, headers[8*i+:8], headers[8*i+8+:8]};
    sum = {4'b0, sum[15:0]} + {16'b0, sum[19:16]};
    sum = {4'b0, sum[15:0]} + {16'b0, sum[19:16]};
    ip_sum = sum[15:0];
  endfunction
endpackage
