#include <gtest/gtest.h>
#include <set>

#include "cluster/membership/membership.h"

namespace bellwether::membership {
namespace {

TEST(ProbeList, goes_through_all_before_it_begins_anew) {
  Prng prng(1);
  ProbeList list;
  EXPECT_FALSE(list.next(prng));
  for (NodeIndex node = 0; node < 20; ++node) list.add(node, prng);
  for (int i = 0; i < 20; ++i) list.next(prng);
  std::vector<NodeIndex> before;
  for (int round = 0; round < 5; ++round) {
    std::vector<NodeIndex> order;
    for (int i = 0; i < 20; ++i) order.push_back(*list.next(prng));
    EXPECT_EQ(std::set<NodeIndex>(order.begin(), order.end()).size(), 20U);
    EXPECT_NE(order, before);
    before = order;
  }
}

TEST(ProbeList, leaves_nobody_out_when_one_goes) {
  Prng prng(2);
  ProbeList list;
  for (NodeIndex node = 0; node < 6; ++node) list.add(node, prng);
  std::set<NodeIndex> probed;
  for (int i = 0; i < 3; ++i) probed.insert(*list.next(prng));
  const NodeIndex gone = *probed.begin();
  list.remove(gone);
  list.remove(gone);
  for (int i = 0; i < 3; ++i) probed.insert(*list.next(prng));
  EXPECT_EQ(probed.size(), 6U);
  EXPECT_EQ(list.size(), 5U);
}

}  // namespace
}  // namespace bellwether::membership
