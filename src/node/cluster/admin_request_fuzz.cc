// Bytes as the request of an operator: whatever decodes is answered by a node, reaches its desk only with what can be
// asked there, is audited if it changes something, and gives an answer that decodes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "node/cluster/admin_request.h"
#include "node/cluster/desk_testing.h"
#include "node/cluster/quiet_protobuf.h"
#include "proto/admin.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::node;
  quiet_protobuf();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  FakeDesk desk;
  if (size % 5 == 0) desk.refuses = "not now";
  AdminService service(desk, "a", desk);
  const auto request = decode_admin_request(bytes);
  const auto answer = service.answer(bytes, "ops");
  if (!request) {
    check(!answer && !answer.error().message.empty(), "what does not decode is refused, with the reason");
    check(desk.acts.empty() && desk.audited.empty(), "and nothing is done");
    return 0;
  }
  const bool changes = !act_of(*request).empty();
  check(desk.audited.size() == (changes ? 1u : 0u), "every act is audited, and no question");
  check(answer.has_value() == (!changes || desk.refuses.empty()), "a question is answered, an act is done or refused");
  if (answer) check(wire::AdminAnswer().ParseFromString(*answer), "an answer decodes");
  return 0;
}
