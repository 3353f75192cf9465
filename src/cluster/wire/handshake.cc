#include "cluster/wire/handshake.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "cluster/wire/big_endian.h"
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

template const Message& message_of<Announced>();
template const Message& message_of<RefusedText>();

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

namespace {

using HeaderKind = EnvelopeHeader::Kind;

tl::unexpected<Declined> declined(Refusal refusal, std::string detail) {
  return tl::unexpected<Declined>(Declined{refusal, std::move(detail)});
}

// The same of one that was judged, with more to say about it.
tl::unexpected<Declined> declined(Declined judged, std::string detail) {
  judged.detail = std::move(detail);
  return tl::unexpected<Declined>(std::move(judged));
}

std::string described(const Announced& node) {
  return fmt::format("{} '{}'", to_string(node.identity.role), node.identity.node);
}

std::string a_role(Role role) { return (role == Role::kOperator ? "an " : "a ") + std::string(to_string(role)); }

// Checks the certificate of a node against the node's statements about itself.
Declined judge_claims(const std::vector<Claims>& claims, const Identity& other) {
  const auto allows = [&](const Claims& one) { return claims_allow(one, other); };
  if (std::any_of(claims.begin(), claims.end(), allows)) return {};
  const auto fits = [&](const Claims& one) { return claims_allow_role(one, other); };
  const std::string where = fmt::format("{}/{}/{}", other.cluster, other.environment, other.datacenter);
  const auto found = std::find_if(claims.begin(), claims.end(), fits);
  if (found == claims.end()) {
    return {Refusal::kCertificate,
            fmt::format("the certificate does not permit its node to be {} of {}", a_role(other.role), where)};
  }
  if (found->node.empty()) {
    return {Refusal::kCertificate, fmt::format("the certificate does not name its node: make one with the alternative "
                                               "name URI:bellwether://{}/role/{}/node/{}",
                                               where, to_string(other.role), other.node)};
  }
  return {Refusal::kName,
          fmt::format("the certificate belongs to '{}', but the node's name is '{}'; each node needs a certificate of "
                      "its own, for the name in its settings",
                      found->node, other.node),
          {found->node, other.node}};
}

// In the order in which it is decided. `from` connects to `to`; one of them is this node.
Declined judge(const HandshakeSettings& settings, const Announced& peer, bool peer_connects, const Proof& claims) {
  const Identity& self = settings.self.identity;
  const Identity& other = peer.identity;
  if (other.cluster != self.cluster) {
    return {Refusal::kCluster,
            fmt::format("this is the cluster '{}', not '{}'", self.cluster, other.cluster),
            {self.cluster, other.cluster}};
  }
  if (other.environment != self.environment) {
    return {Refusal::kEnvironment,
            fmt::format("this is the environment '{}', not '{}'", self.environment, other.environment),
            {self.environment, other.environment}};
  }
  if (peer.version.major != settings.self.version.major) {
    return {
        Refusal::kVersion,
        fmt::format("this node uses protocol {}, the other one {}, and versions with different major numbers cannot "
                    "work together: stop all nodes of the cluster, and start them with one version",
                    to_string(settings.self.version), to_string(peer.version))};
  }
  if (other.node == self.node) {
    return {Refusal::kOwnName,
            fmt::format("this node has the name '{}' too; each node needs a name of its own", self.node)};
  }
  if (claims) {
    if (Declined unproven = judge_claims(*claims, other); unproven.refusal != Refusal::kNone) return unproven;
  }
  const Role from = peer_connects ? other.role : self.role;
  const Role to = peer_connects ? self.role : other.role;
  if (!may_connect(from, to, settings.has_gates)) {
    return {Refusal::kRole,
            fmt::format("{} may not connect to {}{}", a_role(from), a_role(to),
                        from == Role::kClient && to == Role::kManager
                            ? " of a cluster with gates: connect to a gate, or start the managers with gates: false"
                            : ""),
            {std::string(to_string(from)), std::string(to_string(to))}};
  }
  return {};
}

// An envelope around `text`.
std::vector<std::byte> envelope_of(const Keyring& keyring, EnvelopeHeader header, Bytes text, Bytes answers) {
  std::vector<std::byte> envelope(kEnvelopeOverhead + text.size());
  if (!text.empty()) std::memcpy(envelope.data() + kHeaderBytes, text.data(), text.size());
  const auto key = envelope_key(keyring, header);
  check(key.has_value(), "the secret in use is known");
  Aead aead(Aead::Direction::kSeal, *key);
  seal_envelope(aead, header, envelope, answers);
  return envelope;
}

EnvelopeHeader header_of(const HandshakeSettings& settings, HeaderKind kind, KeyId key, const SessionId& session) {
  const Identity& self = settings.self.identity;
  return {.kind = kind,
          .key = key,
          .cluster = cluster_hash(self.cluster, self.environment),
          .sender = node_hash(self.node),
          .session = session,
          .number = 1};
}

// Opens an envelope of one of two kinds in place.
Refusal open(const Keyring& keyring, const EnvelopeHeader& header, MutableBytes envelope, Bytes answers) {
  const auto key = envelope_key(keyring, header);
  if (!key) return Refusal::kUnknownKey;
  Aead aead(Aead::Direction::kOpen, *key);
  return open_envelope(aead, header, envelope, answers) ? Refusal::kNone : Refusal::kForged;
}

struct ConnectionKeys {
  Key of_opener;
  Key of_acceptor;
};

ConnectionKeys connection_keys(const Keyring& keyring, KeyId key, const SessionId& opener, const SessionId& acceptor,
                               const Digest& hello, const Digest& welcome) {
  static constexpr std::string_view kInfo = "bellwether stream 1";
  std::array<std::byte, 32> salt{};
  FixedWriter salts(salt);
  salts.put(Bytes(opener.bytes));
  salts.put(Bytes(acceptor.bytes));
  std::array<std::byte, kInfo.size() + 64 + 1> info{};
  FixedWriter out(info);
  out.put(as_bytes(kInfo));
  out.put(Bytes(hello));
  out.put(Bytes(welcome));
  ConnectionKeys keys;
  info.back() = std::byte{1};
  keys.of_opener = keyring.derive(key, salt, info).value();
  info.back() = std::byte{2};
  keys.of_acceptor = keyring.derive(key, salt, info).value();
  return keys;
}

Agreement agreement(const HandshakeSettings& settings, Announced peer, const Proof& claims, KeyId key) {
  Agreement made;
  made.version = std::min(settings.self.version, peer.version);
  made.peer = std::move(peer);
  made.role_proven = claims.has_value();
  made.key = key;
  return made;
}

}  // namespace

