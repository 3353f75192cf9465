#include "cluster/register/acceptor.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <variant>

#include "cluster/register/small.h"

namespace bellwether::registers {
namespace {

constexpr MemberId kA{1};
constexpr MemberId kB{2};
constexpr Duration kLease = Duration::seconds(30);

Claim claim(uint64_t fence, MemberId owner, uint64_t nonce = 1) { return {JobFence(fence), owner, nonce}; }

class JobAcceptorTest : public testing::Test {
 protected:
  JobAcceptorTest() { acceptor_.step(now_, AcceptorStart{}, effects_); }

  // The answer, once all requested writes have become durable; nothing when none came.
  std::optional<Answer> ask(MemberId from, Claim claim, decltype(Ask::body) body, bool disk = true) {
    effects_.clear();
    acceptor_.step(now_, Asked{from, {"job", ++number_, kLease, claim, std::move(body)}}, effects_);
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      if (const auto* keep = std::get_if<KeepJob>(&effects_[i]); keep != nullptr && disk) {
        kept_ = keep->record;
        const uint64_t number = keep->number;
        acceptor_.step(now_, JobKept{number, true}, effects_);
      }
    }
    for (const AcceptorEffect& effect : effects_) {
      if (const auto* reply = std::get_if<Reply>(&effect)) return reply->answer;
    }
    return std::nullopt;
  }
  Verdict verdict(MemberId from, Claim claim, decltype(Ask::body) body) {
    const auto answer = ask(from, claim, std::move(body));
    return answer ? answer->verdict : Verdict::kUnable;
  }

  // Whether it is all durable, with a disk that works.
  bool learn(const std::vector<RegisterRecord>& records) {
    effects_.clear();
    acceptor_.step(now_, Learned{7, records}, effects_);
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      const auto* keep = std::get_if<KeepJob>(&effects_[i]);
      if (keep == nullptr) continue;
      kept_ = keep->record;
      acceptor_.step(now_, JobKept{keep->number, true}, effects_);
    }
    const auto* page = std::get_if<PageKept>(&effects_.back());
    return page != nullptr && page->page == 7 && page->ok;
  }
  static RegisterRecord record(Claim promised, Place accepted, std::string value = "state") {
    return {"job", promised, accepted, std::move(value), kLease, false};
  }

  Instant now_ = Instant::from_ns(1'000'000'000);
  JobAcceptor acceptor_{{}};
  AcceptorEffects effects_;
  RegisterRecord kept_;
  uint64_t number_ = 0;
};

TEST_F(JobAcceptorTest, tells_the_newest_write_to_whoever_takes_the_job) {
  ASSERT_EQ(verdict(kA, claim(1, kA), Prepare{}), Verdict::kGranted);
  ASSERT_EQ(verdict(kA, claim(1, kA), Accept{1, "state"}), Verdict::kGranted);
  now_ += kLease * 2;
  const auto answer = ask(kB, claim(2, kB), Prepare{});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->verdict, Verdict::kGranted);
  EXPECT_EQ(answer->accepted, (Place{JobFence(1), 1}));
  EXPECT_EQ(answer->value, "state");
}

TEST_F(JobAcceptorTest, refuses_a_write_under_an_older_fence_whatever_the_time) {
  verdict(kA, claim(1, kA), Prepare{});
  verdict(kB, claim(2, kB), Prepare{});
  EXPECT_EQ(verdict(kA, claim(1, kA), Accept{1, "late"}), Verdict::kFenced);
  EXPECT_EQ(verdict(kA, claim(1, kA), Confirm{}), Verdict::kFenced);
}

TEST_F(JobAcceptorTest, promises_one_fence_to_one_claim_only) {
  EXPECT_EQ(verdict(kA, claim(1, kA), Prepare{}), Verdict::kGranted);
  EXPECT_EQ(verdict(kB, claim(1, kB), Prepare{}), Verdict::kFenced);
  // Nor to the same node that has forgotten its earlier claim.
  EXPECT_EQ(verdict(kA, claim(1, kA, 2), Prepare{}), Verdict::kFenced);
  EXPECT_EQ(verdict(kA, claim(1, kA), Prepare{}), Verdict::kGranted);
}

TEST_F(JobAcceptorTest, whoever_only_claims_a_job_is_not_its_writer) {
  verdict(kA, claim(1, kA), Prepare{});
  EXPECT_EQ(writer_of(kept_), quorum::kNobody) << "nothing was written yet";
  verdict(kA, claim(1, kA), Accept{1, "state"});
  EXPECT_EQ(writer_of(kept_), kA);
  now_ += kLease * 2;
  verdict(kB, claim(5, kB), Prepare{});
  EXPECT_EQ(writer_of(kept_), quorum::kNobody) << "it may never get it, and A may go on under a lower fence";
  verdict(kB, claim(5, kB), Accept{1, "state"});
  EXPECT_EQ(writer_of(kept_), kB);
}

