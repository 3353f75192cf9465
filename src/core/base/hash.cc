#include "core/base/hash.h"

#include <array>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "core/base/check.h"
#include "core/base/encoding.h"

namespace bellwether {
namespace {

const EVP_MD* method_of(HashKind kind) {
  switch (kind) {
    case HashKind::kMd5: return EVP_md5();
    case HashKind::kSha1: return EVP_sha1();
    case HashKind::kSha256: return EVP_sha256();
    case HashKind::kSha512: return EVP_sha512();
  }
  return nullptr;
}

static_assert(static_cast<int>(Transform::kSha512) == static_cast<int>(HashKind::kSha512));

std::optional<std::string> bytes_of_hex(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
  }
  return text.size() % 2 == 0 ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

std::string hash_of(HashKind kind, std::string_view bytes) {
  std::string out(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  const int made = EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(out.data()), &size,
                              method_of(kind), nullptr);
  check(made == 1, "the digests are part of OpenSSL");
  out.resize(size);
  return out;
}

std::string hmac_of(HashKind kind, std::string_view key, std::string_view bytes) {
  // OpenSSL takes a key of 0 bytes only with an address.
  const char* const at = key.empty() ? "" : key.data();
  std::string out(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  const auto* made =
      HMAC(method_of(kind), at, static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(bytes.data()),
           bytes.size(), reinterpret_cast<unsigned char*>(out.data()), &size);
  check(made != nullptr, "HMAC is part of OpenSSL");
  out.resize(size);
  return out;
}

std::optional<std::string> transformed(Transform how, std::string_view bytes) {
  std::string out;
  switch (how) {
    case Transform::kMd5:
    case Transform::kSha1:
    case Transform::kSha256:
    case Transform::kSha512: return hex(hash_of(static_cast<HashKind>(how), bytes));
    case Transform::kBase64: return base64_of(bytes);
    case Transform::kBase64Url:
      append_base64(bytes, out);
      while (out.ends_with('=')) out.pop_back();
      for (char& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
      return out;
    case Transform::kBase64Decode:
      out = bytes;
      for (char& c : out) c = c == '-' ? '+' : c == '_' ? '/' : c;
      return bytes_of_base64(out);
    case Transform::kHex: return hex(bytes);
    case Transform::kHexDecode: return bytes_of_hex(bytes);
    case Transform::kUrl: append_percent_encoded(bytes, out); return out;
    case Transform::kHmac: break;
  }
  check(false, "an HMAC has a key");
  return std::nullopt;
}

bool is_sha256_hex(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of(kHexDigits) == std::string_view::npos;
}

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1,
        "SHA-256 is part of OpenSSL");
}

void Sha256::add(std::string_view bytes) {
  check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "it takes bytes until its end");
}

std::string Sha256::hex() {
  std::array<char, 32> digest{};
  const int made = EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  check(made == 1, "it ends once");
  return bellwether::hex(std::string_view(digest.data(), digest.size()));
}

}  // namespace bellwether
