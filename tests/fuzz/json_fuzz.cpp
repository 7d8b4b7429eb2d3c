#include "text_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) jg::fuzz::read_text(data[0], data + 1, size - 1, jg::find_reader("json"), true);
  return 0;
}
