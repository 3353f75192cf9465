// Renders templates to text. Runs for requests: only the growth of the output text allocates.
#pragma once

#include <charconv>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/base/prng.h"
#include "core/base/time.h"
#include "load/plan/plan.h"

namespace bellwether::vuser {

// The values of one virtual user's iteration: those that its steps extracted. A slot's text keeps its memory from one
// iteration to the next, so that the steady state allocates nothing.
class Values {
 public:
  explicit Values(uint16_t slots) : slots_(slots == 0 ? nullptr : std::make_unique<Value[]>(slots)), count_(slots) {}

  // Forgets all values. At the start of an iteration.
  void clear() {
    for (uint16_t i = 0; i < count_; ++i) slots_[i].present = false;
  }
  bool has(plan::SlotId slot) const { return at(slot).present; }
  std::string_view get(plan::SlotId slot) const { return at(slot).text; }
  void set(plan::SlotId slot, std::string_view text) { begin(slot).assign(text); }
  void forget(plan::SlotId slot) { at(slot).present = false; }
  // For writers that build the text in place: marks the slot as present and returns its cleared text.
  std::string& begin(plan::SlotId slot) {
    Value& value = at(slot);
    value.present = true;
    value.text.clear();
    return value.text;
  }

 private:
  struct Value {
    std::string text;
    bool present = false;
  };
  Value& at(plan::SlotId slot) const {
    check(slot < count_);
    return slots_[slot];
  }
  std::unique_ptr<Value[]> slots_;
  uint16_t count_;
};

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

// Appends the text to `out`. False when a value is missing or does not fit its place (a line break in a header):
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