Opener::Opener(const HandshakeSettings& settings, const Keyring& keyring, const SessionId& session)
    : settings_(settings), session_(session), key_(keyring.in_use()) {
  const std::string text = message::encode(settings.self);
  hello_ = envelope_of(keyring, header_of(settings, HeaderKind::kHello, key_, session), as_bytes(text), {});
}

Agreed Opener::on_answer(const Keyring& keyring, MutableBytes answer, const Proof& claims) const {
  const HeaderRead read = read_header(answer);
  if (read.refusal != Refusal::kNone) return declined(read.refusal, "the answer to the hello is not an envelope");
  const EnvelopeHeader& header = read.header;
  if (header.kind != HeaderKind::kWelcome && header.kind != HeaderKind::kRefused) {
    return declined(Refusal::kUnexpected, "the answer to the hello is neither a welcome nor a refusal");
  }
  const Digest hello = sha256(hello_);
  const Digest welcome = sha256(answer);
  const Refusal opened = header.key == key_ ? open(keyring, header, answer, hello) : Refusal::kUnknownKey;
  if (opened != Refusal::kNone) {
    return declined(opened,
                    "its secret differs from this node's, " + key_name(key_) + ": give both the same secret.file");
  }
  const Bytes text = envelope_text(answer);
  if (header.kind == HeaderKind::kRefused) {
    const auto refused = message::decode<RefusedText>(as_text(text));
    if (!refused) return declined(Refusal::kGarbage, "the other end's refusal cannot be read");
    const Refusal reason = refusal_named(refused->reason).value_or(Refusal::kNone);
    return declined(reason == Refusal::kNone ? Refusal::kUnexpected : reason,
                    "refused by the other end: " + refused->detail);
  }
  auto peer = decode_hello(text);
  if (!peer) return declined(Refusal::kGarbage, peer.error().message);
  const Declined judged = judge(settings_, *peer, false, claims);
  if (judged.refusal != Refusal::kNone) return declined(judged, fmt::format("{}: {}", described(*peer), judged.detail));
  Agreement made = agreement(settings_, std::move(*peer), claims, key_);
  const ConnectionKeys keys = connection_keys(keyring, key_, session_, header.session, hello, welcome);
  made.send = keys.of_opener;
  made.receive = keys.of_acceptor;
  return made;
}

Acceptor::Answer Acceptor::on_hello(const HandshakeSettings& settings, const Keyring& keyring, MutableBytes hello,
                                    const SessionId& session, const Proof& claims) {
  const HeaderRead read = read_header(hello);
  if (read.refusal != Refusal::kNone) return {{}, declined(read.refusal, "the first frame is not an envelope")};
  const EnvelopeHeader& header = read.header;
  if (header.kind != HeaderKind::kHello) return {{}, declined(Refusal::kUnexpected, "the first frame is not a hello")};
  const Digest asked = sha256(hello);
  const Refusal opened = open(keyring, header, hello, {});
  if (opened != Refusal::kNone)
    return {{}, declined(opened, "its secret differs from this node's: give both the same secret.file")};

  const auto answer = [&](HeaderKind kind, const std::string& text) {
    return envelope_of(keyring, header_of(settings, kind, header.key, session), as_bytes(text), asked);
  };
  const auto refuse = [&](const Declined& why, const std::string& who) {
    const std::string text = message::encode(RefusedText{std::string(to_string(why.refusal)), why.detail});
    return Answer{answer(HeaderKind::kRefused, text), declined(why, who + why.detail)};
  };
  auto peer = decode_hello(envelope_text(hello));
  if (!peer) return refuse({Refusal::kGarbage, peer.error().message}, "");
  const Declined judged = judge(settings, *peer, true, claims);
  if (judged.refusal != Refusal::kNone) return refuse(judged, described(*peer) + ": ");

  Answer accepted{answer(HeaderKind::kWelcome, message::encode(settings.self)), Agreed(Agreement{})};
  Agreement made = agreement(settings, std::move(*peer), claims, header.key);
  const ConnectionKeys keys =
      connection_keys(keyring, header.key, header.session, session, asked, sha256(accepted.frame));
  made.send = keys.of_acceptor;
  made.receive = keys.of_opener;
  accepted.agreed = std::move(made);
  return accepted;
}

}  // namespace bellwether::wire
