#include <gmock/gmock.h>

#include "cluster/discovery/bootstrap.h"
#include "core/base/time_testing.h"

namespace bellwether::discovery {
namespace {

class NameCacheTest : public testing::Test {
 protected:
  const Question question_{"managers.example", 9000};
  const HostPort one_{"10.0.0.1", 9000};
  NameCache names_{NameSettings{}};
};

TEST_F(NameCacheTest, an_answer_is_kept_for_its_time_within_limits) {
  names_.answered(at_seconds(0), question_, {one_}, Duration::seconds(10));
  EXPECT_THAT(names_.find(at_seconds(9), question_)->places, testing::ElementsAre(one_));
  EXPECT_EQ(names_.find(at_seconds(10), question_), nullptr);
  names_.answered(at_seconds(0), question_, {one_}, Duration::hours(24));
  EXPECT_EQ(names_.find(at_seconds(300), question_), nullptr) << "five minutes at most";
  names_.answered(at_seconds(0), question_, {one_}, Duration::zero());
  EXPECT_NE(names_.find(at_seconds(29), question_), nullptr) << "half a minute when it does not say";
  EXPECT_EQ(names_.find(at_seconds(30), question_), nullptr);
}

TEST_F(NameCacheTest, a_failure_is_kept_for_half_a_minute_and_an_empty_answer_is_one) {
  names_.failed(at_seconds(0), question_);
  ASSERT_NE(names_.find(at_seconds(29), question_), nullptr);
  EXPECT_THAT(names_.find(at_seconds(29), question_)->places, testing::IsEmpty());
  EXPECT_EQ(names_.find(at_seconds(30), question_), nullptr);
  names_.answered(at_seconds(100), question_, {}, Duration::minutes(5));
  EXPECT_EQ(names_.find(at_seconds(130), question_), nullptr);
}

TEST_F(NameCacheTest, services_and_ports_are_questions_of_their_own) {
  EXPECT_TRUE((Question{"_bellwether._tcp.example", 0}).is_service());
  EXPECT_FALSE(question_.is_service());
  names_.answered(at_seconds(0), question_, {one_}, Duration::seconds(10));
  EXPECT_EQ(names_.find(at_seconds(1), {"managers.example", 9001}), nullptr);
}

TEST_F(NameCacheTest, it_is_bounded_and_forgets_what_ends_first) {
  for (int i = 0; i < 300; ++i) names_.answered(at_seconds(i), {std::to_string(i), 1}, {one_}, Duration::seconds(60));
  EXPECT_EQ(names_.size(), NameCache::kMaxNames);
  EXPECT_NE(names_.find(at_seconds(300), {"299", 1}), nullptr);
  names_.answered(at_seconds(300), question_, std::vector<HostPort>(1000, one_), Duration::seconds(60));
  EXPECT_EQ(names_.find(at_seconds(300), question_)->places.size(), NameCache::kMaxPlaces);
}

}  // namespace
}  // namespace bellwether::discovery
