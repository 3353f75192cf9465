// A set of handlers as one, for std::visit(): an alternative without a handler does not compile.
//
//   std::visit(Overloaded{[](const Begin& begin) { … }, [](const End& end) { … }}, event);
#pragma once

#include <concepts>

namespace bellwether {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

// For a handler of several kinds that need nothing: []<OneOf<Begin, End> Kind>(const Kind&) {}.
template <class T, class... Those>
concept OneOf = (std::same_as<T, Those> || ...);

}  // namespace bellwether
