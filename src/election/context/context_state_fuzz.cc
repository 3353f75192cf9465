// Bytes as a queue of requests and as a failover state: the readers accept only whole values, and every accepted value
// survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "election/context/failover_state.h"

namespace bellwether::context_lead {
namespace {

// All digests are equal, so that the search gets past them.
Digest no_digest(Bytes) { return {}; }

void try_state(std::string_view bytes) {
  constexpr WallTime kNow{1'700'000'000'000'000'000};
  ReadState read = read_state(bytes, no_digest, kNow, NodeId(1));
  const bool valid = read.validation.valid();
  for (const StateIssue& issue : read.validation.issues) check(!issue.text.empty(), "each issue is in words");
  const auto recovered = recover(std::move(read));
  if (!recovered) return;
  check(recovered->dropped.empty() == valid, "nothing is dropped in silence");
  const auto again = encode(recovered->state, no_digest);
  check(again.has_value(), "what was taken can be handed on");
  check(!valid || *again == bytes, "a state has one encoding");
  check(read_state(*again, no_digest, kNow, NodeId(1)).state == recovered->state, "what was taken comes back");
}

}  // namespace
}  // namespace bellwether::context_lead

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::context_lead;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto queue = RequestQueue::decode(bytes); queue.has_value() && !bytes.empty()) {
    check(queue->encode() == bytes, "a queue has one encoding");
  }
  try_state(bytes);
  return 0;
}
