// Upper and lower case. The oracle is jumpgate/dataflow/reference.py; code points are mapped as unicode_case.h has
// them.
#include <algorithm>
#include <iterator>

#include "functions/scalars.h"
#include "functions/unicode_case.h"
#include "jg/lower_case.h"

using namespace jg;

namespace {

constexpr uint32_t kCapitalSigma = 0x3A3, kFinalSigma = 0x3C2, kSigma = 0x3C3;
constexpr int kGrowth = 3;  // a code point of two bytes becomes three of two bytes at most

const CaseRun* run_of(const CaseRun* begin, const CaseRun* end, uint32_t code) {
  const CaseRun* run = std::upper_bound(begin, end, code, [](uint32_t c, const CaseRun& r) { return c < r.first; });
  if (run == begin) return nullptr;
  --run;
  return code <= run->last && (code - run->first) % run->stride == 0 ? run : nullptr;
}

const CaseExpansion* expansion_of(const CaseExpansion* begin, const CaseExpansion* end, uint32_t code) {
  const CaseExpansion* found =
      std::lower_bound(begin, end, code, [](const CaseExpansion& e, uint32_t c) { return e.code < c; });
  return found != end && found->code == code ? found : nullptr;
}

template <size_t N>
bool within(const uint32_t (&ranges)[N][2], uint32_t code) {
  const auto* range = std::upper_bound(std::begin(ranges), std::end(ranges), code,
                                       [](uint32_t c, const uint32_t (&r)[2]) { return c < r[0]; });
  return range != std::begin(ranges) && code <= range[-1][1];
}

// Return whether the sigma of two bytes at `at` ends a word (Unicode's Final_Sigma): a cased letter precedes it and
// none follows, not counting ignorable ones in between.
bool ends_word(const char* begin, const char* at, const char* end) {
  bool before = false;
  for (const char* c = at; c > begin && !before;) {
    do c--;
    while (c > begin && (*c & 0xC0) == 0x80);
    const uint32_t code = code_point(c, width(c, end));
    if (within(kIgnored, code)) continue;
    if (!within(kCased, code)) return false;
    before = true;
  }
  for (const char* c = at + 2; c < end; c += width(c, end)) {
    const uint32_t code = code_point(c, width(c, end));
    if (!within(kIgnored, code)) return before && !within(kCased, code);
  }
  return before;
}

template <size_t R, size_t E>
char* map_unicode(char* at, const char* begin, const char* end, char low, const CaseRun (&runs)[R],
                  const CaseExpansion (&expansions)[E]) {
  for (const char* c = begin; c < end;) {
    const int n = width(c, end);
    const uint32_t code = code_point(c, n);
    c += n;
    if (code == kCapitalSigma && low == 'A') {
      at += put_code_point(at, ends_word(begin, c - n, end) ? kFinalSigma : kSigma);
    } else if (code < 0x80) {
      *at++ = static_cast<char>(code >= static_cast<unsigned char>(low) && code <= low + 25u ? code ^ 0x20 : code);
    } else if (const CaseExpansion* e = expansion_of(std::begin(expansions), std::end(expansions), code)) {
      for (uint32_t to : {e->first, e->second, e->third})
        if (to) at += put_code_point(at, to);
    } else {
      const CaseRun* run = run_of(std::begin(runs), std::end(runs), code);
      at += put_code_point(at, run ? code + run->delta : code);
    }
  }
  return at;
}

template <size_t R, size_t E>
JgStr mapped(JgTask* task, JgStr s, char low, const CaseRun (&runs)[R], const CaseExpansion (&expansions)[E]) {
  const char *c = s.data, *end = c + s.size;
  char bits = 0;
  for (const char* x = c; x < end; x++) bits = static_cast<char>(bits | *x);
  const bool ascii = !(bits & 0x80);
  char *p = jg_temp(task, ascii ? s.size : s.size * kGrowth), *at = p;
  if (ascii) {
    for (; c < end; c++) *at++ = *c >= low && *c <= low + 25 ? static_cast<char>(*c ^ 0x20) : *c;
  } else {
    at = map_unicode(at, c, end, low, runs, expansions);
  }
  return {p, static_cast<uint64_t>(at - p)};
}

}  // namespace

std::string jg::lower_case(std::string_view text) {
  std::string lower(text.size() * kGrowth, 0);
  const char* end =
      map_unicode(lower.data(), text.data(), text.data() + text.size(), 'A', kLowerRuns, kLowerExpansions);
  lower.resize(static_cast<size_t>(end - lower.data()));
  return lower;
}

extern "C" {

JgStr jg_upper(JgTask* task, JgStr s) { return mapped(task, s, 'a', kUpperRuns, kUpperExpansions); }
JgStr jg_lower(JgTask* task, JgStr s) { return mapped(task, s, 'A', kLowerRuns, kLowerExpansions); }

}  // extern "C"
