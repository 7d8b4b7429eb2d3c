// The canonical text of a descriptor (jumpgate/ntf/descriptor.py writes it).
#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "jg/ntf.h"

namespace jg::ntf {
namespace {

std::string_view take_line(std::string_view* text) {
  const size_t end = std::min(text->find('\n'), text->size());
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return line;
}

std::string_view take_word(std::string_view* line) {
  const size_t end = std::min(line->find(' '), line->size());
  const std::string_view word = line->substr(0, end);
  line->remove_prefix(std::min(end + 1, line->size()));
  return word;
}

std::optional<int> number(std::string_view word) {
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 0) return std::nullopt;
  if (word.size() > 1 && word[0] == '0') return std::nullopt;
  return value;
}

int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

std::string unquote(std::string_view word) {
  std::string name;
  for (size_t i = 0; i < word.size(); i++) {
    if (word[i] == '%' && i + 2 < word.size() && hex(word[i + 1]) >= 0 && hex(word[i + 2]) >= 0) {
      name += static_cast<char>(hex(word[i + 1]) * 16 + hex(word[i + 2]));
      i += 2;
    } else {
      name += word[i];
    }
  }
  return name;
}

std::string quoted(std::string_view name) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string word;
  for (char c : name) {
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c && std::strchr("_.-~", c))) {
      word += c;
    } else {
      word += {'%', kDigits[static_cast<unsigned char>(c) >> 4], kDigits[c & 15]};
    }
  }
  return word;
}

std::optional<Layout> layout_of(std::string_view name) {
  if (name == "columnar") return Layout::kColumnar;
  if (name == "row") return Layout::kRow;
  return std::nullopt;
}

bool parameters_agree(const Descriptor& d) {
  switch (d.layout) {
    case Layout::kColumnar:
      return !d.big_endian && !d.packed && d.alignment == 64;
    case Layout::kRow:
      return d.packed == (d.alignment == 1);
  }
  return false;
}

Status malformed(std::string_view line) {
  return {"protocol", "malformed line in an NTF descriptor: '" + std::string(line.substr(0, 80)) + "'"};
}

}  // namespace

bool parse_type(std::string_view word, ColumnSpec* column) {
  static constexpr std::pair<std::string_view, JgType> kKinds[] = {
      {"bool", JG_BOOL},
      {"int8", JG_I8},
      {"int16", JG_I16},
      {"int32", JG_I32},
      {"int64", JG_I64},
      {"float32", JG_F32},
      {"float64", JG_F64},
      {"date", JG_DATE},
      {"timestamp", JG_TIMESTAMP},
      {"string", JG_STRING},
      {"binary", JG_BINARY},
      {"time", JG_TIME},
      {"timestamp_ns", JG_TIMESTAMP_NS},
  };
  static constexpr std::pair<std::string_view, JgType> kOfAZoneOrUnit[] = {
      {"timestamptz(", JG_TIMESTAMP}, {"timestamptz_ns(", JG_TIMESTAMP_NS}, {"duration(", JG_I64}};

  column->nullable = word.ends_with('?');
  if (column->nullable) word.remove_suffix(1);
  if (word.starts_with("decimal(") && word.ends_with(')')) {
    word = word.substr(8, word.size() - 9);
    const size_t comma = std::min(word.find(','), word.size());
    const auto precision = number(word.substr(0, comma));
    const auto scale = number(word.substr(std::min(comma + 1, word.size())));
    if (!precision || !scale || *precision < 1 || *precision > 38 || *scale > *precision) return false;
    column->precision = *precision;
    column->scale = *scale;
    column->type = *precision <= 18 ? JG_DEC64 : JG_DEC128;
    return true;
  }
  for (const auto& [name, type] : kOfAZoneOrUnit) {
    if (word.starts_with(name) && word.ends_with(')') && word.size() > name.size() + 1) {
      column->type = type;
      return true;
    }
  }
  for (const auto& [name, type] : kKinds) {
    if (word == name) {
      column->type = type;
      return true;
    }
  }
  return false;
}

Status parse_descriptor(std::string_view text, Descriptor* out) {
  *out = {};
  if (!text.ends_with('\n')) return {"protocol", "the text of an NTF descriptor is cut"};
  if (take_line(&text) != "jumpgate-ntf 1") return {"protocol", "not the text of an NTF descriptor of version 1"};
  const auto parameter = [&text](std::string_view key, std::string_view* value) {
    std::string_view line = take_line(&text);
    *value = line;
    if (take_word(&line) != key) return false;
    *value = line;
    return true;
  };
  std::string_view layout, order, packed, alignment;
  if (!parameter("layout", &layout)) return malformed(layout);
  const std::optional<Layout> known = layout_of(layout);
  if (!known)
    return {"protocol", "an NTF descriptor of an unknown layout: '" + std::string(layout.substr(0, 80)) + "'"};
  if (!parameter("byte_order", &order) || (order != "little" && order != "big")) return malformed(order);
  if (!parameter("packed", &packed) || (packed != "yes" && packed != "no")) return malformed(packed);
  if (!parameter("alignment", &alignment)) return malformed(alignment);
  const int align = number(alignment).value_or(0);
  if (align < 1 || align > 64 || !std::has_single_bit(static_cast<unsigned>(align))) return malformed(alignment);
  out->layout = *known;
  out->big_endian = order == "big";
  out->packed = packed == "yes";
  out->alignment = align;
  if (!parameters_agree(*out)) {
    return {"protocol", "an NTF descriptor's byte order, packing and alignment contradict each other"};
  }
  while (!text.empty()) {
    const std::string_view line = take_line(&text);
    std::string_view rest = line;
    ColumnSpec column;
    if (take_word(&rest) != "field" || number(take_word(&rest)) != static_cast<int>(out->columns.size()) ||
        !parse_type(take_word(&rest), &column)) {
      return malformed(line);
    }
    column.name = unquote(rest);
    if (quoted(column.name) != rest) return malformed(line);
    out->columns.push_back(std::move(column));
  }
  return {};
}

std::string first_difference(std::string_view mine, std::string_view theirs) {
  while (!mine.empty() || !theirs.empty()) {
    std::string_view a = take_line(&mine), b = take_line(&theirs);
    if (a == b) continue;
    std::string_view named = a.empty() ? b : a;
    std::string place(take_word(&named));
    if (place == "field") place += " " + std::string(take_word(&named));
    const auto said = [](std::string_view line) -> std::string {
      if (line.empty()) return "nothing";
      if (take_word(&line) == "field") take_word(&line);
      return std::string(line.substr(0, 200));
    };
    return place.substr(0, 200) + ": " + said(a) + " here, " + said(b) + " there";
  }
  return {};
}

}  // namespace jg::ntf
