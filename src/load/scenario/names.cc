#include "load/scenario/names.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace bellwether::scenario {
namespace {

bool is_letter_or_digit(char c) {
  const char lower = ascii_lower(c);
  return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
}

bool consists_of(std::string_view text, std::string_view marks) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [marks](char c) {
    return is_letter_or_digit(c) || marks.find(c) != std::string_view::npos;
  });
}

}  // namespace

bool is_value_name(std::string_view text) {
  return consists_of(text, "_") && !(text.front() >= '0' && text.front() <= '9');
}

bool is_step_name(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  return text.size() <= kLongest && consists_of(text, "_-");
}

bool is_http_token(std::string_view text) { return consists_of(text, "!#$%&'*+-.^_`|~"); }

}  // namespace bellwether::scenario
