#include <algorithm>
#include <cstring>
#include <vector>

#include "common/read_error.h"
#include "text/stream.h"

namespace jg::text {
namespace {

using columnar::malformed;
using columnar::ReadError;

constexpr int64_t kRawBytes = 64 << 10;

void append_utf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static constexpr uint8_t kFirst[] = {0, 0xC0, 0xE0, 0xF0};
  out->push_back(static_cast<char>(kFirst[more] | code >> 6 * more));
  for (int i = more - 1; i >= 0; i--) out->push_back(static_cast<char>(0x80 | (code >> 6 * i & 0x3F)));
}

// Text in units of some bytes, decoded chunk by chunk.
class Decoded : public Stream {
 public:
  explicit Decoded(std::unique_ptr<Stream> from) : from_(std::move(from)), raw_(kRawBytes) {}

  int64_t read(char* out, int64_t size) override {
    while (at_ == text_.size()) {
      text_.clear();
      at_ = 0;
      const int64_t got = from_->read(raw_.data() + kept_, kRawBytes - kept_);
      const int64_t have = kept_ + got;
      const int64_t used = decode(reinterpret_cast<const uint8_t*>(raw_.data()), have, &text_);
      kept_ = have - used;
      std::memmove(raw_.data(), raw_.data() + used, static_cast<size_t>(kept_));
      if (got > 0) continue;
      if (kept_ > 0) malformed("the text ends within a character");
      return 0;
    }
    const int64_t n = std::min<int64_t>(size, static_cast<int64_t>(text_.size() - at_));
    std::memcpy(out, text_.data() + at_, static_cast<size_t>(n));
    at_ += static_cast<size_t>(n);
    return n;
  }

 protected:
  // Append the decoded text of `size` bytes; return how many bytes make whole characters.
  virtual int64_t decode(const uint8_t* p, int64_t size, std::string* out) = 0;

 private:
  std::unique_ptr<Stream> from_;
  std::vector<char> raw_;
  int64_t kept_ = 0;  // bytes at the front of raw_ that begin a character
  std::string text_;  // given out up to at_
  size_t at_ = 0;
};

class Latin1 final : public Decoded {
 public:
  using Decoded::Decoded;

 protected:
  int64_t decode(const uint8_t* p, int64_t size, std::string* out) override {
    for (int64_t i = 0; i < size; i++) append_utf8(p[i], out);
    return size;
  }
};

class Utf16 final : public Decoded {
 public:
  enum class Order { kLittle, kBig, kByMark };
  Utf16(std::unique_ptr<Stream> from, Order order) : Decoded(std::move(from)), order_(order) {}

 protected:
  int64_t decode(const uint8_t* p, int64_t size, std::string* out) override {
    if (order_ == Order::kByMark && size >= 2) order_ = p[0] == 0xFE && p[1] == 0xFF ? Order::kBig : Order::kLittle;
    auto unit = [&](int64_t at) -> uint32_t {
      return order_ == Order::kBig ? p[at] << 8 | p[at + 1] : p[at + 1] << 8 | p[at];
    };
    int64_t i = 0;
    for (; i + 2 <= size; i += 2) {
      uint32_t code = unit(i);
      if (code >= 0xD800 && code < 0xE000) {
        if (code < 0xDC00 && i + 4 > size) break;
        const uint32_t low = code < 0xDC00 ? unit(i + 2) : 0;
        if (low < 0xDC00 || low >= 0xE000) malformed("not valid UTF-16: half of a surrogate pair");
        code = 0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00));
        i += 2;
      }
      append_utf8(code, out);
    }
    return i;
  }

 private:
  Order order_;
};

// Text that is taken for UTF-8 must not begin with a mark of UTF-16.
class Unmarked final : public Stream {
 public:
  explicit Unmarked(std::unique_ptr<Stream> from) : from_(std::move(from)) {}
  int64_t read(char* out, int64_t size) override {
    const int64_t got = from_->read(out, size);
    if (first_ && got >= 2 && (std::memcmp(out, "\xFF\xFE", 2) == 0 || std::memcmp(out, "\xFE\xFF", 2) == 0))
      throw ReadError("malformed", "not UTF-8: it begins as UTF-16 does; read it with encoding=\"utf-16\"");
    first_ = false;
    return got;
  }

 private:
  std::unique_ptr<Stream> from_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<Stream> decoded(std::unique_ptr<Stream> from, const std::string& encoding) {
  if (encoding == "latin-1") return std::make_unique<Latin1>(std::move(from));
  if (encoding == "utf-16") return std::make_unique<Utf16>(std::move(from), Utf16::Order::kByMark);
  if (encoding == "utf-16le") return std::make_unique<Utf16>(std::move(from), Utf16::Order::kLittle);
  if (encoding == "utf-16be") return std::make_unique<Utf16>(std::move(from), Utf16::Order::kBig);
  return std::make_unique<Unmarked>(std::move(from));
}

}  // namespace jg::text
