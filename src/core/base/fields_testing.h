// Plain values as words, and back, by the names that they have in the code, so that a test which prints and reads
// events needs no table of them:
//
//   struct Stop { ShareId share; StopHow how; std::string why; };
//   named(Stop{ShareId(1), StopHow::kAtOnce, "enough"})   "stop 1 how=at_once why=enough"
//
// The first member stands without its name, and members with their default values are left out. A type with another
// form has a function to_text(value) in its namespace, and fill(text, value) to read it. A type in an unnamed
// namespace has no such names.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/time.h"
#include "core/base/units.h"

namespace bellwether::fields {

// The begin of a test's time: printed times count from it, to the millisecond.
inline constexpr Instant kBegins = Instant::from_ns(1'000'000'000'000);
inline constexpr WallTime kWallBegins{1'700'000'000'000'000'000};

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-inline"
#pragma clang diagnostic ignored "-Wundefined-internal"

// --- the members of an aggregate, counted by what it can be made from, and bound one by one
struct Any {
  template <class T>
  constexpr operator T&() const&& noexcept;
  template <class T>
  constexpr operator T&&() const&& noexcept;
};
template <class T, std::size_t... I>
constexpr bool is_made_from(std::index_sequence<I...>) {
  return requires { T{(void(I), Any{})...}; };
}
template <class T, std::size_t N = 24>
consteval std::size_t count() {
  if constexpr (N == 0 || is_made_from<T>(std::make_index_sequence<N>())) {
    return N;
  } else {
    return count<T, N - 1>();
  }
}

#define BW_MEMBERS(N, ...)        \
  if constexpr (kCount == N) {    \
    auto& [__VA_ARGS__] = of;     \
    return std::tie(__VA_ARGS__); \
  }
template <class T>
constexpr auto members(T& of) {
  constexpr std::size_t kCount = count<std::remove_const_t<T>>();
  static_assert(kCount <= 23, "a struct with more members needs a line here");
  if constexpr (kCount == 0) return std::tuple<>();
  BW_MEMBERS(1, a)
  BW_MEMBERS(2, a, b)
  BW_MEMBERS(3, a, b, c)
  BW_MEMBERS(4, a, b, c, d)
  BW_MEMBERS(5, a, b, c, d, e)
  BW_MEMBERS(6, a, b, c, d, e, f)
  BW_MEMBERS(7, a, b, c, d, e, f, g)
  BW_MEMBERS(8, a, b, c, d, e, f, g, h)
  BW_MEMBERS(9, a, b, c, d, e, f, g, h, i)
  BW_MEMBERS(10, a, b, c, d, e, f, g, h, i, j)
  BW_MEMBERS(11, a, b, c, d, e, f, g, h, i, j, k)
  BW_MEMBERS(12, a, b, c, d, e, f, g, h, i, j, k, l)
  BW_MEMBERS(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  BW_MEMBERS(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
  BW_MEMBERS(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
  BW_MEMBERS(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
  BW_MEMBERS(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
  BW_MEMBERS(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
  BW_MEMBERS(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
  BW_MEMBERS(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
  BW_MEMBERS(21, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)
  BW_MEMBERS(22, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)
  BW_MEMBERS(23, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
}
#undef BW_MEMBERS

template <class T>
extern T somewhere;
template <class P>
struct Place {
  P at;
};
template <class P>
Place(P) -> Place<P>;
// "why" of "… [kPlace = Place<std::string *>{&somewhere.why}]".
template <auto kPlace>
consteval std::string_view name_of_place() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_suffix(2);
  return text.substr(text.find_last_of(".:") + 1);
}
template <class T, std::size_t I>
consteval std::string_view member_name() {
  return name_of_place<Place{&std::get<I>(members(somewhere<T>))}>();
}
#pragma clang diagnostic pop

// Says each(name, member) of them in their order.
template <class T, class Each>
void each_member(T& of, Each each) {
  using Plain = std::remove_const_t<T>;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (each(member_name<Plain, I>(), std::get<I>(members(of))), ...);
  }(std::make_index_sequence<count<Plain>()>());
}

// "hand_over" of kHandOver and of HandOver.
inline std::string snake(std::string_view name) {
  if (name.size() > 1 && name[0] == 'k' && name[1] >= 'A' && name[1] <= 'Z') name.remove_prefix(1);
  std::string out;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !out.empty()) out += '_';
    out += static_cast<char>(upper ? c - 'A' + 'a' : c);
  }
  return out;
}
template <class T>
std::string type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_suffix(1);
  return snake(text.substr(text.find_last_of(": ") + 1));
}
// Says each(name, value) of its values, which are numbered from 0 or from 1.
template <class E, class Each>
void each_value(Each each) {
  constexpr std::size_t kFrom = enum_names::count<E>() == 0 ? 1 : 0;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (each(snake(enum_names::identifier<static_cast<E>(kFrom + I)>()), static_cast<E>(kFrom + I)), ...);
  }(std::make_index_sequence<enum_names::count<E, kFrom>() - kFrom>());
}

template <class T>
concept Worded = requires(const T& value) { to_text(value); };
template <class T>
concept IdLike = requires(T id) { T(id.value()); } && !requires(T id) { id.has_value(); };
template <class T>
concept ListLike = requires(T list) { list.begin() != list.end(); };
template <class T>
inline constexpr bool kHasMembers = std::is_aggregate_v<T> && !ListLike<T>;
template <class T>
inline constexpr bool kIsVariant = false;
template <class... T>
inline constexpr bool kIsVariant<std::variant<T...>> = true;
template <class T>
inline constexpr bool kIsPair = false;
template <class A, class B>
inline constexpr bool kIsPair<std::pair<A, B>> = true;

// --- to words

inline std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.12gs", value);
  return text;
}
inline std::string after(Duration span) { return seconds(std::round(span.seconds_f() * 1e3) / 1e3); }
inline std::string in_quotes(std::string_view text) {
  return text.find_first_of(" ,;()=") == std::string_view::npos && !text.empty() ? std::string(text)
                                                                                 : '"' + std::string(text) + '"';
}
template <class T>
std::string words(const T& value);
template <class T>
std::string words_of_members(const T& value) {
  const T untouched{};
  std::string out;
  bool first = true;
  each_member(value, [&, untouched_members = &untouched](std::string_view name, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    std::string usual;
    each_member(*untouched_members, [&](std::string_view other, const auto& one) {
      if (other == name) usual = words(one);
    });
    const std::string now = words(member);
    const bool bare = std::exchange(first, false) && !std::is_same_v<Member, bool>;
    if (now == usual && !(bare && count<T>() > 1 && (std::is_enum_v<Member> || IdLike<Member>))) return;
    out += out.empty() ? "" : " ";
    if (std::is_same_v<Member, bool> && now == "yes") {
      out += name;
    } else {
      out += bare ? now : std::string(name) + "=" + now;
    }
  });
  return out;
}
// "stop 1 how=at_once": of an alternative of a variant.
template <class T>
std::string named(const T& value) {
  std::string rest;
  if constexpr (Worded<T>) {
    return to_text(value);
  } else {
    rest = words_of_members(value);
    return type_name<T>() + (rest.empty() ? "" : " " + rest);
  }
}
template <class T>
std::string words(const T& value) {
  if constexpr (Worded<T>) {
    return to_text(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "yes" : "no";
  } else if constexpr (std::is_enum_v<T>) {
    std::string out = std::to_string(static_cast<uint64_t>(value));
    each_value<T>([&](const std::string& name, T one) { out = one == value ? name : out; });
    return out;
  } else if constexpr (std::is_floating_point_v<T>) {
    const std::string text = seconds(value);
    return text.substr(0, text.size() - 1);
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_same_v<T, Duration>) {
    const std::string text = format_duration(value);
    const Result<Duration> back = parse_duration(text);
    return back && *back == value ? text : seconds(value.seconds_f());
  } else if constexpr (std::is_same_v<T, Instant>) {
    return value == Instant::never() ? "never" : after(value - kBegins);
  } else if constexpr (std::is_same_v<T, WallTime>) {
    return after(Duration::nanos(value.unix_ns - kWallBegins.unix_ns));
  } else if constexpr (IdLike<T>) {
    return std::to_string(value.value());
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return in_quotes(value);
  } else if constexpr (kIsVariant<T>) {
    return std::visit([](const auto& one) { return named(one); }, value);
  } else if constexpr (kIsPair<T>) {
    return words(value.first) + ":" + words(value.second);
  } else if constexpr (ListLike<T>) {
    std::string out;
    for (const auto& one : value) out += (out.empty() ? "" : ", ") + words(one);
    return "[" + out + "]";
  } else if constexpr (requires { value.error(); }) {
    return value ? "ok" : words(value.error());
  } else if constexpr (requires { *value; }) {
    return value ? words(*value) : "none";
  } else {
    return "(" + words_of_members(value) + ")";
  }
}

// --- from words. Each says whether the text could be understood.

template <class T>
bool read(std::string_view text, T& out);
template <class T>
bool read_list(std::string_view text, char between, T each) {
  while (true) {
    const std::size_t end = std::min(text.find(between), text.size());
    if (!each(text.substr(0, end))) return false;
    if (end == text.size()) return true;
    text.remove_prefix(end + 1);
  }
}
template <class T>
bool read(std::string_view text, T& out) {
  if constexpr (requires { fill(text, out); }) {
    return fill(text, out);
  } else if constexpr (std::is_same_v<T, bool>) {
    out = text == "yes";
    return out || text == "no";
  } else if constexpr (std::is_enum_v<T>) {
    bool found = false;
    each_value<T>([&](const std::string& name, T one) {
      if (name == text) out = one, found = true;
    });
    return found;
  } else if constexpr (std::is_arithmetic_v<T>) {
    const auto end = std::from_chars(text.data(), text.data() + text.size(), out);
    return end.ec == std::errc() && end.ptr == text.data() + text.size();
  } else if constexpr (std::is_same_v<T, Duration>) {
    if (text == "max") return out = Duration::max(), true;
    const bool negative = text.starts_with('-');
    const Result<Duration> span = parse_duration(text.substr(negative ? 1 : 0));
    if (span) out = negative ? -*span : *span;
    return span.has_value();
  } else if constexpr (std::is_same_v<T, Instant>) {
    Duration after;
    const bool good = read(text, after);
    return out = kBegins + after, good;
  } else if constexpr (IdLike<T>) {
    auto value = out.value();
    const bool good = read(text, value);
    return out = T(value), good;
  } else if constexpr (std::is_assignable_v<T&, std::string>) {
    return out = std::string(text), true;
  } else if constexpr (requires { out.emplace_back(); }) {
    return read_list(text, ',', [&](std::string_view one) { return read(one, out.emplace_back()); });
  } else if constexpr (requires { out.emplace(), out.value(); }) {
    return read(text, out.emplace());
  } else if constexpr (kHasMembers<T>) {  // 1:3 of them in their order
    std::size_t at = 0;
    return read_list(text, ':', [&](std::string_view one) {
      std::size_t number = 0;
      bool good = false;
      each_member(out, [&](std::string_view, auto& member) {
        if (number++ == at) good = read(one, member);
      });
      return ++at, good;
    });
  } else {
    return false;
  }
}

// "why=enough", where it is a member of this or of what this is made of; or the name of a member that is a bool, or a
// value of one that is an enumeration. A number alone is for the member called `subject`; when that is empty, for the
// first one.
template <class T>
bool set(T& value, std::string_view word, std::string_view subject) {
  const std::size_t is = word.find('=');
  const bool number = word[0] >= '0' && word[0] <= '9';
  bool done = false;
  bool first = true;
  const auto look = [&]<bool kInside>(std::bool_constant<kInside>) {
    each_member(value, [&](std::string_view name, auto& member) {
      using Member = std::remove_cvref_t<decltype(member)>;
      if (done) return;
      if constexpr (kInside) {
        if constexpr (kHasMembers<Member>) done = set(member, word, subject);
      } else if (is != std::string_view::npos) {
        done = word.substr(0, is) == name && read(word.substr(is + 1), member);
      } else if (number) {
        if (std::exchange(first, false) && subject.empty()) done = read(word, member);
        if (!subject.empty() && name == subject) done = read(word, member);
      } else if constexpr (std::is_same_v<Member, bool>) {
        if (word == name) done = member = true;
      } else if constexpr (std::is_enum_v<Member>) {
        done = read(word, member);
      }
    });
  };
  look(std::false_type());
  if (!done) look(std::true_type());
  return done;
}

// A test that cannot read a word fails.
template <class T>
void set_all(T& value, const std::vector<std::string>& words, std::string_view subject = "") {
  for (const std::string& word : words) EXPECT_TRUE(set(value, word, subject)) << word;
}
template <class T>
T parsed(std::string_view word) {
  T value{};
  EXPECT_TRUE(read(word, value)) << word;
  return value;
}

// Makes it the alternative of this name, made ready by prepare(alternative). False: no such alternative.
template <class Variant, class Prepare>
bool choose(Variant& out, std::string_view name, Prepare prepare) {
  bool found = false;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto look = [&]<std::size_t kAt>(std::integral_constant<std::size_t, kAt>) {
      if (found || type_name<std::variant_alternative_t<kAt, Variant>>() != name) return;
      found = true;
      prepare(out.template emplace<kAt>());
    };
    (look(std::integral_constant<std::size_t, I>()), ...);
  }(std::make_index_sequence<std::variant_size_v<Variant>>());
  return found;
}

}  // namespace bellwether::fields
