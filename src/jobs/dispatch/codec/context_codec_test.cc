#include <gmock/gmock.h>

#include "jobs/dispatch/codec/job_record_codec.h"

namespace bellwether::dispatch {
namespace {

using testing::HasSubstr;

plan::Values sample() {
  plan::Values context;
  context.merge(0, 3, {0, 7, Duration::seconds(2), std::string("to\0ken", 6)});
  context.merge(2, 1, {1, 1, Duration::zero(), ""});
  context.merge(1, 4, {0, 9, Duration::seconds(3), "of user 9", false, true});
  context.merge(1, 5, {0, 2, Duration::seconds(3), "", false, true});
  context.merge(1, 5, {0, 12, {}, "", true, true});
  return context;
}

TEST(ContextCodec, brings_back_what_it_was_given) {
  const auto back = decode_context(encode_context(sample()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, sample());
  EXPECT_EQ(*decode_context(encode_context({})), plan::Values{});
}

TEST(ContextCodec, refuses_what_cannot_be) {
  const auto says = [](auto spoil) {
    plan::Values context = sample();
    spoil(context);
    const auto back = decode_context(encode_context(context));
    return back ? std::string() : back.error().message;
  };
  EXPECT_THAT(says([](auto& c) { c.values[0].workflow = 1'000; }), HasSubstr("values[0].workflow is 1000"));
  EXPECT_THAT(says([](auto& c) { c.values[0].value.provide = 100; }), HasSubstr("provide is 100"));
  EXPECT_THAT(says([](auto& c) { c.values[0].value.at = Duration::nanos(-1); }), HasSubstr("at is -1"));
  EXPECT_THAT(says([](auto& c) { c.values[0].value.too_large = true; }), HasSubstr("too large"));
  EXPECT_THAT(says([](auto& c) { c.values[0].value.text.assign((64 << 10) + 1, 'x'); }), HasSubstr("65537 bytes"));
  EXPECT_THAT(says([](auto& c) { c.values.push_back(c.values[0]); }), HasSubstr("a value twice"));
  EXPECT_THAT(says([](auto& c) {
                c.values.push_back({1, 4, {0, 9, {}, "", false, true}});
              }),
              HasSubstr("a value twice"))
      << "a user twice in a list";
  EXPECT_THAT(says([](auto& c) {
                for (uint16_t list = 1; list <= plan::kMaxLists; ++list) {
                  c.values.push_back({1, 4, {list, 9, {}, "", false, true}});
                }
              }),
              HasSubstr("too many lists"));
  EXPECT_EQ(decode_context("\xff\xff").error().code, Errc::kInvalid);
}

}  // namespace
}  // namespace bellwether::dispatch
