// The language of descriptions: a message is a plain struct and one description of it, a list of its members, each with
// its number on the wire and its limit. Encoding, decoding within limits and random values come from that list
// (message.h, random_testing.h). It also holds the permitted senders.
//
//   struct Begin { std::string job; Duration clock; };
//
//   template <>
//   inline constexpr auto message::kDescription<Begin> = message::describe<Begin>(
//       "the start of an assignment", field<&Begin::job>(1, kJobId), field<&Begin::clock>(4, zigzag(kClock)));
//
// On the wire it is a message of protocol buffers, so a reader skips unknown fields. Fields are only ever added: a
// number is never used again for another field. Members may be numbers, enumerations, strong ids, spans and times
// (ours, and those of <chrono> that count nanoseconds), texts, arrays of bytes, described structs, and std::optional
// and std::vector of these; a variant is described by its alternatives. A member without a limit does not compile.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/base/units.h"
#include "core/message/description.h"
#include "core/message/message.h"

namespace bellwether::message {

template <class T>
inline constexpr auto kDescription = nullptr;

namespace detail {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsBytes = false;
template <class B, std::size_t N>
inline constexpr bool kIsBytes<std::array<B, N>> = sizeof(B) == 1;
// A struct of nothing but such an array, called `bytes`.
template <class T>
  requires(sizeof(T) == sizeof(T::bytes))
inline constexpr bool kIsBytes<T> = kIsBytes<decltype(T::bytes)>;

template <class T>
concept StrongIdLike = requires(T id) {
  { id.value() } -> std::unsigned_integral;
  T(id.value());
};
template <class T>
concept SpanLike = T::period::den == 1'000'000'000 && requires(T span) { span.count(); };
template <class T>
concept MomentLike = SpanLike<typename T::duration> && requires(T at) { at.time_since_epoch(); };
// Has a text form for people.
template <class T>
concept Worded = requires(const T& value) {
  { to_string(value) } -> std::convertible_to<std::string_view>;
};
// Not stored as its bytes on the wire: the conversion stands beside it.
template <class T>
concept BytesLike = requires(const T& value, T& to, std::string_view bytes, Prng& prng) {
  { wire_bytes(value) } -> std::same_as<std::string>;
  { from_wire_bytes(bytes, to) } -> std::same_as<bool>;  // of no bytes, a value that was not sent
  { is_good_value(value) } -> std::same_as<bool>;
  draw_value(prng, to);
};

template <class T, class Load, class Store>
consteval Type number(Kind kind, Load, Store) {
  Type type;
  type.kind = kind;
  type.load = [](const void* from) { return Load()(*static_cast<const T*>(from)); };
  type.store = [](void* to, uint64_t bits) { *static_cast<T*>(to) = Store()(bits); };
  type.most = UINT64_MAX;
  if (kind == Kind::kSigned) {
    type.least = bits_of(INT64_MIN);
    type.most = INT64_MAX;
  }
  return type;
}

template <class T>
std::string word_of(const void* from) {
  return std::string(to_string(*static_cast<const T*>(from)));
}
inline std::string time_text(int64_t unix_ns) { return unix_ns == 0 ? "-" : format_wall(WallTime{unix_ns}); }

template <class T>
consteval Type type_of_number();
template <class T>
consteval Type type_of_text();
template <class T>
consteval Type make_type();

}  // namespace detail

template <class T>
inline constexpr Type kType = detail::make_type<T>();

namespace detail {

template <class T>
consteval Type type_of_number() {
  if constexpr (std::is_same_v<T, bool>) {
    Type type = number<T>(
        Kind::kBool, [](bool value) { return uint64_t{value}; }, [](uint64_t bits) { return bits != 0; });
    return type;
  } else if constexpr (std::is_enum_v<T>) {
    Type type = number<T>(
        Kind::kUnsigned, [](T value) { return static_cast<uint64_t>(value); },
        [](uint64_t bits) { return static_cast<T>(bits); });
    type.most = std::numeric_limits<std::underlying_type_t<T>>::max();
    if constexpr (Worded<T>) type.word = &word_of<T>;
    return type;
  } else if constexpr (std::is_integral_v<T>) {
    Type type = number<T>(
        std::is_signed_v<T> ? Kind::kSigned : Kind::kUnsigned, [](T value) { return static_cast<uint64_t>(value); },
        [](uint64_t bits) { return static_cast<T>(bits); });
    type.least = static_cast<uint64_t>(std::numeric_limits<T>::min());
    type.most = static_cast<uint64_t>(std::numeric_limits<T>::max());
    return type;
  } else if constexpr (std::is_same_v<T, double>) {
    Type type = number<T>(
        Kind::kReal, [](double value) { return std::bit_cast<uint64_t>(value); },
        [](uint64_t bits) { return std::bit_cast<double>(bits); });
    type.least = std::bit_cast<uint64_t>(-std::numeric_limits<double>::infinity());
    type.most = std::bit_cast<uint64_t>(std::numeric_limits<double>::infinity());
    return type;
  } else if constexpr (std::is_same_v<T, Duration>) {
    Type type = number<T>(
        Kind::kSigned, [](Duration value) { return static_cast<uint64_t>(value.ns()); },
        [](uint64_t bits) { return Duration::nanos(static_cast<int64_t>(bits)); });
    type.span = true;
    return type;
  } else if constexpr (SpanLike<T>) {
    Type type = number<T>(
        Kind::kSigned, [](T value) { return static_cast<uint64_t>(value.count()); },
        [](uint64_t bits) { return T(static_cast<int64_t>(bits)); });
    type.span = true;
    return type;
  } else if constexpr (std::is_same_v<T, Instant>) {
    return number<T>(
        Kind::kSigned, [](Instant value) { return static_cast<uint64_t>(value.ns()); },
        [](uint64_t bits) { return Instant::from_ns(static_cast<int64_t>(bits)); });
  } else if constexpr (std::is_same_v<T, WallTime>) {
    Type type = number<T>(
        Kind::kSigned, [](WallTime value) { return static_cast<uint64_t>(value.unix_ns); },
        [](uint64_t bits) { return WallTime{static_cast<int64_t>(bits)}; });
    type.word = [](const void* from) { return time_text(static_cast<const WallTime*>(from)->unix_ns); };
    return type;
  } else if constexpr (MomentLike<T>) {
    Type type = number<T>(
        Kind::kSigned, [](T at) { return static_cast<uint64_t>(at.time_since_epoch().count()); },
        [](uint64_t bits) { return T(typename T::duration(static_cast<int64_t>(bits))); });
    type.word = [](const void* from) { return time_text(static_cast<const T*>(from)->time_since_epoch().count()); };
    return type;
  } else {
    Type type = number<T>(
        Kind::kUnsigned, [](T value) { return uint64_t{value.value()}; },
        [](uint64_t bits) { return T(static_cast<decltype(T().value())>(bits)); });
    type.most = std::numeric_limits<decltype(T().value())>::max();
    return type;
  }
}

template <class T>
consteval Type type_of_text() {
  Type type;
  type.kind = Kind::kText;
  if constexpr (std::is_same_v<T, std::string>) {
    type.view = [](const void* from, std::string&) -> std::string_view {
      return *static_cast<const std::string*>(from);
    };
    type.take = [](void* to, std::string_view bytes) {
      static_cast<std::string*>(to)->assign(bytes);
      return true;
    };
  } else if constexpr (kIsBytes<T>) {
    type.length = sizeof(T);
    type.view = [](const void* from, std::string&) -> std::string_view {
      return {static_cast<const char*>(from), sizeof(T)};
    };
    type.take = [](void* to, std::string_view bytes) {
      *static_cast<T*>(to) = {};
      if (bytes.size() == sizeof(T)) std::memcpy(to, bytes.data(), sizeof(T));
      return bytes.empty() || bytes.size() == sizeof(T);
    };
  } else {
    type.view = [](const void* from, std::string& scratch) -> std::string_view {
      return scratch = wire_bytes(*static_cast<const T*>(from));
    };
    type.take = [](void* to, std::string_view bytes) { return from_wire_bytes(bytes, *static_cast<T*>(to)); };
    type.good = [](const void* from) { return is_good_value(*static_cast<const T*>(from)); };
    type.draw = [](Prng& prng, void* to) { draw_value(prng, *static_cast<T*>(to)); };
    if constexpr (Worded<T>) type.word = &word_of<T>;
  }
  return type;
}

template <class T>
consteval Type make_type() {
  if constexpr (kIsOptional<T>) {
    Type type;
    type.kind = Kind::kOptional;
    type.item = &kType<typename T::value_type>;
    type.size = [](const void* from) { return std::size_t{static_cast<const T*>(from)->has_value()}; };
    type.at = [](const void* from, std::size_t) -> const void* { return &**static_cast<const T*>(from); };
    type.add = [](void* to) -> void* {
      T& out = *static_cast<T*>(to);
      return out ? &*out : &out.emplace(typename T::value_type{});
    };
    type.clear = [](void* to) { static_cast<T*>(to)->reset(); };
    return type;
  } else if constexpr (kIsList<T>) {
    Type type;
    type.kind = Kind::kList;
    type.item = &kType<typename T::value_type>;
    type.size = [](const void* from) { return static_cast<const T*>(from)->size(); };
    type.at = [](const void* from, std::size_t i) -> const void* { return &(*static_cast<const T*>(from))[i]; };
    type.add = [](void* to) -> void* { return &static_cast<T*>(to)->emplace_back(); };
    type.clear = [](void* to) { static_cast<T*>(to)->clear(); };
    return type;
  } else if constexpr (std::is_same_v<T, std::string> || kIsBytes<T> || BytesLike<T>) {
    return type_of_text<T>();
  } else if constexpr (Counted<T> || std::is_same_v<T, double> || std::is_same_v<T, Duration> ||
                       std::is_same_v<T, Instant> || std::is_same_v<T, WallTime> || StrongIdLike<T> || SpanLike<T> ||
                       MomentLike<T>) {
    return type_of_number<T>();
  } else {
    Type type;
    type.kind = Kind::kMessage;
    type.message = &message_of<T>;
    return type;
  }
}

template <auto Member>
struct MemberOf;
template <class C, class M, M C::*Member>
struct MemberOf<Member> {
  using Owner = C;
  using Value = M;
};
template <auto First, auto... Rest>
struct LastOf {
  using Value = typename LastOf<Rest...>::Value;
};
template <auto Last>
struct LastOf<Last> {
  using Value = typename MemberOf<Last>::Value;
};
template <auto First, auto...>
using OwnerOf = typename MemberOf<First>::Owner;

template <class T, auto First, auto... Rest>
constexpr auto* locate(T* from) {
  if constexpr (sizeof...(Rest) == 0) {
    return &(from->*First);
  } else {
    return locate<typename MemberOf<First>::Value, Rest...>(&(from->*First));
  }
}

// "job" of &Begin::job.
template <auto Member>
consteval std::string_view name_of() {
  std::string_view name = __PRETTY_FUNCTION__;
  name.remove_suffix(1);
  return name.substr(name.rfind(':') + 1);
}
template <auto First, auto... Rest>
consteval std::string_view last_name() {
  if constexpr (sizeof...(Rest) == 0) {
    return name_of<First>();
  } else {
    return last_name<Rest...>();
  }
}

// Not constexpr: a description that has such a fault does not compile, and the compiler names it.
void a_text_without_a_limit();
void a_list_without_a_limit();
void a_limit_of_another_kind();
void numbers_that_do_not_ascend();

constexpr bool is_number(Kind kind) {
  return kind == Kind::kUnsigned || kind == Kind::kSigned || kind == Kind::kReal || kind == Kind::kBool;
}

consteval Field checked(Field field) {
  if (field.type->kind == Kind::kList && field.rule.items == 0) a_list_without_a_limit();
  const Type& leaf = field.type->item != nullptr ? *field.type->item : *field.type;
  Rule& rule = field.rule;
  if (leaf.kind == Kind::kText) {
    if (leaf.length != 0) {
      rule.of = Rule::Of::kText;
      rule.least = rule.most = leaf.length;
    }
    if (rule.of != Rule::Of::kText || rule.most == 0) a_text_without_a_limit();
  } else if (is_number(leaf.kind)) {
    const Rule::Of of = leaf.kind == Kind::kReal ? Rule::Of::kReal : Rule::Of::kInteger;
    if (rule.of == Rule::Of::kAny) {
      rule.of = of;
      rule.least = leaf.least;
      rule.most = leaf.most;
    }
    if (rule.of != of) a_limit_of_another_kind();
    if (rule.open) rule.most = leaf.most;
    if (leaf.kind == Kind::kUnsigned && rule.most > leaf.most) rule.most = leaf.most;
  } else if (rule.of != Rule::Of::kAny) {
    a_limit_of_another_kind();
  }
  return field;
}

}  // namespace detail

// A member, or a member of a plain struct member: field<&Offer::parts, &PartRange::first>(5).
template <auto First, auto... Rest>
consteval Field field(uint32_t number, Rule rule = {}) {
  using Owner = detail::OwnerOf<First>;
  Field out;
  out.number = number;
  out.name = detail::last_name<First, Rest...>();
  out.type = &kType<typename detail::LastOf<First, Rest...>::Value>;
  out.rule = rule;
  out.locate = [](void* from) -> void* { return detail::locate<Owner, First, Rest...>(static_cast<Owner*>(from)); };
  return detail::checked(out);
}

// A member that is present when a flag beside it is set; the flag itself is not sent.
template <auto Flag, auto Member>
consteval Field field_if(uint32_t number) {
  using Owner = detail::OwnerOf<Member>;
  Field out = field<Member>(number);
  out.locate = [](void* from) -> void* {
    Owner& owner = *static_cast<Owner*>(from);
    return owner.*Flag ? &(owner.*Member) : nullptr;
  };
  out.emplace = [](void* from) -> void* {
    Owner& owner = *static_cast<Owner*>(from);
    owner.*Flag = true;
    return &(owner.*Member);
  };
  return out;
}
// An alternative of a member that is a variant: alternative<Ask, &JobMessage::body>(2, "ask").
template <class T, auto Member>
consteval Field alternative(uint32_t number, std::string_view name, Rule rule = {}) {
  using Owner = typename detail::MemberOf<Member>::Owner;
  Field out;
  out.number = number;
  out.name = name;
  out.alternative = true;
  out.type = &kType<T>;
  out.rule = rule;
  out.locate = [](void* from) -> void* { return std::get_if<T>(&(static_cast<Owner*>(from)->*Member)); };
  out.emplace = [](void* from) -> void* { return &(static_cast<Owner*>(from)->*Member).template emplace<T>(); };
  return detail::checked(out);
}
// An alternative of a message that is a variant itself.
template <class T, class Variant>
consteval Field alternative(uint32_t number, std::string_view name, Rule rule = {}) {
  Field out;
  out.number = number;
  out.name = name;
  out.alternative = true;
  out.type = &kType<T>;
  out.rule = rule;
  out.locate = [](void* from) -> void* { return std::get_if<T>(static_cast<Variant*>(from)); };
  out.emplace = [](void* from) -> void* { return &static_cast<Variant*>(from)->template emplace<T>(); };
  return detail::checked(out);
}

template <std::size_t N>
struct Description {
  Message message;
  std::array<Field, N> fields;

