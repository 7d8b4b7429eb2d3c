// ORC's Bloom filters of the kind BLOOM_FILTER_UTF8 (ORC specification, "Bloom Filter Index").
#pragma once
#include <cstdint>
#include <string_view>

#include "common/bounds.h"
#include "orc/tail.h"

namespace jg::columnar {

// Whether values of the kind are looked up in filters. Those of others depend on how a writer turns them to text.
bool has_filter_hash(OrcKind kind);

// Of one row group; what is damaged there may hold every value.
class BloomFilter {
 public:
  // `message`, which outlives the filter, is a BloomFilter of orc_proto.proto. Throws ReadError where it is not one.
  explicit BloomFilter(std::string_view message);

  // False only when no row of a column of that kind, which has_filter_hash, equals the value.
  bool may_hold(OrcKind kind, const BoundValue& value) const;

 private:
  bool has(uint64_t hash) const;
  bool has_number(int64_t number) const;

  std::string_view bits_;
  uint32_t functions_ = 0;
};

}  // namespace jg::columnar
