#include <gtest/gtest.h>
#include <string>

#include "election/context/request_queue.h"

namespace bellwether::context_lead {
namespace {

constexpr WallTime kDrawnAt{1'764'000'000'123'456'789};

TEST(RequestIds, an_id_is_read_as_it_is_written_and_nothing_else_is_one) {
  constexpr RequestId id{0x0123456789abcdef, 0xfedcba9876543210};
  const auto read = parse_request_id(to_string(id));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, id);
  for (const std::string& text : {std::string("0123"), std::string(32, '0'), std::string(32, 'g'), std::string(33, '1'),
                                  std::string(32, 'A'), std::string()}) {
    EXPECT_FALSE(parse_request_id(text)) << text;
  }
}

TEST(RequestIds, what_is_drawn_holds_its_time_and_all_of_the_chance) {
  const RequestId id = draw_request_id(kDrawnAt, UINT64_MAX, UINT64_MAX);
  EXPECT_EQ(to_string(id).substr(12, 1), "7");
  EXPECT_EQ(time_of(id), (WallTime{1'764'000'000'123'000'000}));
  EXPECT_EQ(time_of(draw_request_id(kDrawnAt, 0, 0)), time_of(id));
  EXPECT_NE(draw_request_id(kDrawnAt, 1, 0), draw_request_id(kDrawnAt, 0, 0));
  EXPECT_NE(draw_request_id(kDrawnAt, 0, 4), draw_request_id(kDrawnAt, 0, 0));
}

TEST(RequestIds, an_id_of_another_kind_holds_no_time) {
  // A random one (version 4) whose first digits would be a time.
  const auto random = parse_request_id("019ab1c2a4fc4e3d84be40b343f4e6a5");
  ASSERT_TRUE(random);
  EXPECT_EQ(time_of(*random), std::nullopt);
  const RequestId drawn = draw_request_id(kDrawnAt, 5, 6);
  EXPECT_EQ(time_of({drawn.high, drawn.low >> 1}), std::nullopt);
  EXPECT_EQ(time_of({UINT64_MAX << 16 | 0x7000, uint64_t{1} << 63}), std::nullopt);
}

}  // namespace
}  // namespace bellwether::context_lead
