#include "core/http1/digest.h"

#include <array>
#include <openssl/evp.h>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/http1/head.h"

namespace bellwether::http1 {
namespace {

constexpr std::size_t kMaxFieldBytes = 4096;
constexpr std::size_t kMaxParameters = 64;

struct Parameter {
  std::string scheme;
  std::string name;
  std::string value;
};

// The parameters of all challenges of a field (RFC 9110 §11.6.1), in their order: `Basic realm="a", Digest realm="b",
// nonce="c"`. It stops at a malformed one.
class ChallengeReader {
 public:
  explicit ChallengeReader(std::string_view text) : text_(text) {}

  bool next(Parameter& out) {
    while (true) {
      skip(" \t,=");  // a token of another scheme may end with =
      std::string name = token();
      if (name.empty()) return false;
      skip(" \t");
      if (at_ < text_.size() && text_[at_] == '=') {
        ++at_;
        skip(" \t");
        out.scheme = scheme_;
        out.name = std::move(name);
        out.value.clear();
        if (at_ < text_.size() && text_[at_] == '"') return quoted(out.value);
        out.value = token();
        return true;
      }
      scheme_ = std::move(name);
      ++number_;
    }
  }
  // Which challenge the last parameter is of, from 1.
  unsigned number() const { return number_; }

 private:
  void skip(std::string_view characters) {
    while (at_ < text_.size() && characters.find(text_[at_]) != std::string_view::npos) ++at_;
  }
  std::string token() {
    const std::size_t from = at_;
    while (at_ < text_.size() && is_token_char(text_[at_])) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }
  bool quoted(std::string& out) {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      if (text_[at_] == '\\' && ++at_ == text_.size()) break;
      out += text_[at_];
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string scheme_;
  unsigned number_ = 0;
};

bool is_word_of(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    if (iequals(trim(take_until(list, ',')), word)) return true;
  }
  return false;
}

// False: it cannot be answered.
bool understand(DigestChallenge& challenge, bool has_qop) {
  std::string_view algorithm = challenge.algorithm;
  constexpr std::string_view kSession = "-sess";
  if (algorithm.size() > kSession.size() && iequals(algorithm.substr(algorithm.size() - kSession.size()), kSession)) {
    challenge.session = true;
    algorithm.remove_suffix(kSession.size());
  }
  challenge.sha256 = iequals(algorithm, "SHA-256");
  const bool known = challenge.sha256 || algorithm.empty() || iequals(algorithm, "MD5");
  return known && !challenge.nonce.empty() && (challenge.qop_auth || !has_qop);
}

void take(const Parameter& one, DigestChallenge& challenge, bool& has_qop) {
  if (iequals(one.name, "realm")) challenge.realm = one.value;
  if (iequals(one.name, "nonce")) challenge.nonce = one.value;
  if (iequals(one.name, "opaque")) challenge.opaque = one.value;
  if (iequals(one.name, "algorithm")) challenge.algorithm = one.value;
  if (iequals(one.name, "stale")) challenge.stale = iequals(one.value, "true");
  if (!iequals(one.name, "qop")) return;
  has_qop = true;
  challenge.qop_auth = is_word_of(one.value, "auth");
}

void read_field(std::string_view text, std::vector<DigestChallenge>& out) {
  if (text.size() > kMaxFieldBytes) return;
  ChallengeReader reader(text);
  Parameter one;
  unsigned number = 0;
  DigestChallenge challenge;
  bool has_qop = false;
  bool is_digest = false;
  const auto finish = [&] {
    if (is_digest && understand(challenge, has_qop)) out.push_back(std::move(challenge));
    challenge = {};
    has_qop = false;
  };
  for (std::size_t n = 0; n < kMaxParameters && reader.next(one); ++n) {
    if (reader.number() != number) finish();
    number = reader.number();
    is_digest = iequals(one.scheme, "Digest");
    take(one, challenge, has_qop);
  }
  finish();
}

// In hexadecimal digits, of the parts with colons between them.
std::string hash(bool sha256, std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) {
    text += part;
    text += ':';
  }
  text.pop_back();
  if (sha256) return sha256_hex(text);
  std::array<char, 16> bytes{};
  EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(bytes.data()), nullptr, EVP_md5(), nullptr);
  return hex(std::string_view(bytes.data(), bytes.size()));
}

void append_quoted(std::string_view name, std::string_view value, std::string& out) {
  out += name;
  out += "=\"";
  for (const char c : value) {
    // No answer that a server could accept has characters that would break the header.
    if (static_cast<unsigned char>(c) < 0x20) continue;
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += "\", ";
}

}  // namespace

std::optional<DigestChallenge> digest_challenge(const ResponseHead& head) {
  std::vector<DigestChallenge> all;
  for (uint16_t i = 0; i < head.field_count; ++i) {
    if (iequals(head.fields[i].name, "www-authenticate")) read_field(head.fields[i].value, all);
  }
  for (DigestChallenge& one : all) {
    if (one.sha256) return std::move(one);
  }
  if (all.empty()) return std::nullopt;
  return std::move(all.front());
}

void append_digest(const DigestChallenge& challenge, const DigestAnswer& answer, std::string& out) {
  const bool sha = challenge.sha256;
  const std::string count = hex(answer.count, 8);
  std::string secret = hash(sha, {answer.user, challenge.realm, answer.password});
  if (challenge.session) secret = hash(sha, {secret, challenge.nonce, answer.client_nonce});
  const std::string what = hash(sha, {answer.method, answer.target});
  const std::string response = challenge.qop_auth
                                   ? hash(sha, {secret, challenge.nonce, count, answer.client_nonce, "auth", what})
                                   : hash(sha, {secret, challenge.nonce, what});
  out += "Digest ";
  append_quoted("username", answer.user, out);
  append_quoted("realm", challenge.realm, out);
  append_quoted("nonce", challenge.nonce, out);
  append_quoted("uri", answer.target, out);
  if (!challenge.opaque.empty()) append_quoted("opaque", challenge.opaque, out);
  if (!challenge.algorithm.empty()) {
    out += "algorithm=";
    out += challenge.sha256 ? "SHA-256" : "MD5";
    out += challenge.session ? "-sess, " : ", ";
  }
  if (challenge.qop_auth) {
    out += "qop=auth, nc=";
    out += count;
    out += ", ";
  }
  if (challenge.qop_auth || challenge.session) append_quoted("cnonce", answer.client_nonce, out);
  out += fmt::format("response=\"{}\"", response);
}

}  // namespace bellwether::http1
