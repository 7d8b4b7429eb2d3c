// Text in lower case, for names that engines compare without regard to case.
#pragma once
#include <string>
#include <string_view>

namespace jg {

// As `lower` of a dataflow has it.
std::string lower_case(std::string_view text);

}  // namespace jg
