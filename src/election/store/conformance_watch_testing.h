// Waits for changes of a key, for the behaviours of stores that report them.
#pragma once

#include "election/store/conformance_testing.h"

namespace bellwether::store {

class Watching : public StoreConformance {
 protected:
  // One who waits for changes of a key, and looks at it after each as a candidate does.
  class Waiter {
   public:
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    Waiter(Watching& test, StoreKey& key) : test_(test), key_(key), waiting_(key.changed(&cancel_)) {}
    ~Waiter() {
      cancel_.cancel();
      if (!polled_) test_.runtime_->run(std::move(waiting_));
    }
    // Whether a report of a change comes within this time.
    bool hears(Duration within = kPatience) {
      const Instant until = test_.runtime_->read_clock() + within;
      while (!waiting_.done() && test_.runtime_->read_clock() < until) test_.wait(Duration::millis(5));
      if (!waiting_.done()) return false;
      const bool told = test_.runtime_->run(std::move(waiting_));
      polled_ = !told;
      if (told) waiting_ = key_.changed(&cancel_);
      return told;
    }
    // Drops the reports of earlier changes, and of the beginning of the watch itself.
    void settle() {
      while (!polled_ && hears(Duration::millis(400))) static_cast<void>(test_.try_look(key_, Duration::seconds(2)));
    }
    // The store reports nothing: the waiting caller must poll.
    bool polled() const { return polled_; }

   private:
    Watching& test_;
    StoreKey& key_;
    runtime::Cancellation cancel_;
    runtime::task<bool> waiting_;
    bool polled_ = false;
  };

  void wait(Duration span) {
    const auto pause = [](runtime::Runtime& runtime, Duration time) -> runtime::task<int> {
      co_await runtime.sleep(time);
      co_return 0;
    };
    runtime_->run(pause(*runtime_, span));
  }
  // Another candidate takes the key, leaves a request in it, and releases it: the store reports each.
  void expect_changes_are_told(Waiter& waiter, StoreKey& other) {
    waiter.settle();
    election::WriteOutcome done = take(other, "alice");
    ASSERT_TRUE(done.applied);
    EXPECT_TRUE(waiter.hears()) << "of a key that was taken";
    waiter.settle();
    election::LeaseRecord wish = done.after.record;
    wish.heir = "bob";
    done = act(other, Kind::kAmend, done.after.version, wish);
    ASSERT_TRUE(done.applied);
    EXPECT_TRUE(waiter.hears()) << "of a wish";
    waiter.settle();
    done = act(other, Kind::kRelease, done.after.version, release_of(done.after.record));
    ASSERT_TRUE(done.applied);
    EXPECT_TRUE(waiter.hears()) << "of a key that was given back";
  }
};

#define SKIP_IF_POLLED(waiter)                                                                  \
  (waiter).settle();                                                                            \
  if ((waiter).polled()) {                                                                      \
    if (conformance_settings().url.starts_with("memory:")) GTEST_SKIP() << "it must be polled"; \
    FAIL() << "this store tells of changes";                                                    \
  }

}  // namespace bellwether::store
