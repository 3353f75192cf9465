#include <gtest/gtest.h>

#include "core/base/time_testing.h"
#include "election/elector_events.h"

namespace bellwether::election {
namespace {

TEST(Evidence, nothing_is_asked_for_unless_required) {
  Evidence evidence;
  evidence.begin(at_seconds(0));
  EXPECT_FALSE(evidence.against(at_seconds(100'000), true));
}

TEST(Evidence, work_must_show_progress_while_it_runs) {
  Evidence evidence;
  evidence.require(EvidenceKind::kWork, Duration::seconds(10));
  evidence.begin(at_seconds(0));
  EXPECT_FALSE(evidence.against(at_seconds(10), true));
  ASSERT_TRUE(evidence.against(at_seconds(11), true));
  EXPECT_NE(evidence.against(at_seconds(11), true)->find("work"), std::string::npos);
  EXPECT_FALSE(evidence.against(at_seconds(11), false)) << "nothing runs, nothing moves";
  evidence.good(at_seconds(11), EvidenceKind::kWork);
  EXPECT_FALSE(evidence.against(at_seconds(20), true));
}

TEST(Evidence, nobody_stands_before_what_is_required_was_good_once) {
  Evidence evidence;
  evidence.require(EvidenceKind::kCommand, Duration::seconds(10));
  EXPECT_TRUE(evidence.against(at_seconds(0), false));
  evidence.good(at_seconds(1), EvidenceKind::kCommand);
  EXPECT_FALSE(evidence.against(at_seconds(1), false));
}

TEST(Evidence, what_is_said_against_a_candidate_holds_until_it_is_taken_back) {
  Evidence evidence;
  evidence.bad(at_seconds(0), EvidenceKind::kCommand, "exit code 3");
  ASSERT_TRUE(evidence.against(at_seconds(1000), false));
  EXPECT_NE(evidence.against(at_seconds(1000), false)->find("exit code 3"), std::string::npos);
  evidence.good(at_seconds(1000), EvidenceKind::kDisk);
  EXPECT_TRUE(evidence.against(at_seconds(1000), false)) << "another kind proves nothing here";
  evidence.good(at_seconds(1000), EvidenceKind::kCommand);
  EXPECT_FALSE(evidence.against(at_seconds(1000), false));
}

}  // namespace
}  // namespace bellwether::election
