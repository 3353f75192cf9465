#include "bellwether/leadership.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <gtest/gtest.h>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "core/runtime/temporary_testing.h"

namespace bellwether::leadership {
namespace {

using namespace std::chrono_literals;

// Records the events; waits for them.
class Noting final : public Listener {
 public:
  void on_elected(const Term& term) override { note("elected " + std::to_string(term.epoch())); }
  void on_deposed(uint64_t epoch, const std::string&) override {
    note("deposed " + std::to_string(epoch));
    if (throws) throw std::runtime_error("a listener fails");
  }
  void wait_for(const std::string& text) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return std::find(notes_.begin(), notes_.end(), text) != notes_.end(); });
  }
  std::vector<std::string> notes() {
    const std::lock_guard lock(mutex_);
    return notes_;
  }
  uint64_t times_deposed() {
    const std::lock_guard lock(mutex_);
    return static_cast<uint64_t>(
        std::ranges::count_if(notes_, [](const std::string& note) { return note.starts_with("deposed"); }));
  }
  bool throws = false;

 private:
  void note(std::string text) {
    {
      const std::lock_guard lock(mutex_);
      notes_.push_back(std::move(text));
    }
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> notes_;
};

class LeadershipTest : public testing::Test {
 protected:
  // A process that stands still for longer than its lease loses its term.
  Options options(const std::string& id, std::chrono::milliseconds lease = 1min) {
    Options o;
    o.store = "flock:" + folder.path();
    o.key = "k";
    o.id = id;
    o.lease = lease;
    return o;
  }
  std::unique_ptr<Leadership> join(const Options& o, Listener* listener) {
    std::string error;
    auto joined = Leadership::join(o, listener, error);
    EXPECT_TRUE(joined) << error;
    return joined;
  }
  runtime::TemporaryFolder folder;
};

TEST_F(LeadershipTest, a_term_is_valid_while_it_leads_and_not_after) {
  Noting noting;
  auto leadership = join(options("a"), &noting);
  noting.wait_for("elected 1");
  const Term term = leadership->term();
  EXPECT_TRUE(term);
  EXPECT_EQ(term.epoch(), 1u);
  EXPECT_LE(term.valid_for(), 1min);
  leadership.reset();
  EXPECT_FALSE(term);
  EXPECT_EQ(noting.notes(), (std::vector<std::string>{"elected 1", "deposed 1"}));
}

TEST_F(LeadershipTest, the_next_one_leads_under_a_higher_epoch) {
  Noting a;
  Noting b;
  auto first = join(options("a"), &a);
  a.wait_for("elected 1");
  auto second = join(options("b"), &b);
  first.reset();
  b.wait_for("elected 2");
  EXPECT_EQ(second->leader().holder, "b");
}

TEST_F(LeadershipTest, a_listener_that_throws_delays_nothing) {
  Noting noting;
  noting.throws = true;
  auto leadership = join(options("a", 1s), &noting);  // it stands again after a lease
  noting.wait_for("elected 1");
  leadership->hand_over("nobody in particular");
  noting.wait_for("deposed 1");
  noting.wait_for("elected 2");
  const uint64_t failed = leadership->failed_callbacks();
  EXPECT_GE(failed, 1u);
  EXPECT_LE(failed, noting.times_deposed());
}

TEST_F(LeadershipTest, a_flood_of_progress_pushes_no_other_word_out) {
  Noting noting;
  auto leadership = join(options("a", 1s), &noting);
  noting.wait_for("elected 1");
  std::atomic<bool> over{false};
  std::thread flood([&] {
    while (!over) leadership->progress();
  });
  for (int term = 1; term <= 3; ++term) {
    leadership->hand_over("nobody in particular");
    noting.wait_for("deposed " + std::to_string(term));
    noting.wait_for("elected " + std::to_string(term + 1));
  }
  over = true;
  flood.join();
}

TEST_F(LeadershipTest, surfaces_ask_and_are_counted) {
  Noting noting;
  auto leader = join(options("a"), &noting);
  noting.wait_for("elected 1");
  Options watching = options("b");
  watching.campaign = false;
  auto observer = join(watching, nullptr);
  EXPECT_TRUE(leader->permits("dispatch"));
  EXPECT_FALSE(observer->permits("dispatch"));
  EXPECT_EQ(leader->surfaces()[0].permitted, 1u);
  EXPECT_EQ(observer->surfaces()[0].suppressed, 1u);
}

TEST_F(LeadershipTest, wrong_options_are_explained) {
  std::string error;
  Options wrong = options("a");
  wrong.store = "ftp://x";
  EXPECT_EQ(Leadership::join(wrong, nullptr, error), nullptr);
  EXPECT_NE(error.find("redis://"), std::string::npos) << error;
  wrong = options("a");
  wrong.lease = 0s;
  EXPECT_EQ(Leadership::join(wrong, nullptr, error), nullptr);
  EXPECT_NE(error.find("lease"), std::string::npos) << error;
}

TEST(DurableFence, refuses_what_is_older_also_after_a_restart) {
  const runtime::TemporaryFolder folder;
  const std::string path = folder.path() + "/fence";
  std::string error;
  auto fence = DurableFence::open(path, error);
  ASSERT_TRUE(fence) << error;
  EXPECT_TRUE(fence->admit(3));
  EXPECT_TRUE(fence->admit(3));
  EXPECT_FALSE(fence->admit(2));
  fence = DurableFence::open(path, error);
  ASSERT_TRUE(fence) << error;
  EXPECT_EQ(fence->highest(), 3u);
  EXPECT_FALSE(fence->admit(2));
  EXPECT_TRUE(fence->admit(4));
}

TEST(DurableFence, does_not_trust_a_file_that_is_not_its_own) {
  const runtime::TemporaryFolder folder;
  const std::string path = folder.path() + "/fence";
  for (const char* text : {"", "fence", "fence 12", "fence x end\n", "fence 12 end\nmore"}) {
    std::ofstream(path) << text;
    std::string error;
    EXPECT_EQ(DurableFence::open(path, error), nullptr) << text;
    EXPECT_NE(error.find(path), std::string::npos);
  }
}

}  // namespace
}  // namespace bellwether::leadership
