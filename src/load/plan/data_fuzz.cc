// Arbitrary bytes as a file of data: rows, or where it is wrong. The first byte says which format. Each row that was
// counted is found, and so are its fields.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/check.h"
#include "load/plan/feeder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using bellwether::check;
  using bellwether::plan::Feeder;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto format = static_cast<Feeder::Format>(data[0] % 3);
  const auto made = Feeder::make(bellwether::scenario::view_of(text), {format, ','});
  if (!made) {
    check(!made.error().message.empty(), "a file is refused for a reason");
    return 0;
  }
  const Feeder& feeder = **made;
  check(feeder.rows() > 0 && feeder.rows() <= text.size(), "a row has bytes");
  bellwether::plan::RowField field;
  if (format != Feeder::Format::kCsv && !feeder.names().empty()) {
    field.path.steps.push_back({.key = feeder.names().front(), .index = 0, .is_index = false});
  }
  std::string out;
  for (uint64_t i = 0; i < feeder.rows(); ++i) {
    const std::string_view row = feeder.row(i);
    check(!row.empty(), "it begins before the end of the file");
    const bool read = feeder.read(row, field, out);
    check(read || format != Feeder::Format::kCsv, "each row of CSV has each column");
    check(read || i > 0, "the first row has its own members");
  }
  return 0;
}
