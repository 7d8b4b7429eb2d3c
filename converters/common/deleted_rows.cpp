#include "common/deleted_rows.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "common/read_error.h"

namespace jg::columnar {

namespace {

constexpr const char* kOption = "deleted";
constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
// Beyond any row; twice as much is a number, too.
constexpr int64_t kFileRowsMax = int64_t{1} << 60;

[[noreturn]] void wrong(const std::string& why) {
  throw ReadError("schema", std::string("the read's option ") + kOption + " " + why);
}

int digit_of(char c) {
  const size_t found = kDigits.find(c);
  if (found == kDigits.npos) wrong("has a character that is no digit");
  return static_cast<int>(found);
}

// The next number: digits of five bits, the lowest first; 32 says that more follow.
int64_t take_number(std::string_view* text) {
  int64_t number = 0;
  for (int shift = 0; shift <= 60; shift += 5) {
    if (text->empty()) break;
    const int digit = digit_of(text->front());
    text->remove_prefix(1);
    number |= int64_t{digit & 31} << shift;
    if (digit < 32) {
      if (number > 2 * kFileRowsMax) break;
      return number;
    }
  }
  wrong("has a number without an end");
}

// Runs of rows: how many are kept before, twice, plus one where the run has several, which then says how many less two.
std::vector<RowRange> decoded(std::string_view text) {
  std::vector<RowRange> rows;
  int64_t at = 0;
  while (!text.empty()) {
    const int64_t number = take_number(&text);
    const int64_t first = at + number / 2;
    at = first + 1 + (number % 2 ? 1 + take_number(&text) : 0);
    if (at > kFileRowsMax) wrong("names rows that no file has");
    if (!rows.empty() && rows.back().end == first)
      rows.back().end = at;
    else
      rows.push_back({first, at});
  }
  return rows;
}

std::vector<std::string_view> of_files(std::string_view value, size_t files) {
  std::vector<std::string_view> texts;
  for (size_t at = 0, end; at <= value.size(); at = end + 1) {
    end = std::min(value.find(',', at), value.size());
    texts.push_back(value.substr(at, end - at));
  }
  if (texts.size() != files) wrong("is of another number of files");
  return texts;
}

template <class T>
void move(const void* source, const int32_t* from, const int32_t* to, int32_t n, void* target) {
  for (int32_t i = 0; i < n; ++i) {
    const size_t place = static_cast<size_t>(to ? to[i] : i);
    std::memmove(static_cast<char*>(target) + place * sizeof(T),
                 static_cast<const char*>(source) + static_cast<size_t>(from[i]) * sizeof(T), sizeof(T));
  }
}

}  // namespace

std::vector<std::vector<RowRange>> deleted_rows(const FileSourceOptions& options) {
  std::vector<std::vector<RowRange>> rows(options.files.size());
  for (const auto& [name, value] : options.options) {
    if (name != kOption) continue;
    const std::vector<std::string_view> texts = of_files(value, rows.size());
    std::transform(texts.begin(), texts.end(), rows.begin(), decoded);
  }
  return rows;
}

void keep_files(FileSourceOptions* options, size_t files, const std::vector<size_t>& kept) {
  for (auto& [name, value] : options->options) {
    if (name != kOption) continue;
    const std::string whole = std::move(value);
    const std::vector<std::string_view> texts = of_files(whole, files);
    value.clear();
    for (size_t i = 0; i < kept.size(); ++i) value.append(i ? "," : "").append(texts[kept[i]]);
  }
}

std::vector<RowRange> within(const std::vector<RowRange>& deleted, int64_t first, int64_t end) {
  std::vector<RowRange> rows;
  auto ends_before = [](const RowRange& range, int64_t row) { return range.end <= row; };
  for (auto range = std::lower_bound(deleted.begin(), deleted.end(), first, ends_before);
       range != deleted.end() && range->first < end; ++range) {
    rows.push_back({std::max(range->first, first) - first, std::min(range->end, end) - first});
  }
  return rows;
}

std::vector<RowRange> others(const std::vector<RowRange>& deleted, int64_t rows) {
  std::vector<RowRange> kept;
  int64_t at = 0;
  for (const RowRange& range : deleted) {
    append(&kept, {at, range.first});
    at = range.end;
  }
  append(&kept, {at, rows});
  return kept;
}

bool KeptRows::next(int64_t row, int32_t rows) {
  const int64_t end = row + rows;
  while (at_ < deleted_->size() && (*deleted_)[at_].end <= row) ++at_;
  all_ = at_ == deleted_->size() || (*deleted_)[at_].first >= end;
  count_ = 0;
  if (all_) {
    count_ = rows;
    return true;
  }
  int64_t at = row;
  for (size_t i = at_; i < deleted_->size() && at < end; ++i) {
    for (; at < std::min((*deleted_)[i].first, end); ++at) kept_[count_++] = static_cast<int32_t>(at - row);
    at = std::max(at, (*deleted_)[i].end);
  }
  for (; at < end; ++at) kept_[count_++] = static_cast<int32_t>(at - row);
  return count_ > 0;
}

const int32_t* KeptRows::positions(const int32_t* sel, int32_t n) {
  if (all_ || sel == nullptr) return all_ ? sel : kept_;
  for (int32_t i = 0; i < n; ++i) chosen_[i] = kept_[sel[i]];
  return chosen_;
}

void close_gaps(const int32_t* from, const int32_t* sel, int32_t n, ColumnRoom& room, JgCol* column) {
  decode_values(room.width, column, from, n);
  switch (room.width) {
    case 1:
      move<char>(column->data, from, sel, n, room.data);
      break;
    case 2:
      move<int16_t>(column->data, from, sel, n, room.data);
      break;
    case 4:
      move<int32_t>(column->data, from, sel, n, room.data);
      break;
    case 8:
      move<int64_t>(column->data, from, sel, n, room.data);
      break;
    default:
      move<jg_i128>(column->data, from, sel, n, room.data);
  }
  column->data = room.data;
  column->codes = nullptr;
  column->entries = nullptr;
  if (column->valid == nullptr) return;
  move<uint8_t>(column->valid, from, sel, n, room.valid.get());
  column->valid = room.valid.get();
}

}  // namespace jg::columnar
