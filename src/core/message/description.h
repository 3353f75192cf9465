// The finished description of a message: tables that encoding, decoding, checks and random values walk over (message.h,
// random_testing.h). Authors write them in the language of describe.h, and the limits in them by the functions below.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether {

class Prng;
}

namespace bellwether::message {

struct Message;

enum class Kind : uint8_t { kBool, kUnsigned, kSigned, kReal, kText, kMessage, kList, kOptional };

// The codec's knowledge of a C++ type. Numbers are held as 64 bits: of a signed one its two's complement, of a real one
// its IEEE 754.
struct Type {
  Kind kind = Kind::kBool;
  uint64_t least = 0;  // of numbers
  uint64_t most = 0;
  uint64_t (*load)(const void*) = nullptr;
  void (*store)(void*, uint64_t) = nullptr;
  // Texts and bytes. `scratch` is for types that are not kept as bytes. False: another length.
  std::string_view (*view)(const void*, std::string& scratch) = nullptr;
  bool (*take)(void*, std::string_view) = nullptr;
  std::size_t length = 0;                // of bytes that have no other
  bool (*good)(const void*) = nullptr;   // of types that are not kept as bytes, in place of their bytes
  void (*draw)(Prng&, void*) = nullptr;  // a random value
  // Lists, and optional ones, which are lists of at most one.
  const Type* item = nullptr;
  std::size_t (*size)(const void*) = nullptr;
  const void* (*at)(const void*, std::size_t) = nullptr;
  void* (*add)(void*) = nullptr;
  void (*clear)(void*) = nullptr;
  const Message& (*message)() = nullptr;
  // For people (to_json() of message.h).
  bool span = false;                           // a number of nanoseconds, which are shown as milliseconds
  std::string (*word)(const void*) = nullptr;  // of a type shown neither as its number nor as its bytes
};

// How a value is written, and within which limits.
struct Rule {
  enum class Form : uint8_t { kPlain, kZigzag, kFixed };
  enum class Of : uint8_t { kAny, kInteger, kReal, kText };
  Of of = Of::kAny;
  Form form = Form::kPlain;
  bool open = false;      // no limit above but that of the type
  bool clamps = false;    // the reader moves it to the nearest limit
  bool cuts = false;      // the writer cuts a text
  bool or_empty = false;  // a text may also be empty
  bool falls_back = false;
  uint64_t fallback = 0;  // the value that stands for unknown ones
  uint64_t least = 0;     // of a number, or of the bytes of a text
  uint64_t most = 0;
  std::size_t items = 0;  // of a list
  std::string_view what;  // a text is
  std::string_view messages;
  bool (*good)(std::string_view) = nullptr;
  std::string (*fit)(std::string_view) = nullptr;  // applied by the writer and by the reader
};

struct Field {
  uint32_t number = 0;
  std::string_view name;
  const Type* type = nullptr;
  Rule rule;
  void* (*locate)(void*) = nullptr;   // where it is; null: it is not there
  void* (*emplace)(void*) = nullptr;  // of an optional one: makes it
  bool alternative = false;           // exactly one of these is present
  // Of an alternative, for a process that forwards it unread: a bit for each role that may send it, its urgency, and
  // the limit that it counts against.
  uint32_t senders = 0;
  uint8_t urgency = 0;
  uint8_t operation = 0;

  // The name for people, where its member has another one. Of "parts.uptime", `parts` is an object of JSON.
  constexpr Field as(std::string_view called) const {
    Field out = *this;
    out.name = called;
    return out;
  }
  template <class Urgency, class Operation>
  constexpr Field sent_by(uint32_t roles, Urgency how_urgent, Operation counts_as) const {
    Field out = *this;
    out.senders = roles;
    out.urgency = static_cast<uint8_t>(how_urgent);
    out.operation = static_cast<uint8_t>(counts_as);
    return out;
  }
};

struct Message {
  std::string_view name;  // "the begin of a share"
  const Field* fields = nullptr;
  std::size_t count = 0;
  std::size_t most = 0;  // bytes of a message that travels by itself
  Errc refusal = Errc::kProtocol;
  // A check beyond single limits; returns the fault, or empty.
  std::string_view (*check)(const void*) = nullptr;
  // Sets members that are not sent and follow from sent ones.
  void (*complete)(void*) = nullptr;
  void* (*make)() = nullptr;
  void (*destroy)(void*) = nullptr;
};

// The limits in descriptions: how a value is written, and its range.

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
