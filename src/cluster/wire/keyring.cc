#include "cluster/wire/keyring.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <openssl/crypto.h>
#include <string_view>
#include <utility>

#include "cluster/wire/big_endian.h"
#include "cluster/wire/crypto.h"
#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/encoding.h"

namespace bellwether::wire {
namespace {

constexpr std::size_t kSecureHeap = 64 * 1024;  // OpenSSL's heap that is locked and left out of core dumps
constexpr std::size_t kSmallest = 32;
constexpr std::size_t kMinDistinct = 6;
constexpr std::size_t kMaxUnit = 8;

std::byte* allocate(std::size_t size) {
  static const int ready =
      CRYPTO_secure_malloc_initialized() == 1 ? 1 : CRYPTO_secure_malloc_init(kSecureHeap, kSmallest);
  static_cast<void>(ready);  // without it, OpenSSL gives ordinary memory
  auto* data = static_cast<std::byte*>(OPENSSL_secure_malloc(size));
  check(data != nullptr, "memory for a secret");
  return data;
}

std::size_t distinct_characters(std::string_view text) {
  std::array<bool, 256> seen{};
  for (const char c : text) seen[static_cast<unsigned char>(c)] = true;
  return static_cast<std::size_t>(std::count(seen.begin(), seen.end(), true));
}

// "abcabcabc…": a short unit again and again.
bool repeats(std::string_view text) {
  for (std::size_t unit = 1; unit <= kMaxUnit; ++unit) {
    bool same = true;
    for (std::size_t i = unit; same && i < text.size(); ++i) same = text[i] == text[i - unit];
    if (same) return true;
  }
  return false;
}

// "abcdefgh…", "12345678…", "87654321…": the next character is nearly always the neighbour of the last one.
bool counts_up_or_down(std::string_view text) {
  std::size_t steps = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const int step = text[i] - text[i - 1];
    if (step == 1 || step == -1) ++steps;
  }
  return steps * 4 >= (text.size() - 1) * 3;
}

// Only words that attackers try first, with digits and signs between them.
bool only_well_known_words(std::string_view text) {
  static constexpr std::array<std::string_view, 20> kWords = {
      "bellwether", "changeme", "password", "passphrase", "example", "default", "letmein",
      "cluster",    "welcome",  "secret",   "please",     "qwerty",  "shared",  "change",
      "admin",      "token",    "auth",     "test",       "key",     "the"};
  std::string messages;
  for (const char c : text) {
    if (is_letter(c)) messages += ascii_lower(c);
  }
  std::string_view rest = messages;
  while (!rest.empty()) {
    const auto word =
        std::find_if(kWords.begin(), kWords.end(), [&](std::string_view w) { return rest.starts_with(w); });
    if (word == kWords.end()) break;
    rest.remove_prefix(word->size());
  }
  const bool known = !messages.empty() && rest.empty();
  wipe(std::as_writable_bytes(std::span(messages)));
  return known;
}

const char* weakness(std::string_view text) {
  if (text.size() < kMinSecret) return "it is shorter than 16 characters";
  if (text.size() > kMaxSecret) return "it is longer than 1024 characters";
  if (distinct_characters(text) < kMinDistinct) return "it has too few different characters";
  if (repeats(text)) return "it repeats a short piece";
  if (counts_up_or_down(text)) return "it counts or follows the alphabet";
  if (only_well_known_words(text)) return "it consists of well-known words";
  return nullptr;
}

KeyId id_of(const Secret& secret) {
  std::array<std::byte, sizeof(KeyId)> bytes{};
  hkdf_sha256(secret.bytes(), {}, as_bytes("bellwether key id 1"), bytes);
  return load_be<KeyId>(bytes.data());
}

}  // namespace

Result<Secret> Secret::take(std::string&& text) {
  const char* weak = weakness(text);
  if (weak != nullptr) {
    wipe(std::as_writable_bytes(std::span(text)));
    text.clear();
    return fail(Errc::kInvalid,
                fmt::format("the cluster's secret is refused: {}; make one with: openssl rand -base64 24", weak));
  }
  std::byte* data = allocate(text.size());
  const std::size_t size = text.size();
  std::memcpy(data, text.data(), size);
  wipe(std::as_writable_bytes(std::span(text)));
  text.clear();
  return Secret(data, size);
}

Secret::Secret(Secret&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Secret& Secret::operator=(Secret&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Secret::~Secret() {
  if (data_ != nullptr) OPENSSL_secure_clear_free(data_, size_);
}

Keyring::Keyring(Secret first) {
  const KeyId id = id_of(first);
  entries_.push_back({id, std::move(first)});
}

Result<KeyId> Keyring::learn(Secret secret) {
  const KeyId id = id_of(secret);
  if (knows(id)) return id;
  if (entries_.size() == kMaxSecrets) {
    return fail(Errc::kExhausted, "this node knows four secrets, the limit; forget an old one first");
  }
  entries_.push_back({id, std::move(secret)});
  return id;
}

Status Keyring::use(KeyId id) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.id == id; });
  if (found == entries_.end())
    return fail(Errc::kNotFound, "this node does not know secret {}; learn it first", key_name(id));
  std::rotate(entries_.begin(), found, found + 1);
  return {};
}

Status Keyring::forget(KeyId id) {
  if (!knows(id)) return fail(Errc::kNotFound, "this node does not know secret {}", key_name(id));
  if (id == in_use()) {
    return fail(Errc::kInvalid, "secret {} is in use; switch to another one before forgetting it", key_name(id));
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
