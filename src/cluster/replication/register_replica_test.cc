#include "cluster/replication/register_replica.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "cluster/register/small.h"
#include "cluster/replication/quorum_world_testing.h"
#include "core/runtime/stream_testing.h"

namespace bellwether::jobs {
namespace {

using runtime::task;
using testing::HasSubstr;

// A disk that can be full, fail, and be looked into.
class TestKv final : public cluster::Kv {
 public:
  std::map<std::string, std::string> kept;
  Errc trouble = Errc::kOk;
  int puts = 0;
  bool hold = false;  // changes wait for release()

  void release() {
    hold = false;
    released_.set();
  }

  task<Result<std::optional<std::string>>> get(std::string key) override {
    if (trouble != Errc::kOk) co_return fail(trouble, "the disk of the test");
    const auto found = kept.find(key);
    co_return found == kept.end() ? std::nullopt : std::optional<std::string>(found->second);
  }
  task<Result<std::vector<std::pair<std::string, std::string>>>> list(std::string prefix) override {
    if (trouble != Errc::kOk) co_return fail(trouble, "the disk of the test");
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& [key, value] : kept) {
      if (key.starts_with(prefix)) found.emplace_back(key, value);
    }
    co_return found;
  }
  task<Status> put(std::vector<cluster::KvChange> changes) override {
    ++puts;
    if (hold) co_await released_.wait();
    if (trouble != Errc::kOk) co_return fail(trouble, "the disk of the test");
    for (const cluster::KvChange& one : changes) {
      if (one.value) {
        kept[one.key] = *one.value;
      } else {
        kept.erase(one.key);
      }
    }
    co_return Status();
  }

