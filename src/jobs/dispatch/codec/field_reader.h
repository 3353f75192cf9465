// Parts of what came from elsewhere, held to their bounds. A reader goes on after a part that is wrong, and remembers
// the first of them: whoever uses it asks once, at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/time.h"

namespace bellwether::dispatch {

// As texts for people travel: nothing that steers a terminal, at most kMostTextBytes, cut between two letters. What is
// so already stays as it is.
std::string fit_text(std::string_view text);

class FieldReader {
 public:
  // What was wrong; null when all is well.
  const char* wrong() const { return wrong_; }
  void refuse(const char* why) {
    if (wrong_ == nullptr) wrong_ = why;
  }

  std::string text(const std::string& from) { return fit_text(from); }
  uint16_t workflow(uint32_t from);

  Duration span(int64_t ns);         // never negative
  WallTime moment(int64_t unix_ns);  // 0: not yet

  // One of `values` that are numbered from 0.
  template <class Value>
  Value one_of(uint32_t from, std::size_t values) {
    if (from < values) return static_cast<Value>(from);
    refuse("a state, phase or kind that does not exist");
    return Value();
  }
  // False: they are not to be read.
  bool fits(int number, std::size_t most) {
    const bool good = static_cast<std::size_t>(number) <= most;
    if (!good) refuse("more of something than there may be");
    return good;
  }

 private:
  const char* wrong_ = nullptr;
};

}  // namespace bellwether::dispatch
