// The chains in which a join's partners are, for generated programs.
#pragma once
#include "jg/filters.h"
#include "jg/kernel.h"

// Keys that are looked up together: few of them may have rows, whose memory is waited for together.
enum { JG_AHEAD = 256 };

extern "C" {
// Find the chains of n ≤ JG_AHEAD keys, or where rows are found by the hash of several columns, of their hashes; null:
// no row has the key. All at once, or else a large table would have each wait for its memory. row_size 0: the rows
// themselves are of no interest.
void jg_find_chains(const JgJoin* join, const int64_t* keys, int n, int row_size, JgRow** first);
void jg_find_hashed(const JgJoin* join, const uint64_t* hashes, int n, int row_size, JgRow** first);
// Where the build has bits of the keys of number join->told_by: which of n keys some row has. Returns how many.
int jg_tell(const JgJoin* join, const int64_t* keys, int n, uint16_t* at);
// Find the chains of the hashes of those alone, among n keys.
void jg_find_told(const JgJoin* join, const uint64_t* hashes, const uint16_t* at, int told, int n, int row_size,
                  JgRow** first);
}
