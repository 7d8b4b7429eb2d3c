// Validates JSON.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

#include "json/token.h"

namespace jg::json {

// Every number outside of strings is made 0: a text is JSON if and only if this one is.
inline std::string zero_numbers(std::string text) {
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      for (at++; at < text.size() && text[at] != '"'; at++) at += text[at] == '\\';
      at++;
      continue;
    }
    const size_t end = std::min(text.find_first_not_of("+-.0123456789eE", at), text.size());
    if (is_number({text.data() + at, end - at})) {
      std::fill(text.begin() + at, text.begin() + end, ' ');
      text[at] = '0';
    }
    at = std::max(end, at + 1);
  }
  return text;
}

class Validator {
 public:
  // The text's fault, if it has one. Numbers are of any size, which simdjson's are not. Padding is readable behind it.
  simdjson::error_code operator()(std::string_view text) {
    simdjson::dom::element whole;
    const auto error = parser_.parse(text.data(), text.size(), true).get(whole);
    if (error != simdjson::BIGINT_ERROR && error != simdjson::NUMBER_ERROR) return error;
    return parser_.parse(zero_numbers(std::string(text))).get(whole);
  }

 private:
  simdjson::dom::parser parser_;
};

}  // namespace jg::json
