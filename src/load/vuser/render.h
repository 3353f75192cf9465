// Renders templates to text. Runs for requests: only the growth of the output text allocates.
#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/prng.h"
#include "core/base/time.h"
#include "load/plan/plan.h"
#include "load/vuser/values.h"

namespace bellwether::vuser {

// Numbers as text, appended to a text.
template <class Number>
void append_number(Number value, std::string& out) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, end);
}

// With leading zeros up to `digits`, at most 20.
inline void append_padded(uint64_t value, unsigned digits, std::string& out) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  const auto length = static_cast<unsigned>(end - text);
  if (length < digits) out.append(digits - length, '0');
  out.append(text, end);
}

// `value` in units of 10^-decimals: (-1250, 2) is "-12.50".
inline void append_decimal(int64_t value, unsigned decimals, std::string& out) {
  uint64_t unit = 1;
  for (unsigned i = 0; i < decimals; ++i) unit *= 10;
  const uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (value < 0) out += '-';
  append_number(size / unit, out);
  if (decimals == 0) return;
  out += '.';
  append_padded(size % unit, decimals, out);
}

// The values that a template may mention besides those of steps.
struct RenderContext {
  const Values& values;
  uint32_t vu = 1;
  uint64_t iteration = 0;
  WallTime now;
  Prng& prng;
  std::span<const std::string> tokens = {};  // by plan::HttpCall::token; empty: no token
};

// Appends the text to `out`. False when a value is missing or does not fit its surroundings (a line break in a header):
// the step then fails as `template` and is not sent.
bool render(const plan::Template& source, const RenderContext& context, std::string& out);

// True when the template mentions the wall clock, which then must be read for it.
bool mentions_time(const plan::Template& source);

// Draws a built-in value (load/scenario/builtins.h). One seed gives one sequence of values. REQUIRES a piece of the
// kind kBuiltin.
void append_builtin(const plan::Piece& piece, const RenderContext& context, std::string& out);

// Whether it comes from RenderContext::now.
bool tells_time(plan::Builtin builtin);

}  // namespace bellwether::vuser
