#include "dispatch/codec/context_codec.h"

#include <gtest/gtest.h>

#include "proto/context.pb.h"

namespace bellwether::dispatch {
namespace {

JobContext sample() {
  JobContext context;
  context.merge(0, ShareId(3), {0, 7, Duration::seconds(2), std::string("to\0ken", 6)});
  context.merge(2, ShareId(1), {1, 1, Duration::zero(), ""});
  context.merge(1, ShareId(4), {0, 9, Duration::seconds(3), "of user 9", false, true});
  context.merge(1, ShareId(5), {0, 2, Duration::seconds(3), "", false, true});
  context.merge(1, ShareId(5), {0, 12, {}, "", true, true});
  return context;
}

TEST(ContextCodec, brings_back_what_it_was_given) {
  const auto back = decode_context(encode_context(sample()));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, sample());
  EXPECT_EQ(*decode_context(encode_context({})), JobContext{});
}

TEST(ContextCodec, refuses_what_cannot_be) {
  const auto refused = [](auto spoil) {
    wire::JobContext context;
    EXPECT_TRUE(context.ParseFromString(encode_context(sample())));
    spoil(context);
    return !decode_context(context.SerializeAsString());
  };
  EXPECT_FALSE(refused([](auto&) {}));
  EXPECT_TRUE(refused([](auto& c) { c.mutable_values(0)->set_workflow(1'000); }));
  EXPECT_TRUE(refused([](auto& c) { c.mutable_values(0)->mutable_value()->set_provide(100); }));
  EXPECT_TRUE(refused([](auto& c) { c.mutable_values(0)->mutable_value()->set_at_ns(-1); }));
  EXPECT_TRUE(refused([](auto& c) { c.mutable_values(0)->mutable_value()->set_too_large(true); }));
  EXPECT_TRUE(
      refused([](auto& c) { c.mutable_values(0)->mutable_value()->set_text(std::string((64 << 10) + 1, 'x')); }));
  EXPECT_TRUE(refused([](auto& c) { *c.add_values() = c.values(0); }));
  EXPECT_TRUE(refused([](auto& c) { *c.add_values() = c.values(3); })) << "a user twice in a list";
  EXPECT_TRUE(refused([](auto& c) {
    for (uint32_t list = 1; list <= plan::kMostLists; ++list) {
      *c.add_values() = c.values(3);
      c.mutable_values(c.values_size() - 1)->mutable_value()->set_provide(list);
    }
  })) << "more lists than a scenario has";
  EXPECT_FALSE(decode_context("\xff\xff"));
}

bool reads(const wire::GivenValue& from) {
  plan::Given to;
  return read(from, to);
}

TEST(ContextCodec, a_given_list_has_limits) {
  wire::GivenValue good;
  for (std::size_t i = 0; i < plan::kMostListValues; ++i) good.add_list("x");
  EXPECT_TRUE(reads(good));
  good.add_list("x");
  EXPECT_FALSE(reads(good));
  wire::GivenValue large;
  large.add_list(std::string(plan::kMostListText, 'x'));
  EXPECT_TRUE(reads(large));
  large.add_list("x");
  EXPECT_FALSE(reads(large));
  wire::GivenValue both;
  both.add_list("x");
  both.set_text("y");
  EXPECT_FALSE(reads(both));
}

}  // namespace
}  // namespace bellwether::dispatch
