// The values of one virtual user's iteration: those that its steps extracted. A slot's text keeps its memory from one
// iteration to the next, so that the steady state allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "load/plan/plan.h"

namespace bellwether::vuser {

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

}  // namespace bellwether::vuser
