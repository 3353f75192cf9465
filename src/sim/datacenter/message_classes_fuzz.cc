// Bytes as letters about jobs: what is taken for a letter without being parsed is that letter, or none. Else one could
// pass for another that is never refused.
#include <cstddef>
#include <cstdint>

#include "cluster/net/message_classes.h"
#include "core/base/check.h"
#include "core/message/description.h"
#include "jobs/dispatch/codec/letters_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const message::Field* const taken_for =
      message::alternative_in(message::message_of<dispatch::Letter>(), as_text(bytes));
  auto letter = dispatch::decode_letter(as_text(bytes));
  if (letter && taken_for != nullptr) {
    check(taken_for->locate(&*letter) != nullptr, "what a letter is taken for, it is");
  }
  const cluster::MessageClasses classes(&message::message_of<dispatch::Letter>());
  const auto is = classes.class_of(cluster::message_type::kDispatch, bytes, wire::Role::kClient);
  check(is.urgency != resilience::Urgency::kCritical || (taken_for != nullptr && taken_for->name == "cancel"),
        "a client has one critical letter");
  return 0;
}
