#include "results/shape.h"

#include <gtest/gtest.h>

#include "results/results_testing.h"

namespace bellwether::results {
namespace {

TEST(Shape, what_a_report_needs_of_a_plan_survives) {
  plan::Plan plan = sample_plan();
  plan.workflows[0].start_time = Duration::seconds(3);
  const auto back = decode_shape(encode_shape(plan));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->name, "shop");
  EXPECT_EQ(back->workflows[0].name, "browse");
  EXPECT_EQ(back->workflows[0].start_time, Duration::seconds(3));
  ASSERT_EQ(back->steps.size(), 2U);
  EXPECT_EQ(back->steps[1].name, "browse.pay");
  EXPECT_TRUE(back->steps[1].open_model);
  EXPECT_EQ(back->checks[0].step, 1);
}

TEST(Shape, what_points_to_nothing_is_refused) {
  const std::string good = encode_shape(sample_plan());
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"\"workflow\":0", "\"workflow\":1"},
                                                                                 {"\"step\":1", "\"step\":2"},
                                                                                 {"\"step\":1", "\"step\":-1"},
                                                                                 {"\"open\":true", "\"open\":1"},
                                                                                 {"\"name\":\"shop\"", "\"name\":7"},
                                                                                 {"{", "["}}) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    EXPECT_FALSE(decode_shape(text).has_value()) << to;
  }
}

}  // namespace
}  // namespace bellwether::results
