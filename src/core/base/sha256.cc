#include "core/base/sha256.h"

#include <array>
#include <openssl/evp.h>

#include "core/base/check.h"
#include "core/base/encoding.h"

namespace bellwether {

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
