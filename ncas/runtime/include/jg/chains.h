// The chains in which a join's partners are, for generated programs.
#pragma once
#include "jg/filters.h"
#include "jg/kernel.h"

extern "C" {
// Find the chains of n ≤ JG_BLOCK keys, or where rows are found by the hash of several columns, of their hashes; null:
// no row has the key. All at once, or else a large table would have each wait for its memory. row_size 0: the rows
// themselves are of no interest.
void jg_find_chains(const JgJoin* join, const int64_t* keys, int n, int row_size, JgRow** first);
void jg_find_hashed(const JgJoin* join, const uint64_t* hashes, int n, int row_size, JgRow** first);
}
