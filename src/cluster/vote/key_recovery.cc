#include "cluster/vote/key_recovery.h"

#include <array>
#include <openssl/evp.h>
#include <utility>

#include "cluster/net/message_classes.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/secret/key_codec.h"

namespace bellwether::cluster {
namespace {

constexpr std::string_view kInfo = "bellwether key share 1";

const unsigned char* raw(const BoxPublicKey& key) { return reinterpret_cast<const unsigned char*>(key.data()); }

}  // namespace

void BoxKey::Freed::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }

Result<BoxKey> BoxKey::draw() {
  Held key(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519"));
  BoxPublicKey public_key{};
  std::size_t size = public_key.size();
  if (key == nullptr ||
      EVP_PKEY_get_raw_public_key(key.get(), reinterpret_cast<unsigned char*>(public_key.data()), &size) != 1) {
    return fail(Errc::kIo, "no key could be generated: the system's source of randomness failed");
  }
  return BoxKey(std::move(key), public_key);
}

Result<wire::Key> BoxKey::agree(const BoxPublicKey& with, const BoxPublicKey& sender,
                                const BoxPublicKey& receiver) const {
  const Held other(EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, raw(with), with.size()));
  struct Context {
    EVP_PKEY_CTX* it;
    ~Context() { EVP_PKEY_CTX_free(it); }
  };
  const Context context{EVP_PKEY_CTX_new(key_.get(), nullptr)};
  std::array<std::byte, 32> shared{};
  std::size_t size = shared.size();
  // Fails for the few keys with which the outcome would be zero for every other key.
  const bool agreed = other != nullptr && context.it != nullptr && EVP_PKEY_derive_init(context.it) == 1 &&
                      EVP_PKEY_derive_set_peer(context.it, other.get()) == 1 &&
                      EVP_PKEY_derive(context.it, reinterpret_cast<unsigned char*>(shared.data()), &size) == 1;
  if (!agreed) return fail(Errc::kRefused, "its public key is invalid");
  std::array<std::byte, 64> salt{};
  std::ranges::copy(sender, salt.begin());
  std::ranges::copy(receiver, salt.begin() + 32);
  wire::Key key;
  wire::hkdf_sha256(shared, salt, as_bytes(kInfo), key.bytes());
  wire::wipe(shared);
  return key;
}

Result<std::string> BoxKey::seal(const BoxPublicKey& to, std::string_view context, Bytes bytes) const {
  BW_TRY(const auto key, agree(to, public_key_, to));
  std::string sealed(as_text(bytes));
  sealed.resize(bytes.size() + wire::kTagBytes);
  const MutableBytes all = std::as_writable_bytes(std::span(sealed));
  wire::Aead(wire::Aead::Direction::kSeal, key)
      .seal(0, as_bytes(context), all.first(bytes.size()), all.last<wire::kTagBytes>());
  return sealed;
}

Result<secret::SecretBytes> BoxKey::open(const BoxPublicKey& from, std::string_view context,
                                         std::string_view sealed) const {
  BW_TRY(const auto key, agree(from, from, public_key_));
  const Bytes all = as_bytes(sealed);
  if (all.size() < wire::kTagBytes) return fail(Errc::kRefused, "it is too short");
  auto bytes = secret::SecretBytes::copy_of(all.first(all.size() - wire::kTagBytes));
  if (!wire::Aead(wire::Aead::Direction::kOpen, key)
           .open(0, as_bytes(context), bytes.bytes(), all.last<wire::kTagBytes>())) {
    return fail(Errc::kRefused, "it was encrypted to another key or for another term");
  }
  return bytes;
}

using runtime::task;
using Stage = KeyProgress::Stage;

namespace {
constexpr int kTellsOfEnd = 5;
}

KeyRecovery::KeyRecovery(runtime::Runtime& runtime, PeerLinks& links, MessageRouter& router, Addresses addresses,
                         const VoteSeal& seal, KeyRecoverySettings settings, KeyHolding holding, Owner owner)
    : runtime_(runtime),
      links_(links),
      router_(router),
      addresses_(addresses),
      seal_(seal),
      settings_(std::move(settings)),
      holding_(std::move(holding)),
      owner_(owner) {
  router_.connect(message_type::kKeyShare, *this);
}

