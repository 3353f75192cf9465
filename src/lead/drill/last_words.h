// What a program said last: why it failed, most of the time. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/printable.h"

namespace bellwether::lead {

// ": " and the last line of an output that has one, fit for a terminal; empty when it says nothing.
inline std::string last_words(std::string_view output) {
  const std::string_view text = output.substr(0, output.find_last_not_of(" \t\r\n") + 1);
  if (text.empty()) return {};
  const auto end = text.rfind('\n');
  return ": " + printable(text.substr(end == std::string_view::npos ? 0 : end + 1));
}

}  // namespace bellwether::lead
