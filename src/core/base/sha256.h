// SHA-256 (FIPS 180-4) of bytes that come in pieces. Of one text: sha256_hex() in encoding.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // of OpenSSL

namespace bellwether {

bool is_sha256_hex(std::string_view text);

class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  // The 64 digits. Once, after all bytes.
  std::string hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace bellwether