KeyRecovery::~KeyRecovery() { router_.disconnect(message_type::kKeyShare); }

std::string KeyRecovery::context(const std::string& admin, const std::string& holder, election::Term term) const {
  // Names have no line ends.
  return fmt::format("{}\n{}\n{}\n{}", settings_.group, admin, holder, term.value());
}

void KeyRecovery::send(const std::string& to, const KeyShareMessage& message) {
  const auto peer = addresses_(to);
  if (!peer) return;  // as if it had been lost: it is asked again
  links_.send(*peer, message_type::kKeyShare, wire::Priority::kLeadership,
              seal_.seal(message::encode(message), VoteSeal::About::kKeyShare), settings_.again);
}

std::optional<VoteView::Keys> KeyRecovery::view() const {
  if (!seen_) return std::nullopt;
  const KeyProgress& progress = seen_->progress;
  VoteView::Keys view{seen_->term.value(), seen_->admin,    std::string(to_string(progress.stage)),
                      progress.held,       progress.needed, {}};
  for (const KeyRefusal& one : progress.refused) view.refused.push_back({one.from, one.why});
  return view;
}

// --- the nodes that keep a key share ---------------------------------------------------------------------------------

void KeyRecovery::on_message(link::Connection& connection, const wire::Inbound& inbound) {
  const std::string& sender = connection.peer().identity.node;
  const auto bytes = seal_.open(as_text(inbound.body), sender, VoteSeal::About::kKeyShare);
  const auto message = bytes ? message::decode<KeyShareMessage>(*bytes) : tl::unexpected(bytes.error());
  if (!message) {
    // The first of many is reported.
    if (refused_++ == 0) owner_.on_warning(message.error().message);
    return;
  }
  if (const auto* request = std::get_if<KeyShareRequest>(&*message)) {
    on_asked(sender, *request);
  } else {
    on_answer(sender, std::get<KeyShareAnswer>(*message));
  }
}

void KeyRecovery::on_asked(const std::string& admin, const KeyShareRequest& request) {
  if (collecting_ || (seen_ && request.term < seen_->term)) return;
  // Only the admin that this node follows is believed, so that no other node can claim to collect.
  if (!owner_.follows(admin, request.term)) return;
  seen_ = Seen{request.term, admin, request.progress};
  if (!request.key) return;
  const auto key = BoxKey::draw();
  const secret::SecretBytes share = secret::encode(holding_.share);
  auto sealed = key ? key->seal(*request.key, context(admin, settings_.self, request.term), share.bytes())
                    : tl::unexpected(key.error());
  if (!sealed)
    return owner_.on_warning(fmt::format("no key share was sent to '{}': {}", admin, sealed.error().message));
  send(admin, KeyShareAnswer{request.term, key->public_key(), std::move(*sealed)});
}

// --- the elected node ------------------------------------------------------------------------------------------------

void KeyRecovery::collect(election::Term term, runtime::Scope& scope) {
  stop();
  auto key = BoxKey::draw();
  if (!key) return owner_.on_key(term, tl::unexpected(key.error()));
  collecting_.emplace(Collecting{term, std::move(*key), secret::Collector(holding_.commitment), {}});
  const secret::KeyShare& own = holding_.share;
  take(settings_.self,
       secret::KeyShare{own.secret, own.salt, own.index, secret::SecretBytes::copy_of(own.value.bytes())});
  scope.spawn(keep_asking(term, scope.cancellation()));
}

void KeyRecovery::stop() {
  if (!collecting_) return;
  if (seen_->progress.stage == Stage::kCollecting) seen_->progress.stage = Stage::kFailed;
  collecting_.reset();
  heard_.clear();
}

