// Footers that this process has parsed and may need again, for another pipeline or another query.
#pragma once
#include <parquet/file_reader.h>

#include <memory>

#include "common/input_file.h"

namespace jg::columnar {

// Opens a file, whose footer is parsed unless it is kept. Throws ReadError or the library's exception.
std::unique_ptr<parquet::ParquetFileReader> open_parquet(std::shared_ptr<InputFile> input);

}  // namespace jg::columnar
