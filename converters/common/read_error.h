// Errors inside the columnar readers: exceptions, as in the libraries below them; `guarded` turns each into a Status
// that names the file, so that none crosses our interfaces.
#pragma once
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "jg/stream.h"

namespace arrow {
class Status;
}

namespace jg::columnar {

using Fields = std::vector<std::pair<std::string, std::string>>;

class ReadError : public std::runtime_error {
 public:
  ReadError(std::string code, const std::string& message, Fields fields = {})
      : std::runtime_error(message), code(std::move(code)), fields(std::move(fields)) {}
  std::string code;
  Fields fields;
};

// Throws ReadError "memory" or "malformed" (the bytes are wrong) unless `status` is fine.
void check(const arrow::Status& status);

// The value of an arrow::Result, or check()'s exception.
template <class Result>
auto take(Result&& result) {
  check(result.status());
  return std::forward<Result>(result).MoveValueUnsafe();
}

[[noreturn]] inline void malformed(const std::string& message) { throw ReadError("malformed", message); }

// Add the name of the column that was read to the error, unless it has it.
ReadError named(const std::exception& error, const ColumnSpec& column);

// Run `body`; turn an exception into a Status whose sentence starts with the file's name and format ("Parquet").
Status guarded(const std::string& format, const std::string& file, const std::function<void()>& body);

// Run `body`, which reads one column; errors name it.
template <class Body>
void of_column(const ColumnSpec& column, Body&& body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    throw named(e, column);
  }
}

// The declared type as people write it: decimal(7, 2), int64, …
std::string type_name(const ColumnSpec& column);

// A mismatch between the declared and the found type of a column.
ReadError wrong_type(const ColumnSpec& column, const std::string& found);

// A declared column that the file does not have; the error lists the present ones.
ReadError missing_column(const ColumnSpec& column, const std::vector<std::string>& present);
// Whether a file without a column has one of that name in other cases: engines do not agree which rows it then has.
bool has_other_case(const std::string& name, const std::vector<std::string>& present);
// Throws where a struct of the file lacks a field of the column, but has one that differs in case alone.
void refuse_other_case(const ColumnSpec& column, const std::string& field, const std::vector<std::string>& present);

// A NULL in a column that is declared to have none.
ReadError unexpected_null(const ColumnSpec& column);

}  // namespace jg::columnar
