#include "cluster/wire/link/datagrams.h"

#include <cstring>

#include "cluster/wire/big_endian.h"

namespace bellwether::link {

using runtime::Endpoint;
using runtime::task;
using wire::EnvelopeHeader;
using wire::Refusal;

namespace {

constexpr std::size_t kMaxUdp = 65'507;
constexpr Duration kWorthSendingAgain = Duration::seconds(1);

wire::Aead aead_for(wire::Aead::Direction direction, const wire::Keyring& keyring, const EnvelopeHeader& header) {
  const auto key = wire::envelope_key(keyring, header);
  check(key.has_value(), "the secret in use is known");
  return {direction, *key};
}

}  // namespace

Datagrams::Datagrams(runtime::Runtime& runtime, DatagramSettings settings, const wire::Keyring& keyring,
                     RefusalWatch& refusals, std::unique_ptr<runtime::UdpSocket> socket)
    : runtime_(runtime),
      settings_(std::move(settings)),
      keyring_(keyring),
      refusals_(refusals),
      socket_(std::move(socket)),
      session_(wire::SessionId::draw(runtime.wall_now(), runtime.prng())),
      cluster_(wire::cluster_hash(settings_.self.cluster, settings_.self.environment)),
      own_(wire::node_hash(settings_.self.node)),
      rate_(settings_.rate, runtime.prng().next()),
      replay_(settings_.peers_max, runtime.prng().fork()) {}

Result<std::unique_ptr<Datagrams>> Datagrams::bind(runtime::Runtime& runtime, Endpoint at, DatagramSettings settings,
                                                   const wire::Keyring& keyring, RefusalWatch& refusals) {
  check(settings.size_max > wire::kEnvelopeOverhead && settings.size_max <= kMaxUdp, "a datagram carries something");
  BW_TRY(auto socket, runtime.bind_udp(at));
  return std::unique_ptr<Datagrams>(new Datagrams(runtime, std::move(settings), keyring, refusals, std::move(socket)));
}

// A receiver that gives way is challenged again, if at all.
Datagrams::Receiver& Datagrams::receiver(const Endpoint& to) {
  const auto found = receivers_.find(to);
  if (found != receivers_.end()) return found->second;
  if (receivers_.size() >= settings_.peers_max) receivers_.erase(receivers_.begin());
  return receivers_[to];
}

Status Datagrams::send(Endpoint to, Bytes text) {
  if (text.size() > text_max()) {
    return fail(Errc::kTooLarge, fmt::format("a datagram carries at most {} bytes, not {}", text_max(), text.size()));
  }
  Receiver& known = receiver(to);
  known.last.assign(text.begin(), text.end());
  known.sent = runtime_.now();
  return seal_and_send(to, EnvelopeHeader::Kind::kDatagram, known.tag, text);
}

Status Datagrams::seal_and_send(Endpoint to, EnvelopeHeader::Kind kind, uint64_t tag, Bytes text) {
  const EnvelopeHeader header{.kind = kind,
                              .key = keyring_.in_use(),
                              .cluster = cluster_,
                              .sender = own_,
                              .session = session_,
                              .number = ++number_,
                              .tag = tag};
  if (sealing_with_ != header.key) {
    for (auto& sealer : sealers_) sealer.reset();
    sealing_with_ = header.key;
  }
  auto& sealer = sealers_[kind == EnvelopeHeader::Kind::kChallenge ? 1 : 0];
  if (!sealer) sealer = aead_for(wire::Aead::Direction::kSeal, keyring_, header);
  out_.resize(wire::kEnvelopeOverhead + text.size());
  if (!text.empty()) std::memcpy(out_.data() + wire::kHeaderBytes, text.data(), text.size());
  wire::seal_envelope(*sealer, header, out_);
  ++counts_.sent;
  counts_.sent_bytes += out_.size();
  return socket_->send(to, out_);
}

void Datagrams::challenge(const Endpoint& to, const wire::SessionId& session) {
  std::array<std::byte, sizeof(uint64_t)> tag{};
  wire::store_be(tag.data(), replay_.tag());
  ++counts_.challenges;
  const Status sent = seal_and_send(to, EnvelopeHeader::Kind::kChallenge, session.tag(), tag);
  static_cast<void>(sent);  // lost, as datagrams may be
}

// Learns the tag that the other end demands, and sends again the datagram that it could not take.
Refusal Datagrams::take_challenge(const Endpoint& from, const EnvelopeHeader& header, Bytes text) {
  if (text.size() != sizeof(uint64_t)) return Refusal::kGarbage;
  if (header.tag != session_.tag()) return Refusal::kUnproven;
  Receiver& known = receiver(from);
  if (known.session == header.session && header.number <= known.challenge) return Refusal::kReplayed;
  known.session = header.session;
  known.challenge = header.number;
  known.tag = wire::load_be<uint64_t>(text.data());
  if (known.sent == Instant() || runtime_.now() - known.sent > kWorthSendingAgain) return Refusal::kNone;
  known.sent = Instant();
  ++counts_.sent_again;
  const Status sent = seal_and_send(from, EnvelopeHeader::Kind::kDatagram, known.tag, known.last);
  static_cast<void>(sent);
  return Refusal::kNone;
}

task<Status> Datagrams::receive(DatagramHandler handler, runtime::Cancellation* cancel) {
  std::vector<std::byte> buffer(settings_.size_max + 1);  // one more shows what is too long
  while (true) {
    BW_CO_TRY(const auto came, co_await socket_->receive(buffer, cancel));
    const MutableBytes datagram = MutableBytes(buffer).first(came.size);
    EnvelopeHeader header;
    const Refusal refusal = take(came.from, datagram, header);
    if (refusal != Refusal::kNone) {
      refusals_.note(refusal, came.from, "a datagram was refused", runtime_.now());
      continue;
    }
    if (header.kind == EnvelopeHeader::Kind::kChallenge) continue;
    ++counts_.received;
    counts_.received_bytes += came.size;
    handler(came.from, header.sender, wire::envelope_text(datagram));
  }
}

Refusal Datagrams::take(const Endpoint& from, MutableBytes datagram, EnvelopeHeader& header) {
  if (datagram.size() > settings_.size_max) return Refusal::kOversized;
  const wire::HeaderRead read = wire::read_header(datagram);
  if (read.refusal != Refusal::kNone) return read.refusal;
  header = read.header;
  const bool challenged = header.kind == EnvelopeHeader::Kind::kChallenge;
  if (!challenged && header.kind != EnvelopeHeader::Kind::kDatagram) return Refusal::kGarbage;
  if (header.cluster != cluster_) return Refusal::kCluster;
  // From this socket itself. A datagram of another process under our name is taken: membership decides which of them
  // keeps it.
  if (header.sender == own_ && header.session == session_) return Refusal::kOwnName;
  if (!keyring_.knows(header.key)) return Refusal::kUnknownKey;
  if (!challenged && replay_.look(header) == Refusal::kReplayed) return Refusal::kReplayed;
  if (challenged && header.tag != session_.tag()) return Refusal::kUnproven;
  const auto& source = from.address.octets();
  if (!rate_.allow(source, runtime_.now())) return Refusal::kRateLimited;
  const Refusal opened = open(header, datagram);
  if (opened != Refusal::kNone) return opened;
  const Refusal taken = challenged ? take_challenge(from, header, wire::envelope_text(datagram)) : replay_.take(header);
  if (taken == Refusal::kNone) rate_.refund(source, runtime_.now());
  if (taken == Refusal::kUnproven && !challenged) challenge(from, header.session);
  return taken;
}

// The key of a sender that has proven itself is kept, so that each of its datagrams does not cost a derivation.
Refusal Datagrams::open(const EnvelopeHeader& header, MutableBytes datagram) {
  ++counts_.opened;
  const auto place = known_.find(header.session.tag());
  const bool known = place != known_.end() && place->second.header.kind == header.kind &&
                     place->second.header.key == header.key && place->second.header.sender == header.sender &&
                     place->second.header.session == header.session;
  wire::Key key;
  if (known) {
    key = place->second.key;
  } else {
    ++counts_.derived;
    const auto derived = wire::envelope_key(keyring_, header);
    if (!derived) return Refusal::kUnknownKey;
    key = *derived;
  }
  if (opener_) {
    opener_->set_key(key);
  } else {
    opener_.emplace(wire::Aead::Direction::kOpen, key);
  }
  if (!wire::open_envelope(*opener_, header, datagram)) return Refusal::kForged;
  if (known) return Refusal::kNone;
  if (known_.size() >= settings_.peers_max) known_.clear();
  known_.insert_or_assign(header.session.tag(), KnownKey{header, key});
  return Refusal::kNone;
}

void Datagrams::introduce(const wire::Announced& peer) {
  // A node that only asks has no datagrams, and must not replace the session of a member by its name.
  const bool asks = peer.identity.role == wire::Role::kClient || peer.identity.role == wire::Role::kOperator;
  if (peer.session && !asks) replay_.introduce(wire::node_hash(peer.identity.node), *peer.session);
}

}  // namespace bellwether::link
