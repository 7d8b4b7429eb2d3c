// Hashes of single values, each with a seed: jumpgate/dataflow/functions_hash.py says which.
#pragma once
#include <stdint.h>

#include "jg/batch.h"

extern "C" {

int64_t jg_xxhash64(JgStr s, int64_t seed);
int64_t jg_xxhash64_of_int32(int32_t value, int64_t seed);
int64_t jg_xxhash64_of_int64(int64_t value, int64_t seed);
int32_t jg_murmur3(JgStr s, int32_t seed);
int32_t jg_murmur3_of_int32(int32_t value, int32_t seed);
int32_t jg_murmur3_of_int64(int64_t value, int32_t seed);

}  // extern "C"
