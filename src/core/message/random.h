// Random values of messages, within all their limits: for property tests and as seeds of a fuzzer.
#pragma once

#include "core/base/prng.h"
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

}  // namespace bellwether::message
