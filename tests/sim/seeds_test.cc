#include "tests/sim/seeds.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <optional>

namespace bellwether::sim {
namespace {

using testing::ElementsAre;

// Sets a variable of the environment, and sets it back.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    if (const char* old = ::getenv(name)) old_ = old;
    set(value);
  }
  ~Setting() { set(old_ ? old_->c_str() : nullptr); }

 private:
  void set(const char* value) { value == nullptr ? ::unsetenv(name_) : ::setenv(name_, value, /*overwrite=*/1); }
  const char* name_;
  std::optional<std::string> old_;
};

Judgement dislike_odd_seeds(uint64_t seed) { return seed % 2 == 0 ? "" : "it is odd"; }

TEST(Seeds, count_from_one_and_are_as_many_as_asked_for) {
  const Setting one("BW_SIM_SEED", nullptr);
  const Setting many("BW_SIM_SEEDS", "3");
  EXPECT_THAT(seeds(), ElementsAre(1, 2, 3));
  EXPECT_THAT(seeds(2), ElementsAre(1, 2, 3));
}

TEST(Seeds, are_a_hundred_or_what_a_test_has_usually_when_nothing_is_asked_for) {
  const Setting one("BW_SIM_SEED", nullptr);
  const Setting many("BW_SIM_SEEDS", nullptr);
  EXPECT_EQ(seeds().size(), 100u);
  EXPECT_THAT(seeds(2), ElementsAre(1, 2));
}

TEST(Seeds, one_can_be_asked_for) {
  const Setting one("BW_SIM_SEED", "77");
  const Setting many("BW_SIM_SEEDS", "3");
  EXPECT_THAT(seeds(), ElementsAre(77));
}

TEST(Seeds, a_number_that_is_none_is_not_overlooked) {
  const Setting one("BW_SIM_SEED", nullptr);
  const Setting many("BW_SIM_SEEDS", "many");
  EXPECT_NONFATAL_FAILURE(seeds(), "BW_SIM_SEEDS is no number: 'many'");
}

TEST(Seeds, a_bad_world_is_told_with_the_command_that_repeats_it) {
  const Setting one("BW_SIM_SEED", nullptr);
  const Setting many("BW_SIM_SEEDS", "2");
  EXPECT_NONFATAL_FAILURE(expect_good(&dislike_odd_seeds), "seed 1: it is odd\n  to repeat it: BW_SIM_SEED=1 ");
  EXPECT_NONFATAL_FAILURE(expect_good(&dislike_odd_seeds),
                          "/sim_seeds_test --gtest_filter=Seeds.a_bad_world_is_told_with_the_command_that_repeats_it");
}

TEST(Seeds, a_good_world_is_not_mentioned) {
  const Setting one("BW_SIM_SEED", "2");
  expect_good(&dislike_odd_seeds);
}

}  // namespace
}  // namespace bellwether::sim
