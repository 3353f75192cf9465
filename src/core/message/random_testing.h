// Random values of messages, within all their limits: for property tests and as seeds of a fuzzer.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "core/base/check.h"
#include "core/base/prng.h"
#include "core/message/description.h"
#include "core/message/message.h"

namespace bellwether::message {

// Numbers and texts are short and long alike, zero and the limits among them. REQUIRES: at least one draw in a thousand
// passes the message's further check.
void draw(const Message& message, Prng& prng, void* to);

template <class T>
T random_value(Prng& prng) {
  T out{};
  draw(message_of<T>(), prng, &out);
  return out;
}

namespace random {

inline constexpr std::size_t kMaxList = 3;
inline constexpr int kTries = 1'000;

inline uint64_t number(const Type& type, const Rule& rule, Prng& prng) {
  if (type.kind == Kind::kBool) return prng.below(2);
  if (type.kind == Kind::kReal) {
    const double least = std::max(std::bit_cast<double>(rule.least), -1e9);
    const double most = std::min(std::bit_cast<double>(rule.most), 1e9);
    return std::bit_cast<uint64_t>(prng.chance(0.1) ? least : least + (most - least) * prng.unit());
  }
  // Of the two limits, and of zero where it is within, as far away as it comes.
  const uint64_t room = rule.most - rule.least;
  const uint64_t any = room == UINT64_MAX ? prng.next() : prng.below(room + 1);
  const uint64_t step = any >> prng.below(std::min<uint64_t>(std::bit_width(room) + 1, 64));
  const bool spans_zero = type.kind == Kind::kSigned && static_cast<int64_t>(rule.least) < 0;
  if (!spans_zero) return prng.chance(0.05) ? rule.most : rule.least + step;
  const bool down = prng.chance(0.5);
  const uint64_t reach = down ? -rule.least : rule.most;
  const uint64_t size = std::min(reach, step);
  return down ? -size : size;
}

inline std::string text(const Rule& rule, Prng& prng) {
  if (rule.or_empty && prng.chance(0.5)) return {};
  for (int i = 0; i < kTries; ++i) {
    const std::size_t room = std::min<std::size_t>(rule.most, 200) - std::min<std::size_t>(rule.least, 200);
    std::string out(rule.least + std::min<std::size_t>(room, prng.next() >> prng.between(50, 63)), 0);
    for (char& c : out) {
      c = rule.messages.empty() ? static_cast<char>(prng.below(256)) : rule.messages[prng.below(rule.messages.size())];
    }
    if (rule.fit != nullptr) out = rule.fit(out);
    if (out.size() <= rule.most && (rule.good == nullptr || rule.good(out))) return out;
  }
  check(false, "a text of which no random one is good");
  return {};
}

inline void value(const Field& field, const Type& type, Prng& prng, void* to) {
  if (type.kind == Kind::kMessage) return draw(type.message(), prng, to);
  if (type.draw != nullptr) return type.draw(prng, to);
  if (type.kind == Kind::kText) return check(type.take(to, text(field.rule, prng)), "its length is its limit");
  type.store(to, number(type, field.rule, prng));
}

inline void fields(const Message& message, Prng& prng, void* to) {
  std::vector<const Field*> alternatives;
  for (std::size_t i = 0; i < message.count; ++i) {
    const Field& field = message.fields[i];
    if (field.alternative) {
      alternatives.push_back(&field);
      continue;
    }
    if (field.emplace != nullptr && prng.chance(0.5)) continue;
    if (field.emplace != nullptr) field.emplace(to);
    void* at = field.locate(to);
    if (field.type->item == nullptr) {
      value(field, *field.type, prng, at);
      continue;
    }
    field.type->clear(at);
    const bool optional = field.type->kind == Kind::kOptional;
    const uint64_t size = prng.below(1 + (optional ? 1 : std::min(field.rule.items, kMaxList)));
    for (uint64_t k = 0; k < size; ++k) value(field, *field.type->item, prng, field.type->add(at));
  }
  if (alternatives.empty()) return;
  const Field& field = *alternatives[prng.below(alternatives.size())];
  value(field, *field.type, prng, field.emplace(to));
}

}  // namespace random

inline void draw(const Message& message, Prng& prng, void* to) {
  for (int i = 0; i < random::kTries; ++i) {
    random::fields(message, prng, to);
    if (message.complete != nullptr) message.complete(to);
    if (message.check == nullptr || message.check(to).empty()) return;
  }
  check(false, "a message of which no random one is good");
}

}  // namespace bellwether::message
