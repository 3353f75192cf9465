// The properties of every message, with any fields: random values come back as they were, each limit refuses, unknown
// fields are ignored, and torn or changed bytes do no harm.
#pragma once

#include <bit>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/message/description.h"
#include "core/message/message.h"
#include "core/message/random_testing.h"
#include "core/message/wire_format.h"

namespace bellwether::message {

class LimitTester {
 public:
  LimitTester(const Message& message, void* root) : message_(message), root_(root) {}

  // Breaks one limit after the other of those that the value at hand has; puts back what it was.
  void try_all(const Message& of, void* value) {
    for (std::size_t i = 0; i < of.count; ++i) {
      const Field& field = of.fields[i];
      void* at = field.locate(value);
      if (at == nullptr) continue;
      if (field.type->item == nullptr) {
        try_one(of, field, *field.type, at);
        continue;
      }
      if (field.type->kind == Kind::kList && tried_.lists.insert(&field).second) try_list(field, at);
      const std::size_t size = field.type->size(at);
      for (std::size_t k = 0; k < size && k < 2; ++k) {
        try_one(of, field, *field.type->item, const_cast<void*>(field.type->at(at, k)));
      }
    }
  }

  // Each field that can be reached must have been.
  void expect_all(const Message& of, std::set<const Message*> seen = {}) {
    if (!seen.insert(&of).second) return;
    for (std::size_t i = 0; i < of.count; ++i) {
      const Field& field = of.fields[i];
      const Type& type = field.type->item != nullptr ? *field.type->item : *field.type;
      if (type.kind == Kind::kMessage) {
        expect_all(type.message(), seen);
      } else {
        EXPECT_TRUE(tried_.leaves.contains(&field)) << of.name << ": no random value has " << field.name;
      }
      EXPECT_TRUE(field.type->kind != Kind::kList || tried_.lists.contains(&field)) << of.name << ": " << field.name;
    }
  }

  struct Tried {
    std::set<const Field*> leaves;
    std::set<const Field*> lists;
  };
  const Tried& tried() const { return tried_; }
  void already(const Tried& tried) { tried_ = tried; }

 private:
  // Much longer ones take the time of all others together, and are refused by the same line.
  static constexpr std::size_t kLongTried = std::size_t{1} << 20;

  void try_one(const Message& of, const Field& field, const Type& type, void* at) {
    if (type.kind == Kind::kMessage) return try_all(type.message(), at);
    if (!tried_.leaves.insert(&field).second) return;
    if (type.length != 0) try_bytes(of, field);
    if (type.kind == Kind::kText) try_text(field, type, at);
    if (type.kind != Kind::kText && type.kind != Kind::kBool) try_number(field, type, at);
  }

  void try_number(const Field& field, const Type& type, void* at) {
    const Rule& rule = field.rule;
    if (rule.clamps || rule.falls_back) return;
    const uint64_t before = type.load(at);
    std::vector<uint64_t> beyond;
    if (type.kind == Kind::kReal) {
      beyond.push_back(std::bit_cast<uint64_t>(0.0 / 0.0));
      if (std::bit_cast<double>(rule.most) < 1e300) {
        beyond.push_back(std::bit_cast<uint64_t>(std::bit_cast<double>(rule.most) + 1));
      }
    } else {
      if (rule.most != type.most) beyond.push_back(rule.most + 1);
      if (rule.least != type.least) beyond.push_back(rule.least - 1);
    }
    for (const uint64_t bits : beyond) {
      type.store(at, bits);
      if (type.load(at) == bits) expect_refused(field);
    }
    type.store(at, before);
  }

  void try_text(const Field& field, const Type& type, void* at) {
    const Rule& rule = field.rule;
    if (type.length != 0 || type.draw != nullptr || rule.cuts) return;
    std::string scratch;
    const std::string before(type.view(at, scratch));
    if (rule.fit == nullptr && rule.most <= kLongTried) {
      type.take(at, std::string(rule.most + 1, 'x'));
      expect_refused(field);
    }
    if (rule.good != nullptr) {
      type.take(at, "\n");
      expect_refused(field);
    }
    if (rule.least > 0 && !rule.or_empty) {
      type.take(at, "");
      expect_refused(field);
    }
    type.take(at, before);
  }

