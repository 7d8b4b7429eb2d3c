// The order in which siblings take the parts of a scan: first what is on the disks of their own hosts.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "jg/stream.h"

namespace jg {

// Return the sibling whose host has position `at` of a file that is `size` long, or -1. Units are the caller's.
int owner_of(const FileSourceOptions& options, const std::string& file, int64_t at, int64_t size);

// Return the places of parts in an order in which those that a sibling begins with (its number modulo the siblings) are
// its own, as far as there are any. owners: of each part; -1: any sibling.
std::vector<size_t> placed_parts(const std::vector<int>& owners, size_t siblings);

}  // namespace jg
