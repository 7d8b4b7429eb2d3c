#include "columnar_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return jg::fuzz::run(data, size, jg::find_reader("parquet"));
}
