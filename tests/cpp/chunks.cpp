// The cache of chunks by commands on standard input, one answer a line. A byte of an object is a function of its name
// and its place.
//
//   keep OBJECT BEGIN END REQUEST_S   keeps a range that saves so many seconds
//   fill OBJECT BEGIN END             "BEGIN-END right|wrong": the gap, and whether all outside of it is right
#include "objects/chunks.h"

#include <iostream>
#include <vector>

using jg::objects::Chunks;
using jg::objects::Range;
using jg::objects::Saved;

namespace {

std::vector<char> content(const std::string& object, Range range) {
  std::vector<char> bytes;
  for (int64_t at = range.begin; at < range.end; at++)
    bytes.push_back(static_cast<char>(object[static_cast<size_t>(at) % object.size()] + at / 7));
  return bytes;
}

bool is_right(const std::vector<char>& found, const std::vector<char>& wanted, Range gap, int64_t begin) {
  for (size_t i = 0; i < wanted.size(); i++) {
    const int64_t at = begin + static_cast<int64_t>(i);
    if ((at < gap.begin || at >= gap.end) && found[i] != wanted[i]) return false;
  }
  return true;
}

}  // namespace

int main(int, char** arguments) {
  Chunks chunks(arguments[1], std::stoll(arguments[2]));
  std::string verb, object;
  Range range;
  while (std::cin >> verb >> object >> range.begin >> range.end) {
    const std::vector<char> right = content(object, range);
    if (verb == "keep") {
      Saved saved;
      std::cin >> saved.request_s;
      chunks.keep(object, range, saved, right.data());
      std::cout << "kept" << std::endl;
      continue;
    }
    std::vector<char> out(right.size());
    const Range gap = chunks.fill(object, range, {1, 0}, out.data());
    const bool is_all_right = is_right(out, right, gap, range.begin);
    std::cout << gap.begin << "-" << gap.end << (is_all_right ? " right" : " wrong") << std::endl;
  }
}
