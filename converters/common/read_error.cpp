#include "common/read_error.h"

#include <arrow/status.h>

#include <algorithm>
#include <new>

#include "jg/lower_case.h"

namespace jg::columnar {

void check(const arrow::Status& status) {
  if (status.ok()) return;
  throw ReadError(status.IsOutOfMemory() ? "memory" : "malformed", status.message());
}

ReadError named(const std::exception& error, const ColumnSpec& column) {
  const auto* known = dynamic_cast<const ReadError*>(&error);
  Fields fields = known ? known->fields : Fields();
  for (const auto& [name, value] : fields)
    if (name == "column") return *known;
  fields.emplace_back("column", column.name);
  return ReadError(known ? known->code : "malformed", "column '" + column.name + "': " + error.what(), fields);
}

Status guarded(const std::string& format, const std::string& file, const std::function<void()>& body) {
  auto fail = [&](const std::string& code, const std::string& what, Fields fields) {
    std::string sentence;
    if (code == "io") {
      sentence = "cannot read " + format + " file '" + file + "': " + what;
    } else if (code == "malformed") {
      sentence = format + " file '" + file + "' is damaged or incomplete: " + what;
    } else {
      sentence = format + " file '" + file + "': " + what;
    }
    fields.emplace(fields.begin(), "file", file);
    return Status(code, sentence, std::move(fields));
  };
  try {
    body();
    return {};
  } catch (const ReadError& e) {
    return fail(e.code, e.what(), e.fields);
  } catch (const std::bad_alloc&) {
    return fail("memory", "not enough memory to decode it", {});
  } catch (const std::exception& e) {
    return fail("malformed", e.what(), {});
  }
}

std::string type_name(const ColumnSpec& column) {
  static constexpr const char* kNested[] = {"", "struct", "list", "map"};
  if (column.nesting != Nesting::kNone) return kNested[static_cast<int>(column.nesting)];
  switch (column.type) {
    case JG_BOOL:
      return "bool";
    case JG_I8:
      return "int8";
    case JG_I16:
      return "int16";
    case JG_I32:
      return "int32";
    case JG_I64:
      return "int64";
    case JG_F32:
      return "float32";
    case JG_F64:
      return "float64";
    case JG_DEC64:
    case JG_DEC128:
      return "decimal(" + std::to_string(column.precision) + ", " + std::to_string(column.scale) + ")";
    case JG_DATE:
      return "date";
    case JG_TIMESTAMP:
      return "timestamp";
    case JG_STRING:
      return "string";
    case JG_BINARY:
      return "binary";
    case JG_TIME:
      return "time";
    case JG_TIMESTAMP_NS:
      return "timestamp_ns";
  }
  return "unknown";
}

ReadError wrong_type(const ColumnSpec& column, const std::string& found) {
  std::string declared = type_name(column);
  return ReadError("schema",
                   "column '" + column.name + "' is declared " + declared + ", but the file holds " + found +
                       ". Declare the file's type and cast in the dataflow.",
                   {{"column", column.name}, {"declared", declared}, {"found", found}});
}

ReadError missing_column(const ColumnSpec& column, const std::vector<std::string>& present) {
  std::string list;
  for (const std::string& name : present) list += (list.empty() ? "" : ", ") + name;
  return ReadError("schema", "column '" + column.name + "' is not in the file, which has: " + list,
                   {{"column", column.name}});
}

bool has_other_case(const std::string& name, const std::vector<std::string>& present) {
  const std::string lower = lower_case(name);
  return std::any_of(present.begin(), present.end(),
                     [&](const std::string& other) { return other != name && lower_case(other) == lower; });
}

void refuse_other_case(const ColumnSpec& column, const std::string& field, const std::vector<std::string>& present) {
  if (has_other_case(field, present))
    throw wrong_type(column, "a struct whose field '" + field + "' is spelled in another case");
}

ReadError unexpected_null(const ColumnSpec& column) {
  return ReadError(
      "schema", "column '" + column.name + "' is declared without NULLs, but the file holds some. Declare it nullable.",
      {{"column", column.name}});
}

}  // namespace jg::columnar
