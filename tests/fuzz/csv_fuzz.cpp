// The CSV reader, and its index beside one that is made byte by byte.
#include <cstring>

#include "csv/index.h"
#include "text_fuzz.h"

namespace {

using jg::csv::Dialect;
using jg::csv::Index;

// What index() should find: RFC 4180 as a state machine.
Index slow_index(const std::string& text, const Dialect& dialect) {
  enum { kStart, kPlain, kQuoted, kClosed, kReturned } state = kStart;
  Index out;
  out.ends = {-1};
  out.fault = static_cast<int64_t>(text.size());
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (state == kQuoted) {
      if (c == dialect.quote) state = kClosed;
      continue;
    }
    const bool end = c == dialect.line_end || (c == dialect.delimiter && state != kReturned);
    if (end) {
      if (c == dialect.line_end) out.records.push_back(static_cast<int32_t>(out.ends.size()));
      out.ends.push_back(static_cast<int32_t>(i));
      state = kStart;
    } else if (c == dialect.quote && (state == kStart || state == kClosed)) {
      state = kQuoted;
    } else if (c == '\r' && state == kClosed) {
      state = kReturned;
    } else if ((c == '\n' && dialect.line_end == '\r') || c == dialect.quote || state == kClosed ||
               state == kReturned) {
      out.fault = static_cast<int64_t>(i);
      break;
    } else {
      state = kPlain;
    }
  }
  return out;
}

void compare(const uint8_t* data, size_t size, char line_end) {
  Dialect dialect({});
  dialect.line_end = line_end;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Index expected = slow_index(text, dialect);
  std::string padded = text + std::string(jg::csv::kPadding, '"');
  Index found;
  jg::csv::index(padded.data(), static_cast<int64_t>(size), dialect, &found);
  if (found.fault != expected.fault) std::abort();
  size_t count = 0;
  while (count < static_cast<size_t>(found.count) && found.ends[count] < found.fault) count++;
  if (count != expected.ends.size() || !std::equal(expected.ends.begin(), expected.ends.end(), found.ends.begin()))
    std::abort();
  while (!found.records.empty() && found.ends[found.records.back()] > found.fault) found.records.pop_back();
  if (found.records != expected.records) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  for (const char line_end : {'\n', '\r'}) compare(data + 1, size - 1, line_end);
  jg::fuzz::read_text(data[0], data + 1, size - 1, jg::find_reader("csv"));
  return 0;
}