TEST_F(JobAcceptorTest, keeps_a_leased_job_for_its_owner_until_the_lease_is_over_by_the_fastest_clock) {
  verdict(kA, claim(1, kA), Prepare{});
  verdict(kA, claim(1, kA), Accept{1, "state"});
  now_ += kLease;
  const auto early = ask(kB, claim(2, kB), Prepare{});
  EXPECT_EQ(early->verdict, Verdict::kLeased);
  now_ += early->again_after;
  EXPECT_EQ(verdict(kB, claim(3, kB), Prepare{}), Verdict::kGranted);
}

TEST_F(JobAcceptorTest, keeps_a_lease_that_it_gave_before_a_restart) {
  verdict(kA, claim(1, kA), Prepare{});
  verdict(kA, claim(1, kA), Accept{1, "state"});
  acceptor_ = JobAcceptor({});
  acceptor_.step(now_, AcceptorStart{true, {kept_}}, effects_);
  now_ += kLease;
  EXPECT_EQ(verdict(kB, claim(2, kB), Prepare{}), Verdict::kLeased);
  EXPECT_EQ(verdict(kA, claim(1, kA), Confirm{}), Verdict::kGranted);
}

TEST_F(JobAcceptorTest, gives_a_released_job_to_the_next_at_once) {
  verdict(kA, claim(1, kA), Prepare{});
  verdict(kA, claim(1, kA), Accept{1, "state"});
  ask(kA, claim(1, kA), Release{});
  EXPECT_EQ(verdict(kB, claim(2, kB), Prepare{}), Verdict::kGranted);
}

TEST_F(JobAcceptorTest, what_it_has_accepted_is_settled_when_its_owner_has_said_that_a_majority_has_it) {
  verdict(kA, claim(1, kA), Prepare{});
  EXPECT_FALSE(kept_.unsettled) << "there is nothing yet";
  verdict(kA, claim(1, kA), Accept{1, "state"});
  verdict(kA, claim(1, kA), Accept{2, "end"});
  EXPECT_TRUE(kept_.unsettled);
  ask(kA, claim(1, kA), Release{1});
  ask(kB, claim(1, kB), Release{2});
  EXPECT_TRUE(acceptor_.find("job")->unsettled) << "of another write, and by somebody else";
  ask(kA, claim(1, kA), Release{2});
  EXPECT_FALSE(kept_.unsettled);
  EXPECT_EQ(kept_.accepted, (Place{JobFence(1), 2}));
  EXPECT_EQ(kept_.value, "end");

  acceptor_ = JobAcceptor({});
  acceptor_.step(now_, AcceptorStart{true, {kept_}}, effects_);
  now_ += kLease * 2;
  verdict(kB, claim(2, kB), Prepare{});
  EXPECT_FALSE(acceptor_.find("job")->unsettled) << "a majority has it whoever comes next, and after a restart";
  verdict(kB, claim(2, kB), Accept{1, "end"});
  EXPECT_TRUE(acceptor_.find("job")->unsettled) << "it is another write";
}

TEST_F(JobAcceptorTest, grants_nothing_before_it_is_durable) {
  EXPECT_FALSE(ask(kA, claim(1, kA), Prepare{}, false).has_value());
  const auto* keep = std::get_if<KeepJob>(effects_.data());
  ASSERT_NE(keep, nullptr);
  const uint64_t number = keep->number;
  effects_.clear();
  acceptor_.step(now_, JobKept{number, true}, effects_);
  ASSERT_EQ(effects_.size(), 1u);
  EXPECT_EQ(std::get<Reply>(effects_.front()).answer.verdict, Verdict::kGranted);
}

TEST_F(JobAcceptorTest, tries_again_to_keep_what_its_disk_refused_before_it_grants) {
  EXPECT_FALSE(ask(kA, claim(1, kA), Prepare{}, false).has_value());
  acceptor_.step(now_, JobKept{std::get<KeepJob>(effects_.front()).number, false}, effects_);
  EXPECT_FALSE(ask(kA, claim(1, kA), Prepare{}, false).has_value());
  EXPECT_TRUE(std::holds_alternative<KeepJob>(effects_.front()));
  EXPECT_EQ(verdict(kB, claim(1, kB), Prepare{}), Verdict::kFenced) << "it may be on the disk";
}

