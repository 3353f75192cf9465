// Integers that cannot be mixed up: StrongId<struct JobTag> and StrongId<struct StepTag> do not convert.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace bellwether {

template <class Tag, class Rep = uint32_t>
class StrongId {
 public:
  constexpr StrongId() = default;
  explicit constexpr StrongId(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const StrongId&) const = default;

 private:
  Rep value_ = 0;
};

}  // namespace bellwether

template <class Tag, class Rep>
struct std::hash<bellwether::StrongId<Tag, Rep>> {
  std::size_t operator()(bellwether::StrongId<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value()); }
};
