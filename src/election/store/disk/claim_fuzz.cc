// Takes arbitrary bytes for a lock file, a lease file and a ledger: refused with words, or read so that what is written
// back is read as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "election/store/disk/disk_claim.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto form : {store::ClaimForm::kLockFile, store::ClaimForm::kLeaseFile, store::ClaimForm::kOneLine}) {
    const auto claim = store::read_claim(form, text);
    check(claim || !claim.error().message.empty(), "a refusal says why");
    if (!claim || claim->foreign) continue;
    const auto again = store::read_claim(form, store::write_claim(form, *claim));
    check(again.has_value(), "what was read can be written and read again");
    check(again->record.holder == claim->record.holder && again->record.epoch == claim->record.epoch &&
              again->record.token == claim->record.token,
          "and says the same");
  }
  const auto ledger = store::read_ledger(text);
  check(ledger || !ledger.error().message.empty(), "a refusal says why");
  if (ledger) check(store::read_ledger(store::write_ledger(*ledger)).has_value(), "a ledger can be read again");
  return 0;
}
