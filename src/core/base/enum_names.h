// The names of an enumeration whose values are numbered from 0, in their order:
//   constexpr EnumNames<Shape> kShapes("round", "four_sided");
//   kShapes[Shape::kRound]; kShapes.find("round")
// The compiler knows the enumerators. A table without the name of one does not compile, nor a table with a name that is
// plainly another value's (kFourSided: "four_sided", "four-sided" or "four sided").
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace bellwether {
namespace enum_names {

// "kRound"; "7" for a number without an enumerator, which the compiler writes as "(Shape)7".
template <auto kValue>
consteval std::string_view identifier() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_suffix(1);
  return text.substr(text.find_last_of(":)") + 1);
}

template <class E, std::size_t kFrom = 0>
consteval std::size_t count() {
  if constexpr (const char first = identifier<static_cast<E>(kFrom)>()[0]; first >= '0' && first <= '9') {
    return kFrom;
  } else {
    return count<E, kFrom + 1>();
  }
}

consteval bool is_name_of(std::string_view identifier, std::string_view name) {
  std::size_t at = 1;  // behind the k
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ') continue;
    if (at == identifier.size()) return false;
    const char wanted = identifier[at++];
    if (c != wanted && !(wanted >= 'A' && wanted <= 'Z' && c == wanted - 'A' + 'a')) return false;
  }
  return at == identifier.size();
}

void a_name_at_another_value();  // not constexpr: a table with this fault does not compile

}  // namespace enum_names

template <class E>
class EnumNames {
 public:
  static constexpr std::size_t kSize = enum_names::count<E>();

  template <class... Names>
  consteval explicit EnumNames(const Names&... names) : names_{names...} {
    static_assert(sizeof...(Names) == kSize, "a table has one name for each value");
    const auto identifiers = []<std::size_t... i>(std::index_sequence<i...>) {
      return std::array{enum_names::identifier<static_cast<E>(i)>()...};
    }(std::make_index_sequence<kSize>());
    for (std::size_t i = 0; i < kSize; ++i) {
      if (enum_names::is_name_of(identifiers[i], names_[i])) continue;
      for (const std::string_view other : identifiers) {
        if (enum_names::is_name_of(other, names_[i])) enum_names::a_name_at_another_value();
      }
    }
  }

  constexpr const char* operator[](E value) const {
    const auto at = static_cast<std::size_t>(value);
    return at < kSize ? names_[at] : "unknown";
  }

  constexpr std::optional<E> find(std::string_view name) const {
    for (std::size_t i = 0; i < kSize; ++i) {
      if (names_[i] == name) return static_cast<E>(i);
    }
    return std::nullopt;
  }

 private:
  std::array<const char*, kSize> names_;
};

}  // namespace bellwether
