#include "node/share/share_codec.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include "account/window_codec.h"
#include "dispatch/share.h"
#include "proto/share.pb.h"

namespace bellwether::node {
namespace {

using testing::HasSubstr;

template <class T>
void travels(const T& message) {
  const auto back = decode_to_child(encode(ToChild(message)));
  RC_ASSERT(back.has_value());
  RC_ASSERT(std::get<T>(*back) == message);
}

template <class T>
void comes_back(const T& message) {
  const auto back = decode_from_child(encode(FromChild(message)));
  RC_ASSERT(back.has_value());
  RC_ASSERT(std::get<T>(*back) == message);
}

TEST(ShareCodec, messages_arrive_as_they_were_sent) {
  EXPECT_TRUE(rc::check([] {
    ChildOrder order;
    order.bundle = *rc::gen::string<std::string>();
    order.workflow = *rc::gen::arbitrary<uint16_t>();
    order.of = *rc::gen::inRange<uint32_t>(1, 65'537);
    order.first = *rc::gen::inRange<uint32_t>(0, order.of);
    order.count = *rc::gen::inRange<uint32_t>(1, std::min(order.of - order.first, 1024u) + 1);
    order.cpus = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1024));
    order.seed = *rc::gen::arbitrary<uint64_t>();
    order.given = {{99, *rc::gen::string<std::string>()}, {0, ""}, {1, "", {"a", *rc::gen::string<std::string>()}}};
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
      order.trusted.push_back(*rc::gen::arbitrary<signature::PublicKey>());
    travels(order);
    const auto span = rc::gen::inRange<int64_t>(0, int64_t{1} << 60);
    travels(ChildBegin{Instant::from_ns(*span), Duration::nanos(*span)});
    travels(ChildStop{*rc::gen::arbitrary<bool>()});
    travels(ChildHandOver{Duration::nanos(*span)});
    travels(ChildSave{});
    comes_back(ChildSecond{*rc::gen::inRange<uint64_t>(0, 1 << 30),
                           Duration::nanos(*rc::gen::inRange<int64_t>(1, 1'000'000'001)),
                           *rc::gen::string<std::string>()});
    const auto count = rc::gen::arbitrary<uint64_t>();
    const auto figure = rc::gen::inRange<uint64_t>(0, account::kMostCount);
    comes_back(ChildCounters{{*count, *count, *count, *count, *rc::gen::arbitrary<int64_t>()},
                             *rc::gen::inRange<uint32_t>(0, kMostShareThreads),
                             {*figure, *figure, *figure, *figure, *figure}});
    comes_back(
        ChildEnded{*rc::gen::element(ChildEnded::How::kCompleted, ChildEnded::How::kStopped, ChildEnded::How::kAborted),
                   *rc::gen::string<std::string>(),
                   Duration::nanos(*span),
                   {{99, 3, Duration::seconds(1), *rc::gen::string<std::string>(), false},
                    {0, 1, {}, "", true},
                    {2, 5, {}, "", true, true}},
                   {"w.a: w.lua:4: no", *rc::gen::string<std::string>()}});
  }));
}

TEST(ShareCodec, whether_it_is_prepared_and_why_not_arrives) {
  const auto good = decode_from_child(encode(FromChild(ChildPrepared{})));
  ASSERT_TRUE(good);
  EXPECT_TRUE(std::get<ChildPrepared>(*good).status.has_value());
  const auto bad =
      decode_from_child(encode(FromChild(ChildPrepared{fail(Errc::kTls, "shop.pem\xff: no certificate")})));
  ASSERT_TRUE(bad);
  const Status& status = std::get<ChildPrepared>(*bad).status;
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::kTls);
  EXPECT_EQ(status.error().message, "shop.pem\xff: no certificate");
}

TEST(ShareCodec, a_long_error_is_cut) {
  const std::string text(kMostShareText + 1, 'x');
  const auto back = decode_from_child(encode(FromChild(ChildPrepared{fail(Errc::kInvalid, text)})));
  ASSERT_TRUE(back);
  EXPECT_EQ(std::get<ChildPrepared>(*back).status.error().message.size(), kMostShareText);
}

std::string refusal(const wire::ToShare& message) {
  const auto decoded = decode_to_child(message.SerializeAsString());
  return decoded ? "accepted" : decoded.error().message;
}
std::string refusal(const wire::FromShare& message) {
  const auto decoded = decode_from_child(message.SerializeAsString());
  return decoded ? "accepted" : decoded.error().message;
}

wire::ToShare order_of_parts(uint32_t first, uint32_t count, uint32_t of) {
  wire::ToShare message;
  message.mutable_order()->set_first(first);
  message.mutable_order()->set_count(count);
  message.mutable_order()->set_of(of);
  return message;
}

TEST(ShareCodec, what_cannot_be_is_refused) {
  EXPECT_EQ(refusal(order_of_parts(1, 1, 2)), "accepted");
  for (const auto& [first, count, of] : std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>{
           {0, 0, 1}, {0, 1, 0}, {1, 1, 1}, {0, 3, 2}, {UINT32_MAX, 1, 1}, {0, 1, UINT32_MAX}, {0, 1025, 2000}}) {
    EXPECT_THAT(refusal(order_of_parts(first, count, of)), HasSubstr("parts that cannot be"))
        << first << " " << count << " " << of;
  }
  wire::ToShare message = order_of_parts(0, 1, 1);
  message.mutable_order()->set_workflow(70'000);
  EXPECT_THAT(refusal(message), HasSubstr("a workflow that cannot be"));
  message = order_of_parts(0, 1, 1);
  message.mutable_order()->add_trusted(std::string(31, 'k'));
  EXPECT_THAT(refusal(message), HasSubstr("a key that cannot be"));
  message = order_of_parts(0, 1, 1);
  for (std::size_t i = 0; i <= signature::kKeysMost; ++i) message.mutable_order()->add_trusted(std::string(32, 'k'));
  EXPECT_THAT(refusal(message), HasSubstr("too many keys"));
  message = order_of_parts(0, 1, 1);
  message.mutable_order()->add_cpus(1 << 30);
  EXPECT_THAT(refusal(message), HasSubstr("a processor that cannot be"));
  message.mutable_begin()->set_start_ns(-1);
  EXPECT_THAT(refusal(message), HasSubstr("a time that cannot be"));
  EXPECT_THAT(refusal(wire::ToShare()), HasSubstr("it says nothing"));
  EXPECT_THAT(decode_to_child("\x01\x02").error().message, HasSubstr("these bytes are none"));

  wire::FromShare from;
  from.mutable_prepared()->set_code(99);
  EXPECT_THAT(refusal(from), HasSubstr("an error that does not exist"));
  from.mutable_second()->set_covered_ns(0);
  EXPECT_THAT(refusal(from), HasSubstr("a length of a second"));
  from.mutable_second()->set_covered_ns(1'000'000'001);
  EXPECT_THAT(refusal(from), HasSubstr("a length of a second"));
  from.mutable_second()->set_second(UINT64_MAX);
  EXPECT_THAT(refusal(from), HasSubstr("a second that cannot be"));
  from.mutable_ended()->set_how(4);
  EXPECT_THAT(refusal(from), HasSubstr("an end that does not exist"));
  from.mutable_ended()->set_how(0);
  from.mutable_ended()->set_step(std::string(kMostShareText + 1, 'x'));
  EXPECT_THAT(refusal(from), HasSubstr("too long a name"));
  from.mutable_ended()->set_step("");
  from.mutable_ended()->add_notes(std::string(kMostShareText + 1, 'x'));
  EXPECT_THAT(refusal(from), HasSubstr("too long a note"));
  from.mutable_ended()->set_notes(0, "x");
  while (static_cast<std::size_t>(from.ended().notes_size()) <= dispatch::kMostNotes) {
    from.mutable_ended()->add_notes("x");
  }
  EXPECT_THAT(refusal(from), HasSubstr("too many notes"));
  from.mutable_ended()->clear_notes();
  from.mutable_ended()->add_findings()->set_begin_ns(1);
  EXPECT_THAT(refusal(from), HasSubstr("a finding that cannot be"));
  from.mutable_ended()->mutable_findings(0)->set_begin_ns(0);
  while (static_cast<std::size_t>(from.ended().findings_size()) <= plan::kMostFindings) {
    from.mutable_ended()->add_findings();
  }
  EXPECT_THAT(refusal(from), HasSubstr("too many findings"));
  from.mutable_counters()->set_loops(kMostShareThreads + 1);
  EXPECT_THAT(refusal(from), HasSubstr("more loops"));
  from.mutable_counters()->set_loops(1);
  from.mutable_counters()->set_served(account::kMostCount + 1);
  EXPECT_THAT(refusal(from), HasSubstr("a count that cannot be"));
  EXPECT_THAT(refusal(wire::FromShare()), HasSubstr("it says nothing"));
}

}  // namespace
}  // namespace bellwether::node
