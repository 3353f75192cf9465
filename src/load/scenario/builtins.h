// The values of templates that need no step: ${vu}, ${random(1, 10)}, ${fake.city}. One table for reading and drawing
// them, for reserved names, and for docs/load/reference/functions.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/hash.h"

namespace bellwether::scenario {

enum class Builtin : uint8_t {
  kVu,
  kIteration,
  kNow,
  kNowMs,
  kNowS,
  kDate,
  kUuid,
  kRandomInt,
  kRandomFloat,
  kRandomChoice,
  kRandomString,
  kRandomAlpha,
  kRandomDigits,
  kRandomHex,
  kFakeFirstName,
  kFakeLastName,
  kFakeName,
  kFakeUserName,
  kFakeEmail,
  kFakePhone,
  kFakeStreet,
  kFakeCity,
  kFakeCountry,
  kFakeZip,
  kFakeLatitude,
  kFakeLongitude,
  kFakeCompany,
  kFakeJob,
  kFakeProduct,
  kFakeColor,
  kFakeWord,
  kFakeSentence,
  kFakeDomain,
  kFakeUrl,
  kFakeIpv4,
  kFakeIpv6,
};

// The arguments in its parentheses.
enum class Arguments : uint8_t {
  kNone,
  kWhole,       // one whole number in [low, high]
  kMaybeWhole,  // the same, or no argument, which is 0
  kWholes,      // two whole numbers, the lower one first
  kDecimals,    // two decimal numbers, the lower one first, and maybe how many decimal places
  kTexts,       // at least one text
};

struct BuiltinEntry {
  Builtin id = Builtin::kVu;
  std::string_view name;
  std::string_view written;  // as people write it, between ${ and }
  std::string_view makes;    // its result, for people
  Arguments arguments = Arguments::kNone;
  int64_t low = 0;
  int64_t high = 0;
};

constexpr int64_t kMaxDrawnLength = 1024;
constexpr int64_t kMaxDays = 36'500;
constexpr std::size_t kMaxChoices = 100;
constexpr int64_t kMaxDecimalPlaces = 9;
constexpr int64_t kMaxDecimal = 1'000'000'000;  // and its negative, of the numbers of random_float

// In the order of Builtin.
constexpr std::array<BuiltinEntry, 36> kBuiltins{{
    {Builtin::kVu, "vu", "vu", "the number of the virtual user, from 1"},
    {Builtin::kIteration, "iteration", "iteration", "the number of its iteration, from 0"},
    {Builtin::kNow, "now", "now", "the time, RFC 3339 in UTC: `2026-09-21T14:13:20.123Z`"},
    {Builtin::kNowMs, "now_ms", "now_ms", "the time in milliseconds since 1970"},
    {Builtin::kNowS, "now_s", "now_s", "the time in whole seconds since 1970"},
    {Builtin::kDate, "date", "date(7)",
     "the date in UTC so many days from now: `2026-09-28`; `${date}` is today, `${date(-1)}` yesterday",
     Arguments::kMaybeWhole, -kMaxDays, kMaxDays},
    {Builtin::kUuid, "uuid", "uuid", "a random UUID (version 4)"},
    {Builtin::kRandomInt, "random", "random(1, 10)", "a random whole number, both ends included", Arguments::kWholes},
    {Builtin::kRandomFloat, "random_float", "random_float(0, 1)",
     "a random decimal number, both ends included, with 6 decimal places; `${random_float(1, 100, 2)}` with 2",
     Arguments::kDecimals},
    {Builtin::kRandomChoice, "random_choice", "random_choice(red, green, 'dark blue')",
     "one of these texts, each as likely as the others", Arguments::kTexts},
    {Builtin::kRandomString, "random_string", "random_string(12)", "so many random letters and digits",
     Arguments::kWhole, 1, kMaxDrawnLength},
    {Builtin::kRandomAlpha, "random_alpha", "random_alpha(8)", "so many random letters", Arguments::kWhole, 1,
     kMaxDrawnLength},
    {Builtin::kRandomDigits, "random_digits", "random_digits(6)", "so many random digits", Arguments::kWhole, 1,
     kMaxDrawnLength},
    {Builtin::kRandomHex, "random_hex", "random_hex(8)", "so many random bytes, two hexadecimal digits each",
     Arguments::kWhole, 1, kMaxDrawnLength},
    {Builtin::kFakeFirstName, "fake.first_name", "fake.first_name", "`Grace`"},
    {Builtin::kFakeLastName, "fake.last_name", "fake.last_name", "`Miller`"},
    {Builtin::kFakeName, "fake.name", "fake.name", "`Grace Miller`"},
    {Builtin::kFakeUserName, "fake.user_name", "fake.user_name", "`grace.miller417`"},
    {Builtin::kFakeEmail, "fake.email", "fake.email",
     "`grace.miller417@example.com`; its domain is one that takes no mail (RFC 2606)"},
    {Builtin::kFakePhone, "fake.phone", "fake.phone", "`+1-312-555-0142`; a number that nobody has"},
    {Builtin::kFakeStreet, "fake.street", "fake.street", "`417 Maple Street`"},
    {Builtin::kFakeCity, "fake.city", "fake.city", "`Lisbon`"},
    {Builtin::kFakeCountry, "fake.country", "fake.country", "`Portugal`; not the one of the city"},
    {Builtin::kFakeZip, "fake.zip", "fake.zip", "`90417`: five digits"},
    {Builtin::kFakeLatitude, "fake.latitude", "fake.latitude", "`38.722252`: from -90 to 90"},
    {Builtin::kFakeLongitude, "fake.longitude", "fake.longitude", "`-9.139337`: from -180 to 180"},
    {Builtin::kFakeCompany, "fake.company", "fake.company", "`Harbor Logistics`"},
    {Builtin::kFakeJob, "fake.job", "fake.job", "`Accountant`"},
    {Builtin::kFakeProduct, "fake.product", "fake.product", "`Wooden Lamp`"},
    {Builtin::kFakeColor, "fake.color", "fake.color", "`teal`"},
    {Builtin::kFakeWord, "fake.word", "fake.word", "`river`"},
    {Builtin::kFakeSentence, "fake.sentence", "fake.sentence(5)", "so many words: `River open light often bridge.`",
     Arguments::kWhole, 1, 100},
    {Builtin::kFakeDomain, "fake.domain", "fake.domain", "`river-bridge.example`; one that does not exist (RFC 2606)"},
    {Builtin::kFakeUrl, "fake.url", "fake.url", "`https://river-bridge.example/light`"},
    {Builtin::kFakeIpv4, "fake.ipv4", "fake.ipv4", "`198.18.4.17`: of the network for benchmarks (RFC 2544)"},
    {Builtin::kFakeIpv6, "fake.ipv6", "fake.ipv6",
     "`2001:db8:1f:20a:4c:0:9e1:7`: of the network for documentation (RFC 3849)"},
}};

// The functions of other values: ${hash.sha256(password)}. Their names are not reserved: the parenthesis behind one
// makes it a function.
struct TransformEntry {
  Transform id = Transform::kHex;
  std::string_view name;
  std::string_view written;
  std::string_view makes;
};

constexpr std::array<TransformEntry, 11> kTransforms{{
    {Transform::kMd5, "hash.md5", "hash.md5(VALUE)", "the MD5 of the value, in hexadecimal digits"},
    {Transform::kSha1, "hash.sha1", "hash.sha1(VALUE)", "its SHA-1"},
    {Transform::kSha256, "hash.sha256", "hash.sha256(VALUE)", "its SHA-256"},
    {Transform::kSha512, "hash.sha512", "hash.sha512(VALUE)", "its SHA-512"},
    {Transform::kHmac, "hash.hmac", "hash.hmac(sha256, KEY, VALUE)",
     "its HMAC under the key; the digest is `md5`, `sha1`, `sha256` or `sha512`"},
    {Transform::kBase64, "base64.encode", "base64.encode(VALUE)", "its Base64"},
    {Transform::kBase64Url, "base64.encode_url", "base64.encode_url(VALUE)",
     "its Base64 for URLs and tokens, without padding"},
    {Transform::kBase64Decode, "base64.decode", "base64.decode(VALUE)", "the bytes of either Base64"},
    {Transform::kHex, "hex.encode", "hex.encode(VALUE)", "its bytes as hexadecimal digits"},
    {Transform::kHexDecode, "hex.decode", "hex.decode(VALUE)",
     "the bytes of hexadecimal digits: `${base64.encode(hex.decode(hash.sha256(body)))}`"},
    {Transform::kUrl, "url.encode", "url.encode(VALUE)", "the value percent-encoded"},
}};
constexpr std::string_view kHashNames[] = {"md5", "sha1", "sha256", "sha512"};  // in the order of HashKind

constexpr const BuiltinEntry& entry_of(Builtin id) { return kBuiltins[static_cast<std::size_t>(id)]; }

// The word before the dot of the made-up values.
constexpr std::string_view kFakePrefix = "fake";

namespace builtins_detail {
constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kBuiltins.size(); ++i) {
    if (static_cast<std::size_t>(kBuiltins[i].id) != i) return false;
  }
  return true;
}
constexpr std::size_t count_without_prefix() {
  std::size_t count = 0;
  for (const BuiltinEntry& entry : kBuiltins) count += entry.name.find('.') == std::string_view::npos;
  return count;
}
constexpr auto reserved_names() {
  std::array<std::string_view, count_without_prefix() + 1> out{};
  std::size_t count = 0;
  for (const BuiltinEntry& entry : kBuiltins) {
    if (entry.name.find('.') == std::string_view::npos) out[count++] = entry.name;
  }
  out[count] = kFakePrefix;
  return out;
}
}  // namespace builtins_detail
static_assert(builtins_detail::is_in_order());

// Names in templates with a fixed meaning, which values must not take.
constexpr auto kBuiltinNames = builtins_detail::reserved_names();

}  // namespace bellwether::scenario
