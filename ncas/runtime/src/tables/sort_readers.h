// Readers of sort buffers that put rows in order while they read.
#pragma once
#include <atomic>
#include <memory>

#include "tables/reader.h"
#include "tables/sort_buffer.h"

namespace jg {

// Reads partitioned rows: one partition at a time, sorted if functions need it, from memory or from disk.
std::unique_ptr<TableReader> make_window_reader(const SortBuffer& table, std::atomic<size_t>* claimed);
// Merges the sorted runs on disk; one thread does it.
std::unique_ptr<TableReader> make_merge_reader(const SortBuffer& table, std::atomic<size_t>* claimed);

}  // namespace jg
