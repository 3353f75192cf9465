#include "cluster/wire/hello.h"

#include <span>

#include "core/base/encoding.h"
#include "core/base/prng.h"
#include "core/message/describe.h"

namespace bellwether::wire {
std::string to_string(ProtocolVersion version) { return fmt::format("{}.{}", version.major, version.minor); }

// A role travels as its name. A missing or unknown one is none.
static std::string wire_bytes(Role role) { return std::string(to_string(role)); }
static bool from_wire_bytes(std::string_view bytes, Role& to) {
  const auto role = parse_role(bytes);
  to = role.value_or(static_cast<Role>(kRoles));
  return role || bytes.empty();
}
static bool is_good_value(Role role) { return static_cast<std::size_t>(role) < kRoles; }
static void draw_value(Prng& prng, Role& to) { to = static_cast<Role>(prng.below(kRoles)); }

}  // namespace bellwether::wire

namespace bellwether::message {

using wire::Announced;
using wire::Identity;
using wire::ProtocolVersion;
using wire::RefusedText;

namespace {

constexpr Rule kName = text(wire::kMaxName, "name", &wire::is_name, "aZ0._-");

template <std::size_t kMaxBytes>
std::string shown(std::string_view text) {
  return printable(text.substr(0, kMaxBytes));
}
template <std::size_t kMaxBytes>
constexpr Rule kShown = fitted(kMaxBytes, &shown<kMaxBytes>);

}  // namespace

template <>
constexpr auto kDescription<ProtocolVersion> =
    describe<ProtocolVersion>("a version", field<&ProtocolVersion::major>(1, kSome), field<&ProtocolVersion::minor>(2));

template <>
constexpr auto kDescription<Announced> =
    describe<Announced>(
        "a hello", field<&Announced::version>(1), field<&Announced::identity, &Identity::cluster>(2, kName),
        field<&Announced::identity, &Identity::environment>(3, kName),
        field<&Announced::identity, &Identity::role>(4, text(wire::kMaxName, "role")),
        field<&Announced::identity, &Identity::datacenter>(5, kName),
        field<&Announced::identity, &Identity::node>(6, kName), field<&Announced::software>(7, kShown<128>),
        field<&Announced::session>(9), field<&Announced::requests_max>(10, between(1U, wire::kMaxRequests)))
        .within(wire::kMaxHello);

template <>
constexpr auto kDescription<RefusedText> =
    describe<RefusedText>("a refusal", field<&RefusedText::reason>(1, kShown<wire::kMaxName>),
                          field<&RefusedText::detail>(2, kShown<512>))
        .within(wire::kMaxHello);

template <>
const Message& message_of<Announced>() {
  return described<Announced>();
}
template <>
const Message& message_of<RefusedText>() {
  return described<RefusedText>();
}

}  // namespace bellwether::message

namespace bellwether::wire {

Result<Announced> decode_hello(Bytes bytes) {
  const message::Message& hello = message::message_of<Announced>();
  message::Message part = hello;
  part.count = 0;
  Announced announced;
  if (!message::decode(part, as_text(bytes), &announced)) {
    return fail(Errc::kProtocol, "the other end's hello cannot be read");
  }
  // One field after the other, since a major has its own rules for the fields behind the environment.
  part.count = 1;
  for (const message::Field& field : std::span(hello.fields, hello.count)) {
    part.fields = &field;
    if (!message::decode(part, as_text(bytes), &announced)) {
      return fail(Errc::kProtocol, fmt::format("the other end's hello has a missing or wrong field '{}'", field.name));
    }
    if (field.name == "environment" && announced.version.major != kVersion.major) {
      announced.identity = {announced.identity.cluster, announced.identity.environment, "unknown", "unknown",
                            Role::kClient};
      break;
    }
  }
  return announced;
}

}  // namespace bellwether::wire
