#include "election/store/disk/key_ledger.h"

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "election/store/disk/key_file.h"

namespace bellwether::store {
namespace {

constexpr std::string_view kTitle = "bellwether-epoch-1";
constexpr std::string_view kSum = "sha256 ";

// Cuts a word off the front of `rest`, and the mark behind it.
std::string_view cut(std::string_view& rest, char mark) {
  const std::size_t end = rest.find(mark);
  const std::string_view word = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return word;
}

tl::unexpected<Error> damaged(const char* why) { return fail(Errc::kInvalid, why); }

}  // namespace

std::string write_ledger(const KeyLedger& ledger) {
  std::string text(kTitle);
  text += " floor=" + std::to_string(ledger.floor.value()) + " serial=" + std::to_string(ledger.serial) +
          " key=" + percent_encoded(ledger.key) + "\n";
  text += write_claim(ClaimForm::kOneLine, ledger.last);
  return text + std::string(kSum) + sha256_hex(text) + "\n";
}

Result<KeyLedger> read_ledger(std::string_view text) {
  if (text.empty()) return damaged("it is empty");
  const std::size_t sum_at = text.rfind(kSum);
  if (sum_at == std::string_view::npos) return damaged("its last line, the checksum, is missing");
  if (text.substr(sum_at) != std::string(kSum) + sha256_hex(text.substr(0, sum_at)) + "\n") {
    return damaged("its checksum does not fit");
  }
  std::string_view rest = text.substr(0, sum_at);
  std::string_view first = cut(rest, '\n');
  if (cut(first, ' ') != kTitle) return damaged("it was written by a later version of this program");
  const auto number = [&](std::string_view name) -> std::optional<uint64_t> {
    if (cut(first, '=') != name) return std::nullopt;
    return parse_u64(cut(first, ' '));
  };
  const auto floor = number("floor");
  const auto serial = floor ? number("serial") : std::nullopt;
  if (!serial || cut(first, '=') != "key") return damaged("its first line cannot be read");
  const auto key = percent_decoded(first);
  auto last = read_claim(ClaimForm::kOneLine, rest);
  if (!key || !last) return damaged("its claim cannot be read");
  return KeyLedger{*key, *serial, election::Epoch(*floor), std::move(*last)};
}

}  // namespace bellwether::store
