// Bytes as letters about jobs: what is taken for a letter without being parsed is that letter, or none. Else one could
// pass for another that is never refused.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "cluster/message_classes.h"
#include "cluster/message_types.h"
#include "proto/dispatch.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto field = cluster::letter_field(bytes);
  wire::DispatchLetter letter;
  if (letter.ParseFromArray(data, static_cast<int>(size)) && field) {
    check(letter.body_case() == static_cast<int>(*field), "what a letter is taken for, it is");
  }
  const auto is = cluster::class_of(cluster::message_type::kDispatch, bytes, wire::Role::kClient);
  check(is.urgency != resilience::Urgency::kCritical || field == wire::DispatchLetter::kCancel,
        "a client has one critical letter");
  return 0;
}