  // Bytes that have one length only: no value has another one, so they are read from a message of their own.
  void try_bytes(const Message& of, const Field& field) {
    const Type& type = field.type->item != nullptr ? *field.type->item : *field.type;
    Message alone = of;
    alone.most = kLongTried;
    for (const std::size_t size : {type.length - 1, type.length + 1}) {
      std::string bytes;
      put_tag(field.number, WireType::kBytes, bytes);
      put_varint(size, bytes);
      bytes.append(size, 'x');
      void* to = of.make();
      const Status read = decode(alone, bytes, to);
      of.destroy(to);
      ASSERT_FALSE(read) << of.name << ": " << field.name << " of " << size << " bytes is taken";
      EXPECT_NE(read.error().message.find(field.name), std::string::npos) << read.error().message;
    }
  }

  void try_list(const Field& field, void* at) {
    const Type& type = *field.type;
    const Type& item = *type.item;
    std::vector<uint64_t> numbers;
    std::vector<std::string> texts;
    std::string scratch;
    const std::size_t before = type.size(at);
    if (item.kind == Kind::kMessage && before > 0) return void(tried_.lists.erase(&field));   // as long as it is empty
    if (item.kind != Kind::kMessage && before == 0) return void(tried_.lists.erase(&field));  // of what it may hold
    for (std::size_t k = 0; k < before; ++k) {
      if (item.kind == Kind::kText) texts.emplace_back(item.view(type.at(at, k), scratch));
      if (item.kind != Kind::kText) numbers.push_back(item.load(type.at(at, k)));
    }
    const auto put = [&](std::size_t k) {
      void* const added = type.add(at);
      if (!texts.empty()) item.take(added, texts[k % before]);
      if (!numbers.empty()) item.store(added, numbers[k % before]);
    };
    for (std::size_t k = before; k <= field.rule.items; ++k) put(k);
    expect_refused(field);
    type.clear(at);
    for (std::size_t k = 0; k < before; ++k) put(k);
  }

  void expect_refused(const Field& field) {
    void* to = message_.make();
    const std::string bytes = encode(message_, root_);
    const Status read = decode(message_, bytes, to);
    message_.destroy(to);
    if (read) {
      ADD_FAILURE() << message_.name << ": " << field.name << " is taken beyond its limit";
    } else if (bytes.size() <= message_.most) {
      EXPECT_NE(read.error().message.find(field.name), std::string::npos) << read.error().message;
      EXPECT_EQ(read.error().code, message_.refusal);
    }
  }

  const Message& message_;
  void* root_;
  Tried tried_;
};

template <class T>
inline constexpr bool kHasEquality = requires(const T& a) { a == a; };
template <class... Kinds>
inline constexpr bool kHasEquality<std::variant<Kinds...>> = (kHasEquality<Kinds> && ...);

// By the bytes of all that is described, where T has no operator ==.
template <class T>
bool same(const T& a, const T& b) {
  if constexpr (kHasEquality<T>) {
    return a == b;
  } else {
    return encode(a) == encode(b);
  }
}

// Of a message that travels by itself.
template <class T>
void expect_sound(int draws = 300) {
  const Message& message = message_of<T>();
  Prng prng(1);
  LimitTester::Tried tried;
  LimitTester last(message, nullptr);
  for (int i = 0; i < draws; ++i) {
    T value = random_value<T>(prng);
    const std::string bytes = encode(value);
    const auto read = decode<T>(bytes);
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_TRUE(same(*read, value)) << message.name << ", draw " << i;
    const auto with_more = decode<T>(bytes + "\xfa\x3f\x05hello");  // field 1,023
    ASSERT_TRUE(with_more && same(*with_more, value)) << message.name << ", draw " << i;

    std::string torn = bytes.substr(0, prng.below(bytes.size() + 1));
    if (!torn.empty()) torn[prng.below(torn.size())] = static_cast<char>(prng.below(256));
    if (const auto harmless = decode<T>(torn)) {
      const auto again = decode<T>(encode(*harmless));
      ASSERT_TRUE(again && same(*again, *harmless)) << message.name << ", draw " << i;
    }

    LimitTester limits(message, &value);
    limits.already(tried);
    limits.try_all(message, &value);
    tried = limits.tried();
  }
  last.already(tried);
  last.expect_all(message);
  EXPECT_EQ(decode<T>(std::string(message.most + 1, '\0')).error().code, Errc::kTooLarge);
}

}  // namespace bellwether::message
