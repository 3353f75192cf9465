// Bytes as what a node says of itself through membership: whatever decodes is within its limits, and survives being
// encoded and decoded again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/printable.h"
#include "node/cluster/node_words.h"
#include "node/cluster/quiet_protobuf.h"
#include "wire/identity.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::node;
  quiet_protobuf();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const PeerMeta meta = read_meta(bytes);
  check(meta.priority.value_or(0) <= 8, "a priority is one");
  for (const std::string* name : {&meta.datacenter, &meta.region, &meta.decided_by}) {
    check(name->empty() || wire::is_name(*name), "a name is one");
  }
  check(printable(meta.software) == meta.software, "and nothing moves the cursor of a terminal");
  const PeerMeta again = read_meta(write_meta(meta));
  check(again.datacenter == meta.datacenter && again.region == meta.region && again.software == meta.software &&
            again.priority == meta.priority && again.decided_by == meta.decided_by,
        "a description survives");
  if (const auto state = read_state(bytes)) {
    check(state->health_score >= 0 && state->health_score <= 8, "a health score is one");
    const auto back = read_state(write_state(*state));
    check(back && back->leads == state->leads && back->term == state->term && back->ready == state->ready &&
              back->electable == state->electable && back->health_score == state->health_score &&
              back->degradation == state->degradation && back->stuck == state->stuck,
          "a state survives");
  }
  return 0;
}
