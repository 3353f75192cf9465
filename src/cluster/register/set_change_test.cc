#include "cluster/register/set_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bellwether::registers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ReplicaSet kAbc{0, {"a", "b", "c"}, {}};
const ReplicaSet kStep1{1, {"a", "b", "c"}, {"a", "b", "c", "d"}};
const ReplicaSet kStep2{2, {"a", "b", "c", "d"}, {}};

class SetChangeTest : public testing::Test {
 protected:
  void wish(SetWish wish) { change_ = SetChange({kAbc, std::move(wish), Duration::seconds(1)}); }
  void tell(const SetEvent& event) {
    effects_.clear();
    change_.step(now_, event, effects_);
  }
  void state(const std::string& from, const ReplicaSet& set, uint64_t read) { tell(SetStateIs{from, {set, read}}); }
  template <class Kind>
  const Kind* find() const {
    for (const SetEffect& effect : effects_) {
      if (const auto* one = std::get_if<Kind>(&effect)) return one;
    }
    return nullptr;
  }
  std::vector<std::string> asked() const {
    std::vector<std::string> names;
    for (const SetEffect& effect : effects_) {
      if (const auto* one = std::get_if<AskSetState>(&effect)) names.push_back(one->to);
    }
    return names;
  }
  bool writes(const ReplicaSet& set) const { return find<WriteSet>() != nullptr && find<WriteSet>()->set == set; }
  bool has(const ReplicaSet& set) const { return find<HaveSet>() != nullptr && find<HaveSet>()->set == set; }

  Instant now_ = Instant::from_ns(1);
  SetChange change_{{kAbc, {"d", ""}, Duration::seconds(1)}};
  SetEffects effects_;
};

TEST_F(SetChangeTest, goes_on_when_majorities_know_and_have_read) {
  tell(SetTaken{});
  EXPECT_TRUE(writes(kStep1));
  EXPECT_EQ(change_.wake(), Instant::never());
  tell(SetWritten{});
  EXPECT_TRUE(has(kStep1));
  EXPECT_THAT(asked(), ElementsAre("a", "b", "c", "d"));
  state("d", kStep1, 1);
  state("a", kStep1, 1);
  state("b", kAbc, 1);
  EXPECT_THAT(effects_, IsEmpty()) << "only one of the old ones knows";
  EXPECT_EQ(change_.waits_for(),
            "'b' does not know the new set, 'c' does not know the new set, 'c' has not read the jobs");
  state("c", kStep1, 0);
  EXPECT_TRUE(writes(kStep2)) << "three of four have read, two of three know";
  tell(SetWritten{});
  EXPECT_TRUE(has(kStep2));
  state("a", kStep2, 1);
  state("b", kStep2, 1);
  EXPECT_THAT(effects_, IsEmpty());
  state("d", kStep2, 1);
  ASSERT_NE(find<SetDone>(), nullptr);
  EXPECT_EQ(find<SetDone>()->set, kStep2);
  EXPECT_EQ(change_.wake(), Instant::never());
}

TEST_F(SetChangeTest, waits_until_a_majority_of_the_next_has_read) {
  tell(SetTaken{});
  tell(SetWritten{});
  for (const char* name : {"a", "b", "c"}) state(name, kStep1, 0);
  state("d", kStep1, 1);
  state("a", kStep1, 1);
  EXPECT_THAT(effects_, IsEmpty());
  now_ += Duration::seconds(1);
  EXPECT_EQ(change_.wake(), now_);
  tell(SetTick{});
  EXPECT_THAT(asked(), ElementsAre("b", "c"));
  state("b", kStep1, 1);
  EXPECT_TRUE(writes(kStep2));
}

TEST_F(SetChangeTest, finishes_what_another_began_and_then_does_its_own) {
  wish({"", "b"});
  tell(SetTaken{kStep1});
  EXPECT_TRUE(has(kStep1));
  for (const char* name : {"a", "b", "c", "d"}) state(name, kStep1, 1);
  tell(SetTaken{kStep1});
  EXPECT_THAT(effects_, IsEmpty()) << "it is being written";
  tell(SetWritten{});
  EXPECT_TRUE(has(kStep2));
  EXPECT_TRUE(writes({3, kStep2.names, {"a", "c", "d"}}));
}

TEST_F(SetChangeTest, a_change_that_another_finished_is_done) {
  tell(SetTaken{});
  tell(SetLost{});
  tell(SetTaken{kStep2});
  EXPECT_TRUE(has(kStep2));
  EXPECT_FALSE(find<WriteSet>());
  for (const char* name : {"a", "b", "c"}) state(name, kStep2, 1);
  EXPECT_NE(find<SetDone>(), nullptr);
}

TEST_F(SetChangeTest, reads_the_register_again_when_a_write_is_unsure) {
  tell(SetTaken{});
  tell(SetWritten{false});
  EXPECT_THAT(effects_, IsEmpty());
  tell(SetTaken{});
  EXPECT_TRUE(writes(kStep1)) << "it did not take effect";
}

// A removed node may be gone: those that stay must know the last set without it.
TEST_F(SetChangeTest, is_not_done_before_a_majority_of_those_that_stay_knows) {
  wish({"", "a"});
  tell(SetTaken{ReplicaSet{4, {"b", "c"}, {}}});
  EXPECT_EQ(find<SetFailed>()->why.code, Errc::kNotFound);
  wish({});
  tell(SetTaken{ReplicaSet{4, {"b", "c"}, {}}});
  EXPECT_THAT(asked(), ElementsAre("b", "c"));
  state("b", {4, {"b", "c"}, {}}, 0);
  tell(SetLost{});
  EXPECT_THAT(effects_, IsEmpty());
  state("c", {4, {"b", "c"}, {}}, 0);
  EXPECT_NE(find<SetDone>(), nullptr);
}

TEST_F(SetChangeTest, says_why_a_wish_cannot_come_true) {
  wish({"a", ""});
  tell(SetTaken{});
  ASSERT_NE(find<SetFailed>(), nullptr);
  EXPECT_THAT(find<SetFailed>()->why.message, HasSubstr("'a' is a replica already"));
  change_ = SetChange({kStep2, {"e", ""}, Duration::seconds(1)});
  tell(SetTaken{kStep1});
  ASSERT_NE(find<SetFailed>(), nullptr);
  EXPECT_EQ(find<SetFailed>()->why.code, Errc::kProtocol);
}

}  // namespace
}  // namespace bellwether::registers
