#include "jobs/assignment/assignment_order.h"

#include <gmock/gmock.h>

#include "core/message/message_testing.h"

namespace bellwether::node {
namespace {

using testing::HasSubstr;

TEST(AssignmentCodec, messages_to_an_assignment_travel_within_their_limits) { message::expect_sound<ToChild>(1'000); }
TEST(AssignmentCodec, messages_of_an_assignment_travel_within_their_limits) { message::expect_sound<FromChild>(1'000); }

TEST(AssignmentCodec, whether_it_is_prepared_and_why_not_arrives) {
  const auto heard = [](const Status& status) {
    return std::get<ChildPrepared>(*decode_from_child(encode(FromChild(ChildPrepared::of(status))))).status();
  };
  EXPECT_TRUE(heard({}).has_value());
  const Status bad = heard(fail(Errc::kTls, "shop.pem\xff: no certificate"));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Errc::kTls);
  EXPECT_EQ(bad.error().message, "shop.pem\xff: no certificate");
  EXPECT_EQ(heard(fail(Errc::kInvalid, std::string(kMaxAssignmentText + 1, 'x'))).error().message.size(),
            kMaxAssignmentText);
}

TEST(AssignmentCodec, parts_that_cannot_be_are_refused) {
  const auto says = [](uint32_t first, uint32_t count, uint32_t of) {
    ChildOrder order;
    order.first = first;
    order.count = count;
    order.of = of;
    const auto read = decode_to_child(encode(ToChild(order)));
    return read ? std::string() : read.error().message;
  };
  EXPECT_EQ(says(1, 1, 2), "");
  EXPECT_THAT(says(1, 1, 1), HasSubstr("impossible parts"));
  EXPECT_THAT(says(0, 3, 2), HasSubstr("impossible parts"));
  EXPECT_THAT(says(UINT32_MAX, 1, 1), HasSubstr("impossible parts"));
  EXPECT_THAT(says(0, 1025, 2000), HasSubstr("count is 1025"));
  EXPECT_EQ(decode_to_child("").error().code, Errc::kUnsupported);
}

}  // namespace
}  // namespace bellwether::node
