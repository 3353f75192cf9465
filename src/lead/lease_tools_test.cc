#include "lead/lease_tools.h"

#include <gtest/gtest.h>

#include "core/runtime/stream_testing.h"

namespace bellwether::lead {
namespace {

// The holder renews between each look of another user and its request.
class BusyKey final : public store::StoreKey {
 public:
  runtime::task<Result<election::Observation>> look(Instant, runtime::Cancellation*) override {
    election::Observation seen;
    seen.present = true;
    seen.record.holder = "a";
    seen.version = std::to_string(++looks_);
    co_return seen;
  }
  runtime::task<Result<election::WriteOutcome>> act(election::WriteRequest, Instant, runtime::Cancellation*) override {
    co_return election::WriteOutcome{false, {}};
  }
  runtime::task<bool> changed(runtime::Cancellation*) override { co_return false; }

 private:
  int looks_ = 0;
};

class BusyStore final : public store::LeaseStore {
 public:
  const election::StoreTraits& traits() const override { return traits_; }
  std::string describe() const override { return "busy"; }
  Result<std::unique_ptr<store::StoreKey>> open(std::string) override { return std::make_unique<BusyKey>(); }
  runtime::task<Result<std::vector<store::ListedKey>>> list(std::string, std::size_t, Instant,
                                                            runtime::Cancellation*) override {
    co_return std::vector<store::ListedKey>();
  }

 private:
  election::StoreTraits traits_;
};

// To a person, a timeout is a store that does not answer.
TEST(LeaseTools, a_key_that_always_changes_is_no_timeout) {
  const auto runtime = runtime::test_runtime();
  BusyStore store;
  LeaseTools tools(*runtime, store, "test", Duration::seconds(10));
  const auto asked = runtime->run(tools.ask_to_hand_over("k", "b"));
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, Errc::kExists);
  EXPECT_EQ(asked.error().message, "'k' changed during 5 attempts; try again");
}

}  // namespace
}  // namespace bellwether::lead
