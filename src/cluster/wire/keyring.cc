#include "cluster/wire/keyring.h"

#include <algorithm>
#include <array>

#include "cluster/wire/big_endian.h"
#include "core/base/hex.h"

namespace bellwether::wire {
namespace {

KeyId id_of(const Secret& secret) {
  std::array<std::byte, sizeof(KeyId)> bytes{};
  hkdf_sha256(secret.bytes(), {}, as_bytes("bellwether key id 1"), bytes);
  return load_be<KeyId>(bytes.data());
}

}  // namespace

Keyring::Keyring(Secret first) {
  const KeyId id = id_of(first);
  entries_.push_back({id, std::move(first)});
}

Result<KeyId> Keyring::learn(Secret secret) {
  const KeyId id = id_of(secret);
  if (knows(id)) return id;
  if (entries_.size() == kMost) {
    return fail(Errc::kExhausted, "four secrets are known already; forget an old one before learning another");
  }
  entries_.push_back({id, std::move(secret)});
  return id;
}

Status Keyring::use(KeyId id) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.id == id; });
  if (found == entries_.end()) return fail(Errc::kNotFound, "no secret " + key_name(id) + " is known; learn it first");
  std::rotate(entries_.begin(), found, found + 1);
  return {};
}

Status Keyring::forget(KeyId id) {
  if (!knows(id)) return fail(Errc::kNotFound, "no secret " + key_name(id) + " is known");
  if (id == in_use()) {
    return fail(Errc::kInvalid, "the secret " + key_name(id) + " is in use; use another one before forgetting it");
  }
  std::erase_if(entries_, [&](const Entry& e) { return e.id == id; });
  return {};
}

std::vector<KeyId> Keyring::ids() const {
  std::vector<KeyId> ids;
  for (const Entry& entry : entries_) ids.push_back(entry.id);
  return ids;
}

std::optional<Key> Keyring::derive(KeyId id, Bytes salt, Bytes info) const {
  const Entry* entry = find(id);
  if (entry == nullptr) return std::nullopt;
  Key key;
  hkdf_sha256(entry->secret.bytes(), salt, info, key.bytes());
  return key;
}

const Keyring::Entry* Keyring::find(KeyId id) const {
  for (const Entry& entry : entries_) {
    if (entry.id == id) return &entry;
  }
  return nullptr;
}

std::string key_name(KeyId id) { return hex(id, 8); }

}  // namespace bellwether::wire
