#include "core/secret/key_codec.h"

#include <algorithm>
#include <string_view>

#include "core/base/check.h"

namespace bellwether::secret {
namespace {

struct Format {
  std::string_view name;
  std::string_view mark;
  std::size_t fixed;  // bytes before the part with the counted length
  std::size_t most;
};
constexpr uint8_t kVersion = 1;
constexpr Format kKeyShare = {"key share", "bwks", 4 + 1 + 8 + 16 + 1 + 2, kMaxKeyShareBytes};
constexpr Format kCommitment = {"commitment", "bwkc", 4 + 1 + 8 + 16 + 1 + 1 + 2 + 32, kMaxCommitmentBytes};

// Puts one value behind the other into a buffer that has room for all.
class Writer {
 public:
  explicit Writer(MutableBytes into) : into_(into) {}
  Writer& put(Bytes bytes) {
    std::copy(bytes.begin(), bytes.end(), into_.begin());
    into_ = into_.subspan(bytes.size());
    return *this;
  }
  Writer& put(uint64_t number, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) into_[i] = static_cast<std::byte>(number >> (8 * (bytes - 1 - i)));
    into_ = into_.subspan(bytes);
    return *this;
  }

 private:
  MutableBytes into_;
};

// Takes one value after the other from bytes that were counted before.
class Reader {
 public:
  explicit Reader(Bytes from) : rest(from) {}
  Bytes take(std::size_t size) {
    const Bytes taken = rest.first(size);
    rest = rest.subspan(size);
    return taken;
  }
  uint64_t number(std::size_t bytes) {
    uint64_t out = 0;
    for (const std::byte byte : take(bytes)) out = out << 8U | std::to_integer<uint64_t>(byte);
    return out;
  }
  template <class Array>
  Array array() {
    Array out{};
    std::copy_n(take(out.size()).begin(), out.size(), out.begin());
    return out;
  }

  Bytes rest;
};

Writer& put_begin(Writer& to, const Format& format, SecretId secret, const Salt& salt) {
  return to.put(as_bytes(format.mark)).put(kVersion, 1).put(secret.value(), 8).put(salt);
}

std::string bytes_of(std::size_t size) { return fmt::format("{} bytes", size); }

tl::unexpected<Error> cut_short(const Format& format, std::size_t size, std::size_t expected) {
  return fail(Errc::kInvalid, "a {} of {}{}{}: copy its file again", format.name, bytes_of(size),
              size < expected ? " is truncated; expected " : " is too long; expected ", bytes_of(expected));
}

// A reader behind the version. The fixed fields are complete; the rest may be missing.
Result<Reader> begin(Bytes bytes, const Format& format) {
  const std::string name(format.name);
  const Format& other = &format == &kKeyShare ? kCommitment : kKeyShare;
  const std::string these = fmt::format("these {} are ", bytes_of(bytes.size()));
  Reader reader(bytes);
  if (as_text(bytes).starts_with(other.mark)) {
    return fail(Errc::kInvalid, "{}a {}, not a {}", these, other.name, name);
  }
  if (bytes.size() <= format.mark.size() || as_text(reader.take(format.mark.size())) != format.mark) {
    return fail(Errc::kInvalid, "{}not a {}, which begins with '{}'", these, name, format.mark);
  }
  const uint64_t version = reader.number(1);
  if (version > kVersion) {
    return fail(Errc::kUnsupported, "a {} of version {}, but this program knows version {}: update this program first",
                name, version, kVersion);
  }
  if (version != kVersion) return fail(Errc::kInvalid, "a {} of version 0, which does not exist", name);
  if (bytes.size() > format.most) {
    return fail(Errc::kTooLarge, "{}not a {}, which has at most {}", these, name, format.most);
  }
  if (bytes.size() < format.fixed) return cut_short(format, bytes.size(), format.fixed);
  return reader;
}

}  // namespace

SecretBytes encode(const KeyShare& share) {
  check(share.index != 0 && share.value.size() > kBlindBytes && share.value.size() <= kMaxSecretBytes + kBlindBytes,
        "a key share is complete");
  SecretBytes out(kKeyShare.fixed + share.value.size());
  Writer to(out.bytes());
  put_begin(to, kKeyShare, share.secret, share.salt)
      .put(share.index, 1)
      .put(share.value.size(), 2)
      .put(share.value.bytes());
  return out;
}

std::string encode(const Commitment& commitment) {
  const SplitHead& head = commitment.head();
  std::string out(kCommitment.fixed + head.rule.shares * sizeof(Digest), '\0');
  Writer to(std::as_writable_bytes(std::span(out)));
  put_begin(to, kCommitment, head.secret, head.salt)
      .put(head.rule.threshold, 1)
      .put(head.rule.shares, 1)
      .put(head.secret_bytes, 2)
      .put(commitment.digest_of_secret());
  for (const Digest& digest : commitment.digests_of_shares()) to.put(digest);
  return out;
}

Result<KeyShare> decode_key_share(Bytes bytes) {
  BW_TRY(auto reader, begin(bytes, kKeyShare));
  KeyShare share;
  share.secret = SecretId(reader.number(8));
  share.salt = reader.array<Salt>();
  share.index = static_cast<uint8_t>(reader.number(1));
  const std::size_t size = reader.number(2);
  if (share.index == 0) return fail(Errc::kInvalid, "a key share has the index 0; expected 1 to 255");
  if (size <= kBlindBytes || size > kMaxSecretBytes + kBlindBytes) {
    return fail(Errc::kInvalid, "the value of key share {} has {}; expected {} to {}", share.index, bytes_of(size),
                kBlindBytes + 1, kMaxSecretBytes + kBlindBytes);
  }
  if (reader.rest.size() != size) return cut_short(kKeyShare, bytes.size(), kKeyShare.fixed + size);
  share.value = SecretBytes::copy_of(reader.rest);
  return share;
}

Result<Commitment> decode_commitment(Bytes bytes) {
  BW_TRY(auto reader, begin(bytes, kCommitment));
  SplitHead head;
  head.secret = SecretId(reader.number(8));
  head.salt = reader.array<Salt>();
  head.rule.threshold = reader.number(1);
  head.rule.shares = reader.number(1);
  head.secret_bytes = reader.number(2);
  const Digest of_secret = reader.array<Digest>();
  const std::size_t expected = kCommitment.fixed + head.rule.shares * sizeof(Digest);
  if (bytes.size() != expected) return cut_short(kCommitment, bytes.size(), expected);
  std::vector<Digest> of_shares;
  while (!reader.rest.empty()) of_shares.push_back(reader.array<Digest>());
  auto commitment = Commitment::make(head, of_secret, std::move(of_shares));
  if (!commitment) return fail(Errc::kInvalid, "an impossible commitment: " + commitment.error().message);
  return commitment;
}

}  // namespace bellwether::secret
