// Lets arbitrary bytes arrive at a member, as a datagram, as a request on a stream and as the answer to one: nothing
// breaks, its own incarnation stays within reason, and what it sends stays within its bounds.
//
// The input: packets one after the other, each a byte that says how it arrives, two bytes of length, the bytes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cluster/membership/membership.h"
#include "core/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  using namespace bellwether::membership;
  Directory directory;
  const Endpoint here = Endpoint::v4({10, 0, 0, 1}, 1);
  Membership member({.name = "a", .profile = {.endpoint = here, .role = 0, .meta = {}}, .life = 5, .figures = lan()},
                    directory, 1);
  Effects out;
  Instant now = Instant::from_ns(1);
  member.step(now, Start{.seeds = {Endpoint::v4({10, 0, 0, 2}, 1)}, .remembered = {}}, out);
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (int packets = 0; rest.size() >= 3 && packets < 64; ++packets) {
    const uint8_t how = static_cast<uint8_t>(rest[0]);
    const std::size_t length = static_cast<uint8_t>(rest[1]) | static_cast<std::size_t>(static_cast<uint8_t>(rest[2]))
                                                                   << 8;
    rest.remove_prefix(3);
    const std::string_view packet = rest.substr(0, length);
    rest.remove_prefix(packet.size());
    now += Duration::millis(how);
    out.clear();
    if (how % 4 == 0) member.step(now, StreamAsked{1, packet}, out);
    if (how % 4 == 1) member.step(now, StreamAnswered{how / 4U, packet}, out);
    if (how % 4 >= 2) member.step(now, DatagramArrived{Endpoint::v4({10, 0, 0, how}, 1), packet}, out);
    if (member.wake() <= now) member.step(now, Tick{}, out);
    for (const Effect& effect : out) {
      if (const auto* datagram = std::get_if<SendDatagram>(&effect)) {
        check(datagram->bytes.size() <= kMaxDatagram, "a datagram fits");
      }
      if (const auto* reply = std::get_if<ReplyStream>(&effect)) {
        check(reply->bytes.size() <= kMaxStream, "an answer fits");
      }
    }
    check(member.table().size() <= lan().max_members, "the view is bounded");
    check(member.incarnation() <= kMaxIncarnation, "the incarnation can still be told");
  }
  return 0;
}
