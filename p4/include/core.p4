// P4-16's core library, as far as it is not built into the compiler (packet_in, packet_out, verify).
#ifndef _CORE_P4_
#define _CORE_P4_
error {
    NoError, PacketTooShort, NoMatch, StackOutOfBounds, HeaderTooShort, ParserTimeout, ParserInvalidArgument
}
match_kind { exact, ternary, lpm }
#endif
