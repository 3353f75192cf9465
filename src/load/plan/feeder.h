// The rows of a file of data, found by number without the file in memory: it keeps the place of every sixteenth row,
// half a byte a row. Made once, immutable, and so shared by all load threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "load/plan/plan.h"
#include "load/scenario/sources.h"

namespace bellwether::plan {

constexpr uint64_t kMaxDataFileBytes = 64ull << 30;
constexpr uint64_t kMaxRows = 1'000'000'000;
constexpr std::size_t kMaxRowBytes = 1u << 20;
constexpr std::size_t kMaxColumns = 1'000;

class Feeder {
 public:
  using Format = scenario::DataFormat;
  struct Shape {
    Format format = Format::kCsv;
    char delimiter = ',';  // kCsv
  };
  // The problem of the file, and its place.
  struct Trouble {
    int line = 0;  // 0: not on one line
    int column = 0;
    std::string message;
  };

  // Reads the whole file once. Skips a mark of UTF-8 at its beginning, and empty lines.
  static tl::expected<std::shared_ptr<const Feeder>, Trouble> make(scenario::FileView file, Shape shape);

  uint64_t rows() const { return rows_; }  // at least 1
  // The columns; of JSON the members of the first row.
  const std::vector<std::string>& names() const { return names_; }
  Format format() const { return shape_.format; }

  // The bytes from the beginning of row `number` on, from 0, to the end of the file. For read(). If the file has
  // changed since, the row is the text that now stands there. REQUIRES number < rows().
  std::string_view row(uint64_t number) const;
  // Appends the value of a field of that row. False: it has no such member. Only `out` allocates.
  bool read(std::string_view row, const RowField& field, std::string& out) const;

 private:
  class Indexer;

  Feeder(scenario::FileView file, Shape shape) : file_(std::move(file)), shape_(shape) {}
  std::size_t next_row(std::size_t at) const;

  scenario::FileView file_;
  Shape shape_;
  std::vector<std::string> names_;
  std::vector<uint64_t> marks_;  // where rows 0, 16, 32 … begin
  uint64_t rows_ = 0;
};

// The row that an iteration gets: the `taken`-th (from 0) that part `part` of `parts` takes, for user `vu` (from 1);
// `random` is a uniform number below the number of rows, used by Feed::Pick::kRandom.
uint64_t row_of(const Feed& feed, uint64_t taken, uint32_t part, uint32_t parts, uint32_t vu, uint64_t random);

// The files of a folder or of a pattern; each request sends one.
struct BodyFiles {
  // Which one. kSequential: part p of n takes the files p, p + n, … one after the other, from 0 and modulo their
  // number.
  enum class Pick : uint8_t { kSequential, kRandom };
  Pick pick = Pick::kSequential;
  std::vector<Template> bodies;  // in the order of their names, byte by byte; at least one
};

}  // namespace bellwether::plan
