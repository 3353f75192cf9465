#include "cluster/vote/key_box.h"

#include <array>
#include <openssl/evp.h>

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
    return fail(Errc::kIo, "no key could be drawn: the system gives no randomness");
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
  // Fails for the few keys with which the outcome would be zero, whatever the other one is.
  const bool agreed = other != nullptr && context.it != nullptr && EVP_PKEY_derive_init(context.it) == 1 &&
                      EVP_PKEY_derive_set_peer(context.it, other.get()) == 1 &&
                      EVP_PKEY_derive(context.it, reinterpret_cast<unsigned char*>(shared.data()), &size) == 1;
  if (!agreed) return fail(Errc::kRefused, "it comes with a public key that is none");
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
    return fail(Errc::kRefused, "it was sealed to another key, or for another term");
  }
  return bytes;
}

}  // namespace bellwether::cluster
