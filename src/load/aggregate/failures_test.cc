#include <gtest/gtest.h>

#include "load/aggregate/totals.h"

namespace bellwether::aggregate {
namespace {

using http1::ErrorKind;

class FailuresTest : public testing::Test {
 protected:
  FailuresTest() {
    plan_.workflows.resize(1);
    plan_.steps = {{.workflow = 0, .index = 0, .name = "w.a"}, {.workflow = 0, .index = 1, .name = "w.b"}};
  }
  std::vector<Failure> failures() {
    Totals totals(plan_);
    totals.add(window_);
    return failures_of(totals);
  }

  plan::Plan plan_;
  metrics::Window window_{{2, 1, 0}};
};

TEST_F(FailuresTest, errors_and_statuses_of_all_steps_come_by_count) {
  window_.steps[0].errors[static_cast<std::size_t>(ErrorKind::kConnectRefused)] = 500;
  window_.steps[0].status.add(503, 100);
  window_.steps[0].status.add(200, 9000);
  window_.steps[0].failed = 600;
  window_.steps[1].errors[static_cast<std::size_t>(ErrorKind::kConnectRefused)] = 112;
  window_.steps[1].errors[static_cast<std::size_t>(ErrorKind::kTimeout)] = 2;
  window_.steps[1].status.add(503, 88);
  window_.steps[1].failed = 202;
  const std::vector<Failure> expected{
      {"connection refused", 612}, {"status 503", 188}, {"the exchange took longer than its timeout", 2}};
  EXPECT_EQ(failures(), expected);
}

TEST_F(FailuresTest, an_allowed_status_is_no_failure) {
  window_.steps[0].status.add(404, 70);
  EXPECT_EQ(failures(), std::vector<Failure>());
  window_.steps[0].status.add(500, 3);
  window_.steps[0].failed = 3;
  EXPECT_EQ(failures(), (std::vector<Failure>{{"status 4xx or 5xx", 3}})) << "the counts do not say which";
}

TEST_F(FailuresTest, a_run_without_failures_has_none) {
  window_.steps[0].status.add(200, 5);
  EXPECT_TRUE(failures().empty());
}

}  // namespace
}  // namespace bellwether::aggregate
