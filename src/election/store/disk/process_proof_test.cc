#include <gmock/gmock.h>

#include "election/store/disk/claims_testing.h"
#include "election/store/disk/disk_claim.h"

namespace bellwether::store {
namespace {

using election::HolderSight;

const runtime::ProcessIdentity kSelf = process(9, 900);

HolderSight sight(const runtime::ProcessIdentity& holder, const runtime::ProcessSight& seen, bool one_machine = true) {
  return judge_process(holder, kSelf, seen, one_machine).sight;
}

TEST(ProcessProof, a_process_that_is_gone_is_dead) {
  const Proof proof = judge_process(process(4711), kSelf, dead(), true);
  EXPECT_EQ(proof.sight, HolderSight::kDead);
  EXPECT_THAT(proof.why, testing::HasSubstr("4711"));
}

TEST(ProcessProof, a_process_of_the_same_id_and_start_is_alive) {
  EXPECT_EQ(sight(process(4711, 500), alive(500)), HolderSight::kAlive);
}

TEST(ProcessProof, a_process_id_given_to_another_process_is_no_life) {
  EXPECT_EQ(sight(process(4711, 500), alive(501)), HolderSight::kDead);
}

TEST(ProcessProof, a_claim_from_before_the_machine_started_is_dead) {
  EXPECT_EQ(sight(process(4711, 500, "boot-0"), alive(500)), HolderSight::kDead);
}

TEST(ProcessProof, another_boot_proves_nothing_where_other_machines_write_too) {
  EXPECT_EQ(sight(process(4711, 500, "boot-0"), dead(), false), HolderSight::kUnknown);
  EXPECT_EQ(sight(process(4711, 500, "boot-1"), dead(), false), HolderSight::kDead);
}

TEST(ProcessProof, process_ids_of_another_namespace_mean_nothing) {
  runtime::ProcessIdentity holder = process(4711);
  holder.pid_namespace = "pid:[2]";
  EXPECT_EQ(sight(holder, dead()), HolderSight::kUnknown);
  holder.pid_namespace.clear();
  EXPECT_EQ(sight(holder, dead()), HolderSight::kUnknown);
}

TEST(ProcessProof, what_the_system_hides_proves_nothing) {
  EXPECT_EQ(sight(process(4711), hidden()), HolderSight::kUnknown);
  EXPECT_EQ(sight(process(4711, 0), alive(500)), HolderSight::kUnknown);
}

TEST(ProcessProof, a_claim_that_says_too_little_proves_nothing) {
  EXPECT_EQ(sight(process(0), dead()), HolderSight::kUnknown);
  EXPECT_EQ(sight(process(4711, 500, ""), dead()), HolderSight::kUnknown);
  runtime::ProcessIdentity nobody = kSelf;
  nobody.boot_id.clear();
  EXPECT_EQ(judge_process(process(4711), nobody, dead(), true).sight, HolderSight::kUnknown);
}

}  // namespace
}  // namespace bellwether::store
