// Nested JSON values: fields of an object by name, and objects and arrays as nested values. Their text is valid JSON:
// the caller has had it checked. Of two equal names in an object the last one counts.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/nested.h"
#include "json/token.h"

namespace jg::json {

class NestedJson {
 public:
  // The field of that name of the object `text`; empty if it has none, or it is null. kWrong: it is not an object.
  Parse member(std::string_view text, std::string_view name, std::string_view* value);
  // Append the value, not null, of a nested type. After kWrong and kOverflow, fault() describes the problem.
  Parse write(const ColumnSpec& spec, std::string_view text, columnar::NestedBytes* out);

  struct Fault {
    const ColumnSpec* spec = nullptr;
    std::string text;
  };
  const Fault& fault() const { return fault_; }

 private:
  using Value = std::string_view;  // empty: null or missing
  using Entries = std::vector<std::pair<std::string, Value>>;

  Parse write_fields(const ColumnSpec& spec, std::string_view text, columnar::NestedBytes* out);
  Parse write_elements(const ColumnSpec& spec, std::string_view text, columnar::NestedBytes* out);
  Parse write_entries(const ColumnSpec& spec, std::string_view text, columnar::NestedBytes* out);
  // A value of any type; false: it is null.
  bool append(const ColumnSpec& spec, Value value, columnar::NestedBytes* out, Parse* parsed);
  // each(key, value) for every field; the key as it reads.
  template <class Each>
  void each_field(std::string_view object, Each&& each);
  Parse failed(const ColumnSpec& spec, std::string_view text, Parse parsed);

  Unescaper unescape_;
  Fault fault_;
};

}  // namespace jg::json
