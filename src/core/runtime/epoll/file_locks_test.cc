#include <gmock/gmock.h>
#include <sys/file.h>

#include "core/runtime/stream_testing.h"
#include "core/runtime/temporary_testing.h"

namespace bellwether::runtime {
namespace {

constexpr OpenOptions kLockFile{.create = true, .write = true};

class FileLocksTest : public testing::Test {
 protected:
  std::unique_ptr<File> open(const std::string& name, OpenOptions options = kLockFile) {
    auto opened = runtime_->run(runtime_->open(folder_.path(name), options));
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }
  Errc lock(File& file, Duration patience = Duration::zero(), Cancellation* cancel = nullptr) {
    const Status locked = runtime_->run(file.lock(runtime_->now() + patience, cancel));
    return locked ? Errc::kOk : locked.error().code;
  }
  bool is_at(File& file, const std::string& name) { return *runtime_->run(file.is_at(folder_.path(name))); }
  std::unique_ptr<EpollRuntime> runtime_ = test_runtime();
  TemporaryFolder folder_;
};

TEST_F(FileLocksTest, one_open_file_has_the_lock) {
  const auto first = open("a");
  const auto second = open("a");
  const auto elsewhere = open("b");
  EXPECT_EQ(lock(*first), Errc::kOk);
  EXPECT_EQ(lock(*first), Errc::kOk);
  EXPECT_EQ(lock(*second), Errc::kTimeout);
  EXPECT_EQ(lock(*elsewhere), Errc::kOk);
  ASSERT_TRUE(runtime_->run(first->unlock()));
  EXPECT_EQ(lock(*second), Errc::kOk);
  EXPECT_EQ(lock(*first), Errc::kTimeout);
  EXPECT_TRUE(runtime_->run(first->unlock())) << "what is not locked by it is not unlocked";
  EXPECT_EQ(lock(*first), Errc::kTimeout);
}

TEST_F(FileLocksTest, a_deadline_ends_the_waiting_and_names_the_file) {
  const auto holder = open("a");
  const auto other = open("a");
  ASSERT_EQ(lock(*holder), Errc::kOk);
  const Instant deadline = runtime_->now() + Duration::millis(30);
  const Status waited = runtime_->run(other->lock(deadline, nullptr));
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, Errc::kTimeout);
  EXPECT_THAT(waited.error().message, testing::HasSubstr("locking '" + folder_.path("a") + "'"));
  EXPECT_GE(runtime_->now(), deadline);
}

TEST_F(FileLocksTest, who_waits_gets_the_lock_when_it_is_given_back) {
  auto holder = open("a");
  const auto next = open("a");
  const auto last = open("a");
  ASSERT_EQ(lock(*holder), Errc::kOk);
  auto waiting = next->lock(Instant::never(), nullptr);
  EXPECT_EQ(lock(*last, Duration::millis(5)), Errc::kTimeout);
  EXPECT_FALSE(waiting.done());
  holder.reset();
  EXPECT_TRUE(runtime_->run(std::move(waiting)));
  EXPECT_EQ(lock(*last), Errc::kTimeout);
}

TEST_F(FileLocksTest, waiting_for_a_lock_is_cancelled_and_holds_up_no_other_file) {
  const auto holder = open("a");
  const auto other = open("a");
  ASSERT_EQ(lock(*holder), Errc::kOk);
  Cancellation cancel;
  auto waiting = other->lock(Instant::never(), &cancel);
  EXPECT_TRUE(runtime_->run(holder->write_at(0, as_bytes("still here"))));
  cancel.cancel();
  EXPECT_EQ(runtime_->run(std::move(waiting)).error().code, Errc::kCancelled);
  ASSERT_TRUE(runtime_->run(holder->unlock()));
  EXPECT_EQ(lock(*other, Duration::zero(), &cancel), Errc::kOk) << "nobody had to wait";
}

TEST_F(FileLocksTest, a_destroyed_file_gives_its_lock_back_even_when_a_copy_of_its_descriptor_lives) {
  auto holder = open("a");
  const auto other = open("a");
  ASSERT_EQ(lock(*holder), Errc::kOk);
  const int copy = ::dup(holder->descriptor());
  holder.reset();
  EXPECT_EQ(lock(*other), Errc::kOk);
  ::close(copy);
}

TEST_F(FileLocksTest, other_programs_respect_the_lock) {
  const auto holder = open("a");
  const int foreign = ::open(folder_.path("a").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(lock(*holder), Errc::kOk);
  EXPECT_EQ(::flock(foreign, LOCK_SH | LOCK_NB), -1);
  ASSERT_TRUE(runtime_->run(holder->unlock()));
  EXPECT_EQ(::flock(foreign, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(lock(*holder), Errc::kTimeout);
  ::close(foreign);
  EXPECT_EQ(lock(*holder), Errc::kOk);
}

TEST_F(FileLocksTest, one_open_file_has_the_hold_and_who_asks_is_in_nobodys_way) {
  auto holder = open("a");
  const auto other = open("a");
  const auto reader = open("a", {});
  const auto holds = [&](File& file) { return *runtime_->run(file.try_hold()); };
  const auto sees = [&](File& file) { return *runtime_->run(file.is_held()); };
  EXPECT_FALSE(sees(*reader));
  EXPECT_TRUE(holds(*holder));
  EXPECT_TRUE(holds(*holder)) << "again";
  EXPECT_TRUE(sees(*reader));
  EXPECT_TRUE(sees(*other));
  EXPECT_FALSE(sees(*holder)) << "it is its own";
  EXPECT_FALSE(holds(*other));
  EXPECT_EQ(lock(*other), Errc::kOk) << "the lock is another matter";
  EXPECT_EQ(runtime_->run(reader->try_hold()).error().code, Errc::kIo);
  const int copy = ::dup(holder->descriptor());
  holder.reset();
  EXPECT_FALSE(sees(*reader));
  EXPECT_TRUE(holds(*other));
  ::close(copy);
}

TEST_F(FileLocksTest, a_file_knows_whether_it_still_has_its_name) {
  const auto file = open("a");
  EXPECT_TRUE(is_at(*file, "a"));
  EXPECT_FALSE(is_at(*file, "b"));
  folder_.file("b", "another");
  ASSERT_TRUE(runtime_->run(runtime_->rename(folder_.path("b"), folder_.path("a"))));
  EXPECT_FALSE(is_at(*file, "a"));
  const auto replacement = open("a");
  EXPECT_TRUE(is_at(*replacement, "a"));
  ASSERT_TRUE(runtime_->run(runtime_->remove(folder_.path("a"))));
  EXPECT_FALSE(is_at(*replacement, "a"));
  EXPECT_EQ(runtime_->run(replacement->is_at(std::string(5000, 'x'))).error().code, Errc::kIo);
}

TEST_F(FileLocksTest, a_link_put_in_the_place_of_a_file_is_seen_by_who_follows_none) {
  const auto strict = open("a", {.create = true, .write = true, .no_follow = true});
  const auto lenient = open("a");
  ASSERT_TRUE(runtime_->run(runtime_->rename(folder_.path("a"), folder_.path("b"))));
  ASSERT_EQ(::symlink(folder_.path("b").c_str(), folder_.path("a").c_str()), 0);
  EXPECT_FALSE(is_at(*strict, "a"));
  EXPECT_TRUE(is_at(*lenient, "a"));
}

}  // namespace
}  // namespace bellwether::runtime