TEST_F(JobAcceptorTest, says_nothing_for_a_promise_that_was_overtaken_while_it_was_written) {
  ask(kA, claim(1, kA), Prepare{}, false);
  const uint64_t first = std::get<KeepJob>(effects_.front()).number;
  ask(kB, claim(2, kB), Prepare{}, false);
  effects_.clear();
  acceptor_.step(now_, JobKept{first, true}, effects_);
  EXPECT_TRUE(effects_.empty());
}

TEST_F(JobAcceptorTest, learns_the_newer_value_and_whose_it_is_and_its_lease) {
  EXPECT_TRUE(learn({record(claim(3, kA), {JobFence(3), 2})}));
  EXPECT_EQ(kept_.value, "state");
  EXPECT_TRUE(kept_.unsettled) << "who says that a majority has it";
  EXPECT_EQ(writer_of(kept_), kA);
  EXPECT_EQ(verdict(kB, claim(4, kB), Prepare{}), Verdict::kLeased);
  EXPECT_EQ(verdict(kA, claim(3, kA), Confirm{}), Verdict::kGranted);
  EXPECT_TRUE(learn({record(claim(2, kB), {JobFence(2), 9}, "older")}));
  EXPECT_EQ(acceptor_.find("job")->value, "state");
  EXPECT_EQ(acceptor_.find("job")->promised, claim(3, kA));
  EXPECT_EQ(acceptor_.bytes(), 5u);
}

// The lease may be of a third node, which knows nothing of the promise.
TEST_F(JobAcceptorTest, a_promise_that_it_learned_is_nobody_s_until_its_owner_writes) {
  verdict(kA, claim(3, kA), Prepare{});
  verdict(kA, claim(3, kA), Accept{1, "state"});
  EXPECT_TRUE(learn({record(claim(7, kB), {JobFence(2), 1})}));
  EXPECT_EQ(kept_.promised, (Claim{JobFence(7), quorum::kNobody, 0}));
  EXPECT_EQ(verdict(kA, claim(3, kA), Accept{2, "late"}), Verdict::kFenced);
  EXPECT_EQ(verdict(kB, claim(7, kB), Prepare{}), Verdict::kFenced);
  EXPECT_EQ(verdict(kB, claim(8, kB), Prepare{}), Verdict::kLeased);
  EXPECT_EQ(ask(kB, claim(7, kB), Confirm{})->verdict, Verdict::kUnable);
  EXPECT_EQ(verdict(kB, claim(7, kB), Accept{1, "next"}), Verdict::kGranted) << "it has majorities";
  EXPECT_EQ(kept_.promised, claim(7, kB));
}

TEST_F(JobAcceptorTest, its_own_promise_is_nobody_s_any_more_when_it_learns_of_a_lease) {
  verdict(kB, claim(7, kB), Prepare{});
  EXPECT_TRUE(learn({record(claim(3, kA), {JobFence(3), 1})}));
  EXPECT_EQ(verdict(kB, claim(7, kB), Prepare{}), Verdict::kFenced);
  EXPECT_EQ(verdict(kB, claim(8, kB), Prepare{}), Verdict::kLeased);
}

TEST_F(JobAcceptorTest, of_two_records_with_one_promise_the_one_that_knows_its_writer_counts) {
  EXPECT_TRUE(learn({record(claim(7, kB), {JobFence(2), 1})}));
  EXPECT_TRUE(learn({record(claim(7, kB), {JobFence(7), 4})}));
  EXPECT_EQ(writer_of(kept_), kB);
  EXPECT_TRUE(learn({record(claim(7, kB), {JobFence(2), 1})}));
  EXPECT_EQ(writer_of(kept_), kB);
}

TEST_F(JobAcceptorTest, a_page_is_kept_when_all_of_it_is_durable) {
  RegisterRecord other = record(claim(1, kA), {JobFence(1), 1});
  other.key = "other";
  effects_.clear();
  acceptor_.step(now_, Learned{1, {record(claim(1, kA), {JobFence(1), 1}), other}}, effects_);
  ASSERT_EQ(effects_.size(), 2u);
  const uint64_t first = std::get<KeepJob>(effects_[0]).number;
  const uint64_t second = std::get<KeepJob>(effects_[1]).number;
  effects_.clear();
  acceptor_.step(now_, JobKept{second, true}, effects_);
  EXPECT_TRUE(effects_.empty());
  acceptor_.step(now_, Learned{2, {other}}, effects_);
  ASSERT_EQ(effects_.size(), 1u);
  EXPECT_EQ(std::get<PageKept>(effects_[0]).page, 2u) << "nothing in it was new";
  effects_.clear();
  acceptor_.step(now_, JobKept{first, false}, effects_);
  ASSERT_EQ(effects_.size(), 1u);
  EXPECT_FALSE(std::get<PageKept>(effects_[0]).ok);
  EXPECT_TRUE(learn({record(claim(1, kA), {JobFence(1), 1})})) << "it is written again";
}

