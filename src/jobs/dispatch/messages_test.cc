#include "jobs/dispatch/messages.h"

#include <gtest/gtest.h>
#include <set>

namespace bellwether::dispatch {
namespace {

TEST(JobMessages, each_kind_of_refusal_has_a_name_of_its_own) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kRefusalKinds; ++i) names.insert(to_string(static_cast<Refusal::Kind>(i)));
  EXPECT_EQ(names.size(), kRefusalKinds);
  EXPECT_EQ(to_string(Refusal::Kind::kNotOwner), "not_owner");
  EXPECT_EQ(to_string(Refusal::Kind::kConflict), "conflict");
}

}  // namespace
}  // namespace bellwether::dispatch
