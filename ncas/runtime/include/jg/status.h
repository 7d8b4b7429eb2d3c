// Errors inside the runtime: a status with a code, a sentence, and fields that name the place. Codes are the `code`s of
// jumpgate/errors.py, word for word; they cross the control protocol as such.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jg {

struct Error {
  std::string code;     // "io", "file_changed", "malformed", "schema", "overflow", "division_by_zero", "invalid_cast",
                        // "memory", "cancelled", "unreachable", "protocol", "internal"
  std::string message;  // a whole sentence: the problem, the place, the way out
  std::vector<std::pair<std::string, std::string>> fields;  // file, offset, line, column, edge, …
};

// Empty (cheap, no allocation) when all is well.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(std::string code, std::string message, std::vector<std::pair<std::string, std::string>> fields = {})
      : error_(new Error{std::move(code), std::move(message), std::move(fields)}) {}
  Status(Status&& other) noexcept : error_(other.error_) { other.error_ = nullptr; }
  Status& operator=(Status&& other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  Status(const Status& other) : error_(other.error_ ? new Error(*other.error_) : nullptr) {}
  Status& operator=(const Status& other) { return *this = Status(other); }
  ~Status() { delete error_; }

  bool ok() const { return error_ == nullptr; }
  const Error& error() const { return *error_; }

 private:
  Error* error_ = nullptr;
};

#define JG_RETURN_IF_ERROR(expression)       \
  do {                                       \
    ::jg::Status jg_status_ = (expression);  \
    if (!jg_status_.ok()) return jg_status_; \
  } while (0)

}  // namespace jg