task<void> KeyRecovery::keep_asking(election::Term term, runtime::Cancellation* cancel) {
  const Instant until = runtime_.boot_now() + settings_.limit;
  while (collecting_ && collecting_->term == term) {
    if (runtime_.boot_now() >= until) {
      finish(fail(Errc::kTimeout, why_too_few()));
      break;
    }
    tell(true);
    const bool passed = co_await runtime_.sleep(settings_.again, cancel);
    if (!passed) co_return;
  }
  // A node that did not follow yet when it ended hears of the end too.
  for (int i = 0; i < kTellsOfEnd; ++i) {
    const bool passed = co_await runtime_.sleep(settings_.again, cancel);
    if (!passed || !seen_ || seen_->term != term || seen_->admin != settings_.self) co_return;
    tell(false);
  }
}

void KeyRecovery::on_answer(const std::string& from, const KeyShareAnswer& answer) {
  if (!collecting_ || answer.term != collecting_->term || heard_.contains(from)) return;
  const auto bytes = collecting_->key.open(answer.key, context(settings_.self, from, answer.term), answer.sealed);
  take(from, bytes ? secret::decode_key_share(bytes->bytes()) : tl::unexpected(bytes.error()));
}

void KeyRecovery::take(const std::string& from, Result<secret::KeyShare> share) {
  if (!share) return refuse(from, share.error().message);
  const uint8_t index = share->index;
  const auto taken = collecting_->collector.take(member_id(from).value(), std::move(*share));
  if (!taken) return refuse(from, collecting_->collector.refused().at(member_id(from).value()));
  if (*taken == secret::Collector::Taken::kDouble) {
    for (const auto& [other, held] : heard_) {
      if (held == index) return refuse(from, fmt::format("key share {} belongs to '{}'", index, other));
    }
  }
  heard_[from] = index;
  collecting_->refused.erase(from);
  look();
}

void KeyRecovery::refuse(const std::string& from, const std::string& why) {
  ++refused_;
  std::string& last = collecting_->refused[from];
  if (last == why) return;
  last = why;
  owner_.on_warning(fmt::format("the key share of '{}' is refused: {}", printable(from), why));
  look();
}

void KeyRecovery::look() {
  const secret::Collector& collector = collecting_->collector;
  seen_ = Seen{collecting_->term,
               settings_.self,
               {Stage::kCollecting, collector.held(), holding_.commitment.head().rule.threshold, {}}};
  for (const auto& [from, why] : collecting_->refused) seen_->progress.refused.push_back({from, why});
  if (collector.state() == secret::Collector::State::kReady) finish(collecting_->collector.give());
}

void KeyRecovery::finish(Result<secret::SecretBytes> key) {
  const election::Term term = collecting_->term;
  seen_->progress.stage = key ? Stage::kReady : Stage::kFailed;
  tell(false);
  stop();
  owner_.on_key(term, std::move(key));
}

void KeyRecovery::tell(bool asks) {
  const auto key = asks ? std::optional(collecting_->key.public_key()) : std::nullopt;
  KeyShareRequest to_all{seen_->term, key, seen_->progress};
  if (to_all.progress.refused.size() > kMaxRefusedTold) to_all.progress.refused.resize(kMaxRefusedTold);
  for (const std::string& name : settings_.members) {
    // Nodes that were refused are asked again too: an error of the transport may not repeat itself.
    if (name != settings_.self && !(asks && heard_.contains(name))) send(name, to_all);
  }
}

std::string KeyRecovery::why_too_few() const {
  const KeyProgress& progress = seen_->progress;
  const std::map<std::string, std::string>& refused = collecting_->refused;
  std::string text =
      fmt::format("{} of {} key shares after {}", progress.held, progress.needed, format_duration(settings_.limit));
  for (const auto& [name, why] : refused) text += fmt::format("; the one of '{}' was refused: {}", name, why);
  std::string silent;
  for (const std::string& name : settings_.members) {
    if (!heard_.contains(name) && !refused.contains(name))
      silent += fmt::format("{}{}'", silent.empty() ? "'" : ", '", name);
  }
  return silent.empty() ? text : fmt::format("{}; none came from {}", text, silent);
}

}  // namespace bellwether::cluster
