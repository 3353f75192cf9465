#include "core/signature/signature.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/encoding.h"

namespace bellwether::signature {
namespace {

// Keeps these signatures apart from all others by the same key.
constexpr std::string_view kContext = "bellwether: a compiled workflow, signature 1\n";
constexpr std::string_view kMagic = "bellwether-sig-1";

constexpr std::size_t kFieldsBytes = kMaxVersionBytes + 4 + 8 + std::tuple_size_v<PublicKey>;
constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kTrailerBytes = kFieldsBytes + kSignatureBytes + kMagic.size();

void put_number(uint64_t value, std::size_t bytes, std::string& out) {
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

uint64_t number_in(std::string_view bytes) {
  uint64_t out = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) out |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return out;
}

std::string fields_of(std::string_view program, const Versions& versions, const PublicKey& key) {
  check(versions.product.size() <= kMaxVersionBytes, "the version of the product is short");
  std::string out = versions.product;
  out.resize(kMaxVersionBytes, '\0');
  put_number(versions.interface, 4, out);
  put_number(program.size(), 8, out);
  for (const unsigned char byte : key) out += static_cast<char>(byte);
  return out;
}

std::string signed_text(std::string_view program, std::string_view fields) {
  std::string out;
  out.reserve(kContext.size() + program.size() + fields.size());
  ((out += kContext) += program) += fields;
  return out;
}

}  // namespace

bool is_signed(std::string_view bytes) { return bytes.size() >= kTrailerBytes && bytes.ends_with(kMagic); }

std::string sign(std::string_view program, const Versions& versions, const SigningKey& key) {
  while (is_signed(program)) program.remove_suffix(kTrailerBytes);
  const std::string fields = fields_of(program, versions, key.public_key());
  std::string out(program);
  out += fields;
  for (const unsigned char byte : key.sign(signed_text(program, fields))) out += static_cast<char>(byte);
  out += kMagic;
  return out;
}

Result<Signed> read(std::string_view bytes, const std::string& name) {
  if (!is_signed(bytes)) {
    return fail(
        Errc::kNotFound,
        fmt::format("'{}' is a compiled program without a signature: sign it with `bellwether build --sign-key`",
                    name));
  }
  Signed out;
  out.program = bytes.substr(0, bytes.size() - kTrailerBytes);
  const std::string_view fields = bytes.substr(out.program.size(), kFieldsBytes);
  out.versions.product = fields.substr(0, std::min(fields.find('\0'), kMaxVersionBytes));
  out.versions.interface = static_cast<uint32_t>(number_in(fields.substr(kMaxVersionBytes, 4)));
  std::copy_n(fields.end() - static_cast<std::ptrdiff_t>(out.key.size()), out.key.size(), out.key.begin());
  std::array<unsigned char, kSignatureBytes> signature{};
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(out.program.size() + kFieldsBytes), kSignatureBytes,
              signature.begin());
  const bool fits = number_in(fields.substr(kMaxVersionBytes + 4, 8)) == out.program.size();
  if (!fits || !verify(out.key, signed_text(out.program, fields), signature)) {
    return fail(Errc::kInvalid,
                fmt::format("the signature of '{}' does not match: the program was changed after it was signed", name));
  }
  return out;
}

Result<Signed> admit(std::string_view bytes, const std::string& name, const std::vector<PublicKey>& trusted,
                     uint32_t interface) {
  if (trusted.empty()) {
    return fail(Errc::kRefused,
                "'{}' is a compiled program, but this worker trusts no keys: start it with --trust-keys and the "
                "signer's public key",
                name);
  }
  auto out = read(bytes, name);
  if (!out) return out;
  if (std::find(trusted.begin(), trusted.end(), out->key) == trusted.end()) {
    return fail(Errc::kRefused,
                "'{}' is signed with key {}, which this worker does not trust: sign it with a trusted key, or add this "
                "key to the worker's --trust-keys",
                name, name_of(out->key));
  }
  if (out->versions.interface != interface) {
    return fail(Errc::kUnsupported,
                "'{}' was built by bellwether {} for version {} of the program interface, but this worker has version "
                "{}: rebuild it with `bellwether build`",
                name, printable(out->versions.product), out->versions.interface, interface);
  }
  return out;
}

}  // namespace bellwether::signature
