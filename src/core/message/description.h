// The finished description of a message: tables that encoding, decoding, checks and random values walk over (message.h,
// random.h). Authors write them in the language of describe.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

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
  // For people (to_json.h).
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

}  // namespace bellwether::message
