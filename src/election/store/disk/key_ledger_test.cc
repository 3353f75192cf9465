#include <gmock/gmock.h>

#include "election/store/disk/claims_testing.h"
#include "election/store/disk/disk_claim.h"

namespace bellwether::store {
namespace {

using election::Epoch;
using testing::HasSubstr;

KeyLedger example() { return {"agents/the one\n", 7, Epoch(42), claim_of("alice", 41)}; }

TEST(KeyLedger, what_is_written_is_read_back) {
  const auto back = read_ledger(write_ledger(example()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->key, "agents/the one\n");
  EXPECT_EQ(back->serial, 7u);
  EXPECT_EQ(back->floor, Epoch(42));
  EXPECT_EQ(back->last.record, example().last.record);
  EXPECT_EQ(back->last.process.boot_id, "boot-1");
}

TEST(KeyLedger, a_released_key_keeps_its_heir_and_cause) {
  KeyLedger ledger = example();
  ledger.last = released(ledger.last);
  ledger.last.record.heir = "bob";
  const auto back = read_ledger(write_ledger(ledger));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->last.record, ledger.last.record);
}

TEST(KeyLedger, whatever_byte_is_lost_or_changed_the_damage_is_noticed) {
  const std::string text = write_ledger(example());
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(read_ledger(text.substr(0, i))) << i;
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(read_ledger(changed)) << i;
  }
  EXPECT_FALSE(read_ledger(text + text));
  EXPECT_FALSE(read_ledger(text + "\n"));
  EXPECT_FALSE(read_ledger(std::string(text.size(), '\0')));
}

TEST(KeyLedger, damage_is_described) {
  EXPECT_THAT(read_ledger("").error().message, HasSubstr("empty"));
  EXPECT_THAT(read_ledger("bellwether-epoch-1 floor=1").error().message, HasSubstr("checksum, is missing"));
  std::string text = write_ledger(example());
  text[text.find("42")] = '5';
  EXPECT_THAT(read_ledger(text).error().message, HasSubstr("does not match"));
}

}  // namespace
}  // namespace bellwether::store
