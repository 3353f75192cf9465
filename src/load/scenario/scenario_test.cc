#include <gtest/gtest.h>

#include "load/scenario/section.h"
#include "load/scenario/sources.h"

namespace bellwether::scenario {
namespace {

TEST(Template, is_split_at_expressions) {
  const auto parts = split_template("a${ b }c$${d}${e}");
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 4u);
  EXPECT_EQ((*parts)[0].text, "a");
  EXPECT_EQ((*parts)[1].text, "b");
  EXPECT_TRUE((*parts)[1].is_expression);
  EXPECT_EQ((*parts)[2].text, "c${d}");
  EXPECT_EQ((*parts)[3].text, "e");
  EXPECT_TRUE(split_template("")->empty());
  EXPECT_EQ(split_template("$ $x {}")->size(), 1u);
  EXPECT_FALSE(split_template("a${b"));
  EXPECT_FALSE(split_template("${ }"));
}

TEST(Names, follow_the_rules_of_their_kind) {
  EXPECT_TRUE(is_value_name("_a1"));
  EXPECT_FALSE(is_value_name("1a"));
  EXPECT_FALSE(is_value_name("a-b"));
  EXPECT_FALSE(is_value_name(""));
  EXPECT_TRUE(is_step_name("1-b_c"));
  EXPECT_FALSE(is_step_name("a.b"));
  EXPECT_FALSE(is_step_name(std::string(101, 'a')));
  EXPECT_TRUE(is_http_token("X-Trace"));
  EXPECT_FALSE(is_http_token("X Trace"));
}

}  // namespace
}  // namespace bellwether::scenario
