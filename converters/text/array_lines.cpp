#include <cstring>

#include "common/read_error.h"
#include "text/stream.h"

namespace jg::text {
namespace {

using columnar::malformed;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Only brackets, quotes and commas are understood here: an element that is no JSON is the line reader's to refuse.
class ArrayLines final : public Stream {
 public:
  explicit ArrayLines(std::unique_ptr<Stream> from) : from_(std::move(from)) {}

  int64_t read(char* out, int64_t size) override {
    const int64_t got = from_->read(out, size);
    if (got == 0 && (place_ == Place::kArray)) malformed("the JSON array that the file holds does not end");
    for (int64_t i = 0; i < got && place_ != Place::kLines; i++) step(out + i);
    return got;
  }

 private:
  enum class Place { kFront, kLines, kArray, kBehind };

  void step(char* p) {
    const char c = *p;
    if (place_ == Place::kFront) {
      if (is_blank(c) || std::memchr("\xEF\xBB\xBF", c, 3)) return;
      place_ = c == '[' ? Place::kArray : Place::kLines;
      if (c == '[') *p = ' ';
    } else if (place_ == Place::kBehind) {
      if (!is_blank(c)) malformed("text follows the JSON array that the file holds");
    } else if (quoted_) {
      quoted_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
    } else if (c == ',' && depth_ == 0) {
      end_element(p, '\n');
      comma_ = true;
    } else if (c == ']' && depth_ == 0) {
      if (comma_ || any_) end_element(p, '\n');
      *p = ' ';
      place_ = Place::kBehind;
    } else if (is_blank(c)) {
      *p = ' ';
    } else {
      any_ = true;
      quoted_ = c == '"';
      depth_ += (c == '{' || c == '[') - (depth_ > 0 && (c == '}' || c == ']'));
    }
  }

  void end_element(char* p, char line_end) {
    if (!any_) malformed("an element of the JSON array that the file holds is missing: two commas, or one at an end");
    any_ = false;
    *p = line_end;
  }

  std::unique_ptr<Stream> from_;
  Place place_ = Place::kFront;
  int64_t depth_ = 0;                      // of brackets within the element
  bool quoted_ = false, escaped_ = false;  // in a string; behind its backslash
  bool any_ = false, comma_ = false;       // the element has begun; another one came before
};

}  // namespace

std::unique_ptr<Stream> lines_of_array(std::unique_ptr<Stream> from) {
  return std::make_unique<ArrayLines>(std::move(from));
}

char first_letter(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (const char c : text) {
    if (!is_blank(c)) return c;
  }
  return 0;
}

}  // namespace jg::text
