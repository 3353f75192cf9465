#include "cluster/vote/key_share_codec.h"

#include <algorithm>

#include "base/bytes.h"
#include "proto/key_share.pb.h"
#include "secret/key_codec.h"
#include "wire/crypto.h"
#include "wire/identity.h"

namespace bellwether::cluster {
namespace {

constexpr std::size_t kMostSealed = secret::kMostKeyShareBytes + wire::kTagBytes;
constexpr std::size_t kBytesMost = 16384;
constexpr std::size_t kStages = 3;
constexpr uint64_t kTermMost = uint64_t{1} << 48;  // beyond what elections can reach

std::string text_of(const BoxPublicKey& key) { return std::string(as_text(key)); }

std::optional<BoxPublicKey> key_of(std::string_view bytes) {
  BoxPublicKey key{};
  if (bytes.size() != key.size()) return std::nullopt;
  std::ranges::copy(as_bytes(bytes), key.begin());
  return key;
}

struct Writer {
  wire::KeyShareMessage& to;

  void operator()(const KeyShareRequest& from) const {
    auto& request = *to.mutable_request();
    request.set_term(from.term.value());
    if (from.key) request.set_public_key(text_of(*from.key));
    request.set_stage(static_cast<uint32_t>(from.progress.stage));
    request.set_held(static_cast<uint32_t>(from.progress.held));
    request.set_needed(static_cast<uint32_t>(from.progress.needed));
    std::size_t told = 0;
    for (const auto& [name, why] : from.progress.refused) {
      if (told++ == kMostRefusedTold) break;
      auto& refused = *request.add_refused();
      refused.set_from(name);
      refused.set_why(why.substr(0, kMostRefusalBytes));
    }
  }
  void operator()(const KeyShareAnswer& from) const {
    auto& answer = *to.mutable_answer();
    answer.set_term(from.term.value());
    answer.set_public_key(text_of(from.key));
    answer.set_sealed(from.sealed);
  }
};

tl::unexpected<Error> wrong(const char* what) {
  return fail(Errc::kProtocol, std::string("a message about key shares with ") + what);
}

Result<KeyShareMessage> read(const wire::KeyShareMessage::Request& from) {
  KeyShareRequest out{election::Term(from.term()), key_of(from.public_key()), {}};
  if (from.term() > kTermMost) return wrong("a term that nobody can have reached");
  if (!from.public_key().empty() && !out.key) return wrong("a public key of another size");
  if (from.stage() >= kStages) return wrong("a stage that there is not");
  if (from.held() > secret::kMostKeyShares || from.needed() > secret::kMostKeyShares)
    return wrong("too many key shares");
  if (from.refused_size() > static_cast<int>(kMostRefusedTold)) return wrong("too many refusals");
  out.progress.stage = static_cast<KeyProgress::Stage>(from.stage());
  out.progress.held = from.held();
  out.progress.needed = from.needed();
  for (const auto& one : from.refused()) {
    if (!wire::is_name(one.from()) || one.why().size() > kMostRefusalBytes) return wrong("a refusal of nobody");
    out.progress.refused[one.from()] = one.why();
  }
  return out;
}

Result<KeyShareMessage> read(const wire::KeyShareMessage::Answer& from) {
  const auto key = key_of(from.public_key());
  if (from.term() > kTermMost) return wrong("a term that nobody can have reached");
  if (!key) return wrong("a public key of another size");
  if (from.sealed().size() <= wire::kTagBytes || from.sealed().size() > kMostSealed) return wrong("no key share");
  return KeyShareAnswer{election::Term(from.term()), *key, from.sealed()};
}

}  // namespace

std::string_view to_string(KeyProgress::Stage stage) {
  switch (stage) {
    case KeyProgress::Stage::kCollecting: return "collecting";
    case KeyProgress::Stage::kReady: return "ready";
    case KeyProgress::Stage::kFailed: return "failed";
  }
  return "";
}

std::string encode(const KeyShareMessage& message) {
  wire::KeyShareMessage out;
  std::visit(Writer{out}, message);
  return out.SerializeAsString();
}

Result<KeyShareMessage> decode_key_share_message(std::string_view bytes) {
  wire::KeyShareMessage in;
  if (bytes.size() > kBytesMost || !in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kProtocol, "a message about key shares that cannot be read");
  }
  if (in.has_request()) return read(in.request());
  if (in.has_answer()) return read(in.answer());
  return fail(Errc::kUnsupported, "a message about key shares of a kind that is not known");
}

}  // namespace bellwether::cluster