 private:
  runtime::Event released_;
};

// One node that keeps its own jobs: no other node is needed.
class RegisterReplicaTest : public testing::Test, public JobHandle::Listener {
 protected:
  void start(ReplicaSettings settings = {.first_start = true}) {
    lines_ = std::make_unique<registers::Lines>(links_, router_, nowhere_, "m1", names_);
    store_ = std::make_unique<QuorumJobStore>(*runtime_, *lines_, JobSettings{}, 1);
    replica_ = std::make_unique<RegisterReplica>(*runtime_, kv_, *lines_, settings,
                                                 callback_to<&RegisterReplicaTest::on_note>(*this));
    scope_ = std::make_unique<runtime::Scope>();
    scope_->spawn(replica_->run(scope_->cancellation()));
  }
  void stop() {
    runtime_->run(stopping());
    replica_.reset();
    store_.reset();
    lines_.reset();
  }
  void TearDown() override {
    if (store_ != nullptr) stop();
    runtime_->run(links_.close(Duration::millis(1)));
  }
  std::unique_ptr<JobHandle> open(const std::string& key) { return *store_->open(key, *this); }
  Instant soon() { return runtime_->read_clock() + Duration::seconds(20); }
  // The error of a call that cannot succeed. What it asks is answered within the turn; where this thread stands still
  // before the answer, the next call has more time. A write in doubt may be one of the former calls.
  template <class Call>
  auto failure_of(Call call, std::string_view expected) {
    bool doubted = false;
    for (Duration within = Duration::millis(50);; within = within * 4) {
      auto done = runtime_->run(call(runtime_->read_clock() + within));
      check(!done.has_value(), "it cannot succeed");
      const std::string* said = nullptr;
      if constexpr (requires { done.error().perhaps; }) {
        doubted = done.error().perhaps = doubted || done.error().perhaps;
        said = &done.error().error.message;
      } else {
        said = &done.error().message;
      }
      if (said->find(expected) != std::string::npos || within > kLongest) return std::move(done.error());
    }
  }
  static constexpr Duration kLongest = Duration::seconds(20);
  Result<TakenJob> take(JobHandle& job) { return runtime_->run(job.take(soon(), nullptr)); }
  Written write(JobHandle& job, const std::string& value) { return runtime_->run(job.write(value, soon(), nullptr)); }
  template <class Holds>
  void until(Holds holds) {
    const auto wait = [](runtime::Runtime& runtime) -> task<int> {
      co_await runtime.sleep(Duration::millis(1));
      co_return 0;
    };
    for (int i = 0; i < 10'000 && !holds(); ++i) runtime_->run(wait(*runtime_));
    ASSERT_TRUE(holds());
  }

  static constexpr auto nowhere_ = [](const std::string&) -> std::optional<cluster::PeerAddress> {
    return std::nullopt;
  };
  std::unique_ptr<runtime::EpollRuntime> runtime_ = runtime::test_runtime();
  TestKv kv_;
  std::vector<std::string> names_{"m1"};
  std::unique_ptr<registers::Lines> lines_;
  std::unique_ptr<QuorumJobStore> store_;
  std::unique_ptr<RegisterReplica> replica_;
  std::vector<std::string> notes_;

 private:
  task<int> stopping() {
    co_await store_->close(Duration::seconds(1));
    scope_->cancel();
    co_await scope_->join();
    co_return 0;
  }
  void on_note(bool, const std::string& text) { notes_.push_back(text); }
  void on_lost(const LostJob&) override {}

  wire::Keyring keys_ = link::test_keyring();
  link::RefusalWatch refusals_;
  link::DialSettings dialling_;
  cluster::MessageRouter router_;
  cluster::PeerLinks links_{*runtime_, dialling_, keys_, router_, refusals_};
  std::unique_ptr<runtime::Scope> scope_;
};

TEST_F(RegisterReplicaTest, what_was_written_is_on_its_disk_before_it_is_said) {
  start();
  auto job = open("job");
  ASSERT_TRUE(take(*job));
  ASSERT_TRUE(write(*job, "half done"));
  const auto record = message::decode<registers::RegisterRecord>(kv_.kept.at("jobs/job"));
  ASSERT_TRUE(record);
  EXPECT_EQ(registers::parse_content(record->value)->value, "half done");
  EXPECT_EQ(record->accepted.fence, job->fence());
}

TEST_F(RegisterReplicaTest, on_a_full_disk_it_abstains_and_says_so_until_there_is_room) {
  start();
  auto job = open("job");
  ASSERT_TRUE(take(*job));
  kv_.trouble = Errc::kNoSpace;
  const std::string why = "'m1': job registers cannot be written";
  const auto doubt = failure_of([&](Instant deadline) { return job->write("no room", deadline, nullptr); }, why);
  EXPECT_EQ(doubt.error.code, Errc::kTimeout);
  EXPECT_TRUE(doubt.perhaps);
  EXPECT_THAT(doubt.error.message, HasSubstr(why));
  EXPECT_THAT(notes_, testing::ElementsAre(HasSubstr("makes no promises and accepts no writes")));
  EXPECT_THAT(replica_->unable(), HasSubstr("the disk of the test"));
  kv_.trouble = Errc::kOk;
  EXPECT_TRUE(write(*job, "room"));
  EXPECT_THAT(notes_, testing::ElementsAre(testing::_, HasSubstr("again")));
  EXPECT_EQ(replica_->unable(), "");
}

TEST_F(RegisterReplicaTest, a_disk_that_knows_nothing_is_taken_for_one_that_was_lost) {
  start({.first_start = false});
  auto job = open("job");
  const Error refused = failure_of([&](Instant deadline) { return job->take(deadline, nullptr); }, "--first-start");
  EXPECT_EQ(refused.code, Errc::kTimeout);
  EXPECT_THAT(refused.message, HasSubstr("--first-start"));
  EXPECT_THAT(notes_, testing::ElementsAre(HasSubstr("stores none")));
  job.reset();
  stop();
  start({.first_start = true});
  job = open("job");
  EXPECT_TRUE(take(*job));
  job.reset();
  stop();
  start({.first_start = false});
  job = open("job");
  EXPECT_TRUE(take(*job)) << "it has begun before";
}

TEST_F(RegisterReplicaTest, what_cannot_be_read_is_not_taken_for_nothing) {
  start();
  {
    auto job = open("job");
    ASSERT_TRUE(take(*job));
  }
  stop();
  const std::string good = kv_.kept.at("jobs/job");
  kv_.kept["jobs/job"] = "no record";
  start();
  EXPECT_THAT(replica_->unable(), HasSubstr("cannot be read"));
  stop();
  kv_.kept["jobs/job"] = good;
  kv_.kept["jobs/another"] = good;
  start();
  EXPECT_THAT(replica_->unable(), HasSubstr("another job"));
  stop();
  kv_.trouble = Errc::kIo;
  start();
  EXPECT_THAT(replica_->unable(), HasSubstr("the disk of the test"));
  auto job = open("job");
  EXPECT_EQ(failure_of([&](Instant deadline) { return job->take(deadline, nullptr); }, "").code, Errc::kTimeout);
}

TEST_F(RegisterReplicaTest, keeps_so_many_jobs_and_says_when_there_are_more) {
  start({.first_start = true, .most_jobs = 2});
  auto one = open("one");
  auto two = open("two");
  auto three = open("three");
  ASSERT_TRUE(take(*one));
  ASSERT_TRUE(take(*two));
  const std::string why = "it stores 2 jobs, the limit";
  const Error full = failure_of([&](Instant deadline) { return three->take(deadline, nullptr); }, why);
  EXPECT_THAT(full.message, HasSubstr(why));
  EXPECT_TRUE(write(*one, "those that are kept go on"));
}

TEST_F(RegisterReplicaTest, keeps_so_many_bytes_and_says_when_there_are_more) {
  start({.first_start = true, .most_bytes = 100});
  auto one = open("one");
  auto two = open("two");
  ASSERT_TRUE(take(*one));
  ASSERT_TRUE(take(*two));
  ASSERT_TRUE(write(*one, std::string(60, 'x')));
  const std::string why = "the states of its jobs have 61 bytes; the limit is 100";
  const auto write_more = [&](Instant deadline) { return two->write(std::string(60, 'x'), deadline, nullptr); };
  EXPECT_THAT(failure_of(write_more, why).error.message, HasSubstr(why));
  EXPECT_TRUE(write(*one, std::string(30, 'x'))) << "what becomes smaller is taken";
  EXPECT_TRUE(write(*two, std::string(60, 'x'))) << "there is room now";
}

TEST_F(RegisterReplicaTest, the_register_of_a_retired_job_goes_away_after_a_while) {
  start({.first_start = true, .retired_kept = Duration::millis(80)});
  auto other = open("other");
  auto job = open("job");
  ASSERT_TRUE(take(*other));
  ASSERT_TRUE(take(*job));
  ASSERT_TRUE(runtime_->run(job->retire(soon(), nullptr)));
  until([&] { return replica_->jobs() == 1; });
  until([&] { return !kv_.kept.contains("jobs/job"); });
  EXPECT_TRUE(kv_.kept.contains("jobs/other"));
}

TEST_F(RegisterReplicaTest, peers_as_before_count_whatever_the_settings_say_unless_no_job_is_left) {
  start();
  {
    auto job = open("job");
    ASSERT_TRUE(take(*job));
  }
  stop();
  kv_.kept["jobs-kept-with"] = "m1 m2";
  start({.first_start = true});
  EXPECT_THAT(notes_.back(), HasSubstr("stores job registers together with m1, m2, but its settings name m1"));
  EXPECT_THAT(lines_->set().names, testing::ElementsAre("m1", "m2"));
  stop();
  kv_.kept.erase("jobs/job");
  start({.first_start = false});
  EXPECT_THAT(lines_->set().names, testing::ElementsAre("m1", "m2"));
  stop();
  start({.first_start = true});
  EXPECT_THAT(lines_->set().names, testing::ElementsAre("m1"));
  stop();
  start({.first_start = false});
  EXPECT_THAT(lines_->set().names, testing::ElementsAre("m1")) << "said once";
  EXPECT_EQ(replica_->unable(), "");
}

TEST_F(RegisterReplicaTest, a_newer_set_is_on_the_disk_before_it_counts_and_outlives_a_restart) {
  start();
  kv_.hold = true;
  lines_->hear({1, {"m1"}, {"m1", "m2"}});
  EXPECT_EQ(lines_->set().number, 0u);
  kv_.release();
  until([&] { return lines_->set().number == 1; });
  until([&] { return lines_->read() == 1; });  // of all old nodes, which is itself
  stop();
  start({.first_start = false});
  until([&] { return lines_->set().number == 1; });
  EXPECT_THAT(lines_->set().next, testing::ElementsAre("m1", "m2"));
  EXPECT_EQ(lines_->read(), 1u);
  lines_->hear({0, {"m1"}, {}});
  EXPECT_EQ(lines_->set().number, 1u) << "an older one";
  EXPECT_EQ(lines_->unable(), "");
}

TEST_F(RegisterReplicaTest, a_node_that_a_set_names_before_it_came_has_lost_its_disk) {
  names_ = {"m2"};
  start({.first_start = false});
  EXPECT_EQ(replica_->unable(), "") << "no replica, so nothing was lost";
  lines_->hear({3, {"m2", "m3"}, {"m1", "m2", "m3"}});
  EXPECT_EQ(replica_->unable(), "") << "it comes";
  stop();
  kv_.kept.clear();
  start({.first_start = false});
  lines_->hear({4, {"m1", "m2", "m3"}, {}});
  EXPECT_THAT(replica_->unable(), HasSubstr("it was lost. Remove this node"));
  EXPECT_EQ(lines_->set().number, 4u);
  stop();
  start({.first_start = false});
  lines_->hear({4, {"m1", "m2", "m3"}, {}});
  EXPECT_THAT(replica_->unable(), HasSubstr("it was lost")) << "after a restart, too";
}

// The first change does not wait, and those that come while the disk is busy wait for it alone.
TEST_F(RegisterReplicaTest, changes_that_are_asked_for_while_the_disk_is_busy_become_durable_together) {
  start();
  std::vector<std::unique_ptr<JobHandle>> jobs;
  std::vector<task<Result<TakenJob>>> taking;
  kv_.hold = true;
  const int before = kv_.puts;
  for (int i = 0; i < 20; ++i) {
    jobs.push_back(open(std::to_string(i)));
    taking.push_back(jobs.back()->take(soon(), nullptr));
  }
  kv_.release();
  for (auto& one : taking) EXPECT_TRUE(runtime_->run(std::move(one)));
  EXPECT_LE(kv_.puts - before, 10);
}

// --- who has a say ---------------------------------------------------------------------------------------------------

class TwoNodes : public testing::Test {
 protected:
  void start(Node& node, std::unique_ptr<Peer>& peer, const std::string& name, std::vector<std::string> peers,
             wire::Role role, bool keeps) {
    node.act([&] {
      peer = std::make_unique<Peer>(node.runtime(), name, std::move(peers), book_, folder_.path() + "/" + name, role);
    });
    node.run([&] { return peer->start(Duration::seconds(60), keeps, true); });
    node.store = peer->store.get();
  }
  void stop(Node& node, std::unique_ptr<Peer>& peer) {
    node.run([&] { return peer->stop(false); });
    node.act([&] { peer.reset(); });
  }
  runtime::TemporaryFolder folder_;
  AddressBook book_;
  Node keeping_;
  Node asking_;
  static constexpr int kTries = 30;  // a busy machine may answer too late
  std::unique_ptr<Peer> replica_;
  std::unique_ptr<Peer> asker_;
};

TEST_F(TwoNodes, a_gate_that_keeps_nothing_may_own_jobs) {
  start(keeping_, replica_, "m1", {"m1"}, wire::Role::kManager, true);
  start(asking_, asker_, "g1", {"m1"}, wire::Role::kGate, false);
  {
    Owner owner(asking_, "job");
    EXPECT_TRUE(owner.take());
  }
  stop(asking_, asker_);
  stop(keeping_, replica_);
}

TEST_F(TwoNodes, a_worker_has_no_say) {
  start(keeping_, replica_, "m1", {"m1"}, wire::Role::kManager, true);
  start(asking_, asker_, "w1", {"m1"}, wire::Role::kWorker, false);
  uint64_t refused = 0;
  {
    Owner owner(asking_, "job");
    for (int tries = 0; tries < kTries && refused == 0; ++tries) {
      const auto taken = owner.take(Duration::seconds(1));
      ASSERT_FALSE(taken);
      EXPECT_EQ(taken.error().code, Errc::kTimeout);
      keeping_.act([&] { refused = replica_->router().refused(); });
    }
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(replica_->replica->jobs(), 0u);
  stop(asking_, asker_);
  stop(keeping_, replica_);
}

TEST_F(TwoNodes, one_that_was_told_of_other_peers_is_told_so) {
  start(keeping_, replica_, "m1", {"m1"}, wire::Role::kManager, true);
  start(asking_, asker_, "m2", {"m1", "m2"}, wire::Role::kManager, true);
  {
    Owner owner(asking_, "job");
    std::string said;
    for (int tries = 0; tries < kTries && said.find("its settings") == std::string::npos; ++tries) {
      const auto taken = owner.take(Duration::seconds(2));
      ASSERT_FALSE(taken);
      said = taken.error().message;
    }
    EXPECT_THAT(said, HasSubstr("'m1': its settings name other replicas: m1"));
  }
  stop(asking_, asker_);
  stop(keeping_, replica_);
}

}  // namespace
}  // namespace bellwether::jobs
