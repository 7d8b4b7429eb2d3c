// Runs the automata of regular expressions, which jumpgate/dataflow/regex/automaton.py makes and documents.
#include <cstring>

#include "functions/scalars.h"
#include "jg/kernel.h"

namespace jg::regex {
namespace {

struct Header {
  uint32_t text_begins, later, searching, waits_for, width, states;
};

// A view of encoded bytes. State 0 is dead; of an automaton that says only whether, the next one is a match.
class Automaton {
 public:
  explicit Automaton(const char* bytes)
      : classes_(reinterpret_cast<const uint8_t*>(bytes)),
        rows_(reinterpret_cast<const Word*>(bytes + 256 + sizeof(Header))) {
    std::memcpy(&header_, bytes + 256, sizeof(Header));
  }
  const Header& header() const { return header_; }
  uint32_t next(uint32_t state, char byte) const { return rows_[state + 1 + classes_[static_cast<uint8_t>(byte)]]; }
  bool ends(uint32_t state) const { return rows_[state] & 1; }
  bool ends_with_text(uint32_t state) const { return rows_[state] & 2; }

 private:
  using Word = uint32_t __attribute__((aligned(1)));
  const uint8_t* classes_;
  const Word* rows_;
  Header header_;
};

bool matches(const Automaton& a, JgStr s) {
  const Header& h = a.header();
  uint32_t state = h.text_begins;
  if (state <= h.width) return state != 0;
  for (const char *p = s.data, *end = p + s.size; p < end; ++p) {
    if (state == h.searching && h.waits_for < 256) {
      p = static_cast<const char*>(std::memchr(p, static_cast<int>(h.waits_for), static_cast<size_t>(end - p)));
      if (p == nullptr) return a.ends_with_text(state);
    }
    state = a.next(state, *p);
    if (state <= h.width) return state != 0;
  }
  return a.ends_with_text(state);
}

struct Match {
  uint64_t begin, end;
};

class Finder {
 public:
  explicit Finder(JgStr pattern) : forwards_(pattern.data + 8), backwards_(pattern.data + 8 + size(pattern)) {}

  // The leftmost match in s that begins at `from` or later.
  bool find(JgStr s, uint64_t from, Match* out) const {
    if (!find_end(s, from, &out->end)) return false;
    const Header& h = backwards_.header();
    uint32_t state = out->end == s.size ? h.text_begins : h.later;
    uint64_t at = out->begin = out->end;
    for (; at > from && state; --at) {
      if (backwards_.ends(state)) out->begin = at;
      state = backwards_.next(state, s.data[at - 1]);
    }
    if (backwards_.ends(state) || (at == 0 && backwards_.ends_with_text(state))) out->begin = at;
    return true;
  }

 private:
  static uint64_t size(JgStr pattern) {
    uint64_t found;
    std::memcpy(&found, pattern.data, sizeof found);
    return found;
  }

  bool find_end(JgStr s, uint64_t from, uint64_t* out) const {
    const Header& h = forwards_.header();
    uint32_t state = from == 0 ? h.text_begins : h.later;
    bool found = forwards_.ends(state);
    *out = from;
    for (uint64_t at = from; at < s.size;) {
      if (state == h.searching && h.waits_for < 256) {
        const void* p = std::memchr(s.data + at, static_cast<int>(h.waits_for), s.size - at);
        if (p == nullptr) break;
        at = static_cast<uint64_t>(static_cast<const char*>(p) - s.data);
      }
      state = forwards_.next(state, s.data[at++]);
      if (state == 0) return found;
      if (forwards_.ends(state)) *out = at, found = true;
    }
    if (forwards_.ends_with_text(state)) *out = s.size, found = true;
    return found;
  }

  Automaton forwards_, backwards_;
};

// Calls each(match) for the matches of s that do not overlap; an empty one does not follow another at once.
template <typename Each>
void each_match(const Finder& finder, JgStr s, Each each) {
  Match m;
  for (uint64_t from = 0, last = UINT64_MAX; from <= s.size && finder.find(s, from, &m);) {
    if (m.begin == m.end && m.end == last) {
      from = m.end + 1;
      while (from < s.size && (s.data[from] & 0xC0) == 0x80) ++from;
      last = UINT64_MAX;
      continue;
    }
    each(m);
    from = last = m.end;
  }
}

int replaced(JgTask* task, JgStr s, JgStr by, uint64_t count, uint64_t dropped, char** out, uint64_t* size) {
  const unsigned __int128 wanted = s.size - dropped + static_cast<unsigned __int128>(count) * by.size;
  if (wanted > kTextBytesMax) return JG_COMPUTE;
  *size = static_cast<uint64_t>(wanted);
  *out = jg_temp(task, *size);
  return JG_OK;
}

char* copied(char* at, const char* from, uint64_t n) {
  if (n) std::memcpy(at, from, n);
  return at + n;
}

}  // namespace
}  // namespace jg::regex

using namespace jg;

int jg_regexp_like(JgStr s, JgStr pattern) { return regex::matches(regex::Automaton(pattern.data), s); }

int64_t jg_regexp_count(JgStr s, JgStr pattern) {
  int64_t found = 0;
  regex::each_match(regex::Finder(pattern), s, [&](regex::Match) { ++found; });
  return found;
}

int64_t jg_regexp_position(JgStr s, JgStr pattern) {
  regex::Match m;
  return regex::Finder(pattern).find(s, 0, &m) ? jg_char_length({s.data, m.begin}) + 1 : 0;
}

JgStr jg_regexp_extract(JgStr s, JgStr pattern) {
  regex::Match m;
  if (!regex::Finder(pattern).find(s, 0, &m)) return {s.data, 0};
  return {s.data + m.begin, m.end - m.begin};
}

int jg_regexp_replace(JgTask* task, JgStr s, JgStr pattern, JgStr by, JgStr* out) {
  regex::Match m;
  *out = s;
  if (!regex::Finder(pattern).find(s, 0, &m)) return JG_OK;
  char* p;
  uint64_t size;
  if (int failure = regex::replaced(task, s, by, 1, m.end - m.begin, &p, &size)) return failure;
  regex::copied(regex::copied(regex::copied(p, s.data, m.begin), by.data, by.size), s.data + m.end, s.size - m.end);
  *out = {p, size};
  return JG_OK;
}

int jg_regexp_replace_all(JgTask* task, JgStr s, JgStr pattern, JgStr by, JgStr* out) {
  const regex::Finder finder(pattern);
  uint64_t count = 0, dropped = 0;
  regex::each_match(finder, s, [&](regex::Match m) { ++count, dropped += m.end - m.begin; });
  *out = s;
  if (count == 0) return JG_OK;
  char* p;
  uint64_t size, from = 0;
  if (int failure = regex::replaced(task, s, by, count, dropped, &p, &size)) return failure;
  char* at = p;
  regex::each_match(finder, s, [&](regex::Match m) {
    at = regex::copied(regex::copied(at, s.data + from, m.begin - from), by.data, by.size);
    from = m.end;
  });
  regex::copied(at, s.data + from, s.size - from);
  *out = {p, size};
  return JG_OK;
}