TEST_F(JobAcceptorTest, gives_its_records_in_pages) {
  std::vector<RegisterRecord> records;
  for (int i = 0; i < 20; ++i) {
    records.push_back(record(claim(1, kA), {JobFence(1), 1}, std::string(kMaxValueBytes, 'x')));
    records.back().key = fmt::format("job{:02}", i);
  }
  EXPECT_TRUE(learn(records));
  std::vector<std::string> keys;
  Records page{{}, true};
  for (int pages = 0; page.more && pages < 20; ++pages) {
    page = acceptor_.page(keys.empty() ? "" : keys.back());
    EXPECT_LE(page.records.size() * kMaxValueBytes, kMaxPageBytes);
    for (const RegisterRecord& one : page.records) keys.push_back(one.key);
  }
  ASSERT_EQ(keys.size(), 20u);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_TRUE(acceptor_.page("job19").records.empty());
}

TEST_F(JobAcceptorTest, promises_nothing_without_its_records) {
  acceptor_ = JobAcceptor({});
  acceptor_.step(now_, AcceptorStart{false, {}}, effects_);
  EXPECT_EQ(verdict(kA, claim(9, kA), Prepare{}), Verdict::kUnable);
}

TEST_F(JobAcceptorTest, is_bounded) {
  acceptor_ = JobAcceptor({.most_jobs = 1});
  acceptor_.step(now_, AcceptorStart{}, effects_);
  EXPECT_EQ(verdict(kA, claim(1, kA), Prepare{}), Verdict::kGranted);
  effects_.clear();
  acceptor_.step(now_, Asked{kA, {"another", 1, kLease, claim(1, kA), Prepare{}}}, effects_);
  EXPECT_EQ(std::get<Reply>(effects_.front()).answer.verdict, Verdict::kUnable);
  RegisterRecord another = record(claim(1, kA), {JobFence(1), 1});
  another.key = "another";
  EXPECT_FALSE(learn({another}));
  EXPECT_EQ(acceptor_.jobs(), 1u);
  effects_.clear();
  const std::string long_value(kMaxValueBytes + 1, 'x');
  acceptor_.step(now_, Asked{kA, {"job", 2, kLease, claim(1, kA), Accept{1, long_value}}}, effects_);
  acceptor_.step(now_, Asked{kA, {"", 3, kLease, claim(1, kA), Prepare{}}}, effects_);
  acceptor_.step(now_, Asked{kA, {"job", 4, kLongestJobLease * 2, claim(2, kA), Prepare{}}}, effects_);
  acceptor_.step(now_, Asked{kB, {"job", 5, kLease, claim(3, kA), Prepare{}}}, effects_);
  EXPECT_TRUE(effects_.empty());
}

TEST_F(JobAcceptorTest, a_message_that_it_drops_leaves_no_key) {
  EXPECT_FALSE(ask(kB, claim(1, kA), Prepare{}).has_value());
  EXPECT_FALSE(ask(kB, claim(1, kA), Accept{1, "state"}).has_value());
  EXPECT_FALSE(ask(kA, claim(1, kA), Accept{1, std::string(kMaxValueBytes + 1, 'x')}).has_value());
  EXPECT_FALSE(ask(kA, claim(0, kA), Prepare()).has_value());
  EXPECT_EQ(acceptor_.jobs(), 0u);
}

TEST_F(JobAcceptorTest, nothing_drops_a_register_that_is_not_retired) {
  const auto forget = [this] {
    effects_.clear();
    acceptor_.step(now_, Forget{"job"}, effects_);
    return std::any_of(effects_.begin(), effects_.end(),
                       [](const AcceptorEffect& one) { return std::holds_alternative<DropJob>(one); });
  };
  EXPECT_FALSE(forget()) << "it has none";
  verdict(kA, claim(1, kA), Prepare{});
  EXPECT_FALSE(forget()) << "it has promised something";
  verdict(kA, claim(1, kA), Accept{1, bytes_of_value("\2")});
  EXPECT_FALSE(forget()) << "it has accepted a value";
  EXPECT_EQ(acceptor_.jobs(), 1u);
  verdict(kA, claim(1, kA), Accept{2, bytes_of_retired()});
  EXPECT_TRUE(forget());
  EXPECT_EQ(acceptor_.jobs(), 0u);
}

}  // namespace
}  // namespace bellwether::registers