  // Of a message that travels by itself: its bytes, and the error code of a refused one.
  constexpr Description within(std::size_t bytes, Errc refusal = Errc::kProtocol) const {
    Description out = *this;
    out.message.most = bytes;
    out.message.refusal = refusal;
    return out;
  }
};

// `Check` returns the fault of a value whose fields are each within their limits; empty: it is good.
template <class T, std::string_view (*Check)(const T&) = nullptr, void (*Complete)(T&) = nullptr, class... Fields>
consteval auto describe(std::string_view name, Fields... fields) {
  Description<sizeof...(Fields)> out{{}, {fields...}};
  uint32_t last = 0;
  for (const Field& one : out.fields) {
    if (one.number <= last) detail::numbers_that_do_not_ascend();
    last = one.number;
  }
  out.message.name = name;
  out.message.count = sizeof...(Fields);
  if constexpr (Check != nullptr) {
    out.message.check = [](const void* from) { return Check(*static_cast<const T*>(from)); };
  }
  if constexpr (Complete != nullptr) {
    out.message.complete = [](void* to) { Complete(*static_cast<T*>(to)); };
  }
  out.message.make = []() -> void* { return new T(); };
  out.message.destroy = [](void* from) { delete static_cast<T*>(from); };
  return out;
}

template <class T>
const Message& described() {
  static constexpr Message kMessage = [] {
    Message out = kDescription<T>.message;
    out.fields = kDescription<T>.fields.data();
    return out;
  }();
  return kMessage;
}
template <class T>
const Message& message_of() {
  return described<T>();
}

}  // namespace bellwether::message
