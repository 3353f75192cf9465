// The limits in descriptions of messages (describe.h): how a value is written, and its range.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/time.h"
#include "core/message/description.h"

namespace bellwether::message {

template <class T>
concept Counted = std::is_integral_v<T> || std::is_enum_v<T>;

template <class T>
constexpr uint64_t bits_of(T value) {
  if constexpr (std::is_same_v<T, Duration>) {
    return static_cast<uint64_t>(value.ns());
  } else if constexpr (std::is_same_v<T, WallTime>) {
    return static_cast<uint64_t>(value.unix_ns);
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<uint64_t>(static_cast<double>(value));
  } else {
    return static_cast<uint64_t>(value);
  }
}

template <class T>
constexpr Rule between(T least, T most) {
  Rule rule;
  rule.of = std::is_floating_point_v<T> ? Rule::Of::kReal : Rule::Of::kInteger;
  rule.least = bits_of(least);
  rule.most = bits_of(most);
  return rule;
}
template <class T>
constexpr Rule at_most(T most) {
  return between(T(), most);
}
template <class T>
constexpr Rule at_least(T least) {
  Rule rule = between(least, least);
  rule.open = true;
  return rule;
}
inline constexpr Rule kSome = at_least(1);  // not zero

// An enumeration whose values are numbered from 0.
constexpr Rule one_of(std::size_t values) { return at_most(values - 1); }
template <class T>
constexpr Rule one_of(std::size_t values, T unknown_is) {
  Rule rule = one_of(values);
  rule.falls_back = true;
  rule.fallback = bits_of(unknown_is);
  return rule;
}
constexpr Rule text(std::size_t most, std::size_t least = 0) {
  Rule rule;
  rule.of = Rule::Of::kText;
  rule.least = least;
  rule.most = most;
  return rule;
}
// `what` names it in an error; random texts are made of `messages`.
constexpr Rule text(std::size_t most, std::string_view what, bool (*good)(std::string_view),
                    std::string_view messages) {
  Rule rule = text(most, 1);
  rule.what = what;
  rule.good = good;
  rule.messages = messages;
  return rule;
}
constexpr Rule text(std::size_t most, std::string_view what) {
  Rule rule = text(most);
  rule.what = what;
  return rule;
}
// The writer makes the text fit, and so does the reader.
constexpr Rule fitted(std::size_t most, std::string (*fit)(std::string_view)) {
  Rule rule = text(most);
  rule.fit = fit;
  return rule;
}
constexpr Rule not_empty(Rule rule) {
  rule.least = 1;
  return rule;
}
constexpr Rule or_empty(Rule rule) {
  rule.or_empty = true;
  return rule;
}
constexpr Rule cut(std::size_t most) {
  Rule rule = text(most);
  rule.cuts = true;
  return rule;
}
constexpr Rule clamped(Rule rule) {
  rule.clamps = true;
  return rule;
}
constexpr Rule zigzag(Rule rule = {}) {
  rule.form = Rule::Form::kZigzag;
  return rule;
}
constexpr Rule fixed(Rule rule = {}) {
  rule.form = Rule::Form::kFixed;
  return rule;
}
constexpr Rule list(std::size_t most, Rule item = {}) {
  item.items = most;
  return item;
}

}  // namespace bellwether::message
