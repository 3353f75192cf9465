// Well-known ways to build a thing wrong, which a simulated world can be told to make. The kernels under test are the
// product's own: what surrounds them (driver, disk, clock, wire, resource) makes the mistake, or takes away what the
// kernel does against it. A world that does not find each of its mistakes would not find them in the product either.
//
// A mistake is one row in the table of its world; `is("its-name")`, where the world does what it does, makes it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace bellwether::sim {

struct Mistake {
  std::string_view name;        // as `bellwether sim --mistake` takes it
  std::string_view what;        // for people
  std::string_view world = {};  // of the worlds that share the table, one that finds it soon; empty: any
  bool only_stops = false;      // nothing unsafe comes of it: what it breaks is that somebody leads in time (I13)
};

// Not defined: a call of it in a constant expression does not compile.
void there_is_no_such_mistake();

// The number of a row, counted from 1, by its name; a name that is not in the table does not compile.
template <const auto& kTable>
struct MistakeIn {
  std::size_t number = 0;

  consteval MistakeIn(const char* name) {  // NOLINT(google-explicit-constructor)
    while (number < kTable.size() && kTable[number].name != name) ++number;
    if (number == kTable.size()) there_is_no_such_mistake();
    ++number;
  }
};

// One table of several, in their order.
template <class Row, std::size_t... kSizes>
constexpr std::array<Row, (kSizes + ...)> joined(const std::array<Row, kSizes>&... tables) {
  std::array<Row, (kSizes + ...)> all{};
  std::size_t next = 0;
  const auto add = [&](const auto& table) {
    for (const Row& row : table) all[next++] = row;
  };
  (add(tables), ...);
  return all;
}

}  // namespace bellwether::sim
