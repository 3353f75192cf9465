#include "core/signature/attestation.h"

#include <algorithm>

#include "core/base/encoding.h"
#include "core/base/units.h"

namespace bellwether::signature {
namespace {

constexpr std::string_view kHead = "bellwether attestation 1";
constexpr std::size_t kMaxNameBytes = 160;  // two names of a cluster, and more

bool is_word(std::string_view text, std::size_t most) {
  return !text.empty() && text.size() <= most &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string lines_of(const Attestation& what) {
  std::string text = fmt::format("{}\ncluster {}\nnode {}\n", kHead, what.cluster, what.node);
  for (const std::string& one : what.capabilities) text += fmt::format("capability {}\n", one);
  return fmt::format("{}not after {}\n", text, format_wall(what.not_after));
}

Status check_parts(const Attestation& what) {
  if (!is_word(what.cluster, kMaxNameBytes) || !is_word(what.node, kMaxNameBytes)) {
    return fail(Errc::kInvalid, "an attestation needs the name of a cluster and of a node, both without spaces");
  }
  if (what.capabilities.empty() || what.capabilities.size() > kMaxAttested) {
    return fail(Errc::kInvalid, "an attestation must have 1 to {} capabilities, not {}", kMaxAttested,
                what.capabilities.size());
  }
  for (const std::string& one : what.capabilities) {
    if (is_word(one, kMaxAttestedBytes)) continue;
    return fail(Errc::kInvalid, "'{}' is not a capability: it must have 1 to {} characters and no spaces",
                printable(one), kMaxAttestedBytes);
  }
  const auto written = parse_wall(format_wall(what.not_after));
  if (!written) return fail(Errc::kInvalid, "an attestation must end between 1970 and 2261");
  return {};
}

// The rest of the next line, which begins with `word`; nothing when it does not.
std::optional<std::string> take(std::string_view& text, std::string_view word) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(word)) return std::nullopt;
  std::string rest(text.substr(word.size(), end - word.size()));
  text.remove_prefix(end + 1);
  return rest;
}

}  // namespace

Result<std::string> attest(const Attestation& attestation, const SigningKey& key) {
  BW_RETURN_IF_ERROR(check_parts(attestation));
  const std::string lines = lines_of(attestation);
  const auto signature = key.sign(lines);
  return fmt::format("{}signature {}\n", lines,
                     base64_of({reinterpret_cast<const char*>(signature.data()), signature.size()}));
}

Result<Attestation> open_attestation(std::string_view text, const PublicKey& key) {
  if (text.size() > kMaxAttestationBytes) return fail(Errc::kTooLarge, "the attestation is too large");
  const auto no = fail(Errc::kInvalid, "this is not an attestation; `bellwether keys attest` makes one");
  std::string_view rest = text;
  const auto head = take(rest, kHead);
  auto cluster = take(rest, "cluster ");
  auto node = take(rest, "node ");
  if (!head || !head->empty() || !cluster || !node) return no;
  Attestation out{std::move(*cluster), std::move(*node), {}, {}};
  while (auto one = take(rest, "capability ")) out.capabilities.push_back(std::move(*one));
  const auto until = take(rest, "not after ");
  const auto not_after = until ? parse_wall(*until) : std::nullopt;
  const std::string_view lines = text.substr(0, text.size() - rest.size());
  const auto signature = take(rest, "signature ");
  if (!not_after || !signature || !rest.empty()) return no;
  out.not_after = *not_after;
  const std::string bytes = bytes_of_base64(*signature);
  std::array<unsigned char, 64> signed_with{};
  if (!check_parts(out) || lines_of(out) != lines || bytes.size() != signed_with.size() ||
      base64_of(bytes) != *signature) {
    return no;
  }
  std::copy(bytes.begin(), bytes.end(), signed_with.begin());
  if (!verify(key, lines, signed_with)) {
    return fail(Errc::kRefused, "the attestation is not signed with the operator's key");
  }
  return out;
}

std::optional<std::string> why_not(const Attestation& attestation, std::string_view cluster, std::string_view node,
                                   WallTime now) {
  if (attestation.cluster != cluster) return "its attestation is for the cluster " + attestation.cluster;
  if (attestation.node != node) return "its attestation is for the node " + attestation.node;
  if (now > attestation.not_after) return "its attestation expired at " + format_wall(attestation.not_after);
  return std::nullopt;
}

}  // namespace bellwether::signature
