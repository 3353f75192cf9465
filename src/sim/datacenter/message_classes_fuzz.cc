// Bytes as messages about jobs: what is taken for a message without being parsed is that letter, or none. Else one
// could pass for another that is never refused.
#include <cstddef>
#include <cstdint>

#include "cluster/net/message_classes.h"
#include "core/base/check.h"
#include "core/message/description.h"
#include "jobs/dispatch/codec/messages_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const message::Field* const taken_for =
      message::alternative_in(message::message_of<dispatch::JobMessage>(), as_text(bytes));
  auto message = dispatch::decode_message(as_text(bytes));
  if (message && taken_for != nullptr) {
    check(taken_for->locate(&*message) != nullptr, "what a message is taken for, it is");
  }
  const cluster::MessageClasses classes(&message::message_of<dispatch::JobMessage>());
  const auto is = classes.class_of(cluster::message_type::kDispatch, bytes, wire::Role::kClient);
  check(is.urgency != resilience::Urgency::kCritical || (taken_for != nullptr && taken_for->name == "cancel"),
        "a client has one critical message");
  return 0;
}
