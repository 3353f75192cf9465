#include <gtest/gtest-spi.h>
#include <optional>

#include "core/base/cases_testing.h"

namespace bellwether {
namespace {

class Cases : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* asked = std::getenv("BW_CASES")) asked_ = asked;
  }
  void TearDown() override { ask(asked_ ? asked_->c_str() : nullptr); }
  static void ask(const char* percent) {
    percent == nullptr ? ::unsetenv("BW_CASES") : ::setenv("BW_CASES", percent, /*overwrite=*/1);
  }

 private:
  std::optional<std::string> asked_;
};

TEST_F(Cases, are_as_many_as_a_test_names) {
  ask(nullptr);
  EXPECT_EQ(cases(250), 250u);
}

TEST_F(Cases, are_so_many_percent_of_that_and_never_none) {
  ask("20");
  EXPECT_EQ(cases(250), 50u);
  EXPECT_EQ(cases(3), 1u);
  ask("500");
  EXPECT_EQ(cases(250), 1'250u);
}

TEST_F(Cases, a_number_that_is_none_is_not_overlooked) {
  ask("many");
  EXPECT_NONFATAL_FAILURE(cases(250), "BW_CASES is no number: 'many'");
}

}  // namespace
}  // namespace bellwether
