#include "cluster/net/message_classes.h"

#include <fstream>
#include <gmock/gmock.h>
#include <regex>

#include "jobs/dispatch/codec/messages_codec.h"

namespace bellwether::cluster {
namespace {

using resilience::Operation;
using resilience::Urgency;
using wire::Role;

const MessageClasses kClasses(&message::message_of<dispatch::JobMessage>());
constexpr MessageClass kLowest{Urgency::kLow, Operation::kOther};

MessageClass class_of_message(const dispatch::JobMessage& letter, Role sender) {
  const std::string body = dispatch::encode(message);
  return kClasses.class_of(message_type::kDispatch, as_bytes(body), sender);
}

template <std::size_t kAt = 0>
void expect_all_known() {
  if constexpr (kAt < std::variant_size_v<dispatch::JobMessage>) {
    const dispatch::JobMessage message(std::in_place_index<kAt>);
    EXPECT_TRUE(class_of_message(letter, Role::kManager) != kLowest ||
                class_of_message(letter, Role::kWorker) != kLowest)
        << kAt;
    expect_all_known<kAt + 1>();
  }
}

TEST(MessageClasses, every_message_has_one) { expect_all_known(); }

TEST(MessageClasses, every_type_of_message_has_one) {
  std::ifstream file("src/cluster/net/message_classes.h");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::regex constant(R"(constexpr uint16_t (k\w+) = (\d+);)");
  int types = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), constant), end; at != end; ++at, ++types) {
    const auto type = static_cast<uint16_t>(std::stoi((*at)[2]));
    if (type == message_type::kDispatch) continue;
    const bool known = kClasses.class_of(type, {}, Role::kManager) != kLowest ||
                       kClasses.class_of(type, {}, Role::kOperator) != kLowest;
    EXPECT_TRUE(known) << (*at)[1] << " has no row in src/cluster/net/message_classes.cc";
  }
  EXPECT_GE(types, 8);
}

TEST(MessageClasses, what_ends_work_or_carries_results_or_keeps_the_cluster_together_is_critical) {
  using namespace dispatch;
  for (const JobMessage& message :
       {JobMessage(WindowMessage()), JobMessage(EndMessage()), JobMessage(WorkerReport())}) {
    EXPECT_EQ(class_of_message(letter, Role::kWorker).urgency, Urgency::kCritical) << message.index();
  }
  for (const JobMessage& message : {JobMessage(BeginMessage()), JobMessage(StopMessage()), JobMessage(AdoptMessage()),
                                    JobMessage(RetireMessage()), JobMessage(dispatch::Cancel())}) {
    EXPECT_EQ(class_of_message(letter, Role::kManager).urgency, Urgency::kCritical) << message.index();
  }
  for (const uint16_t type : {message_type::kMembershipStream, message_type::kLeadership, message_type::kJobs,
                              message_type::kBlobs, message_type::kContext}) {
    EXPECT_EQ(kClasses.class_of(type, {}, Role::kManager).urgency, Urgency::kCritical) << type;
  }
  EXPECT_EQ(kClasses.class_of(message_type::kAdmin, {}, Role::kOperator).urgency, Urgency::kCritical);
  EXPECT_EQ(kClasses.class_of(message_type::kContext, {}, Role::kOperator).urgency, Urgency::kHigh) << "new work";
}

TEST(MessageClasses, what_brings_work_goes_before_questions_and_those_before_curiosity) {
  using namespace dispatch;
  EXPECT_EQ(class_of_message(Submit(), Role::kClient), (MessageClass{Urgency::kHigh, Operation::kSubmit}));
  EXPECT_EQ(class_of_message(Offer(), Role::kManager), (MessageClass{Urgency::kHigh, Operation::kDispatch}));
  EXPECT_EQ(class_of_message(Watch(), Role::kClient), (MessageClass{Urgency::kNormal, Operation::kStatus}));
  EXPECT_EQ(class_of_message(FetchBundle(), Role::kClient), (MessageClass{Urgency::kNormal, Operation::kFetch}));
  EXPECT_EQ(class_of_message(ListJobs(), Role::kOperator), (MessageClass{Urgency::kLow, Operation::kStatus}));
}

TEST(MessageClasses, of_what_is_critical_a_client_may_only_cancel) {
  using namespace dispatch;
  EXPECT_EQ(class_of_message(dispatch::Cancel(), Role::kClient).urgency, Urgency::kCritical);
  EXPECT_EQ(class_of_message(StopMessage(), Role::kClient), kLowest);
  EXPECT_EQ(kClasses.class_of(message_type::kLeadership, {}, Role::kClient), kLowest);
  EXPECT_EQ(kClasses.class_of(message_type::kAdmin, {}, Role::kClient), kLowest);
  EXPECT_EQ(kClasses.class_of(message_type::kAdmin, {}, Role::kWorker), kLowest);
}

TEST(MessageClasses, a_submission_that_begins_as_a_cancellation_does_not_pass_for_one) {
  const std::string cancel = dispatch::encode(dispatch::JobMessage(dispatch::Cancel{.job = "j"}));
  const std::string submit = dispatch::encode(dispatch::JobMessage(dispatch::Submit{.job = "j"}));
  const std::string both = cancel + submit;
  EXPECT_EQ(kClasses.class_of(message_type::kDispatch, as_bytes(both), Role::kClient), kLowest);
  const std::string hidden = cancel + std::string("\xDA\x80\x80\x80\x10", 5) + submit.substr(1);
  EXPECT_EQ(kClasses.class_of(message_type::kDispatch, as_bytes(hidden), Role::kClient), kLowest);
  const std::string cut = cancel.substr(0, cancel.size() - 1);
  EXPECT_EQ(kClasses.class_of(message_type::kDispatch, as_bytes(cut), Role::kClient), kLowest);
}

TEST(MessageClasses, fields_of_later_versions_do_not_hide_a_message) {
  std::string body = dispatch::encode(dispatch::JobMessage(dispatch::Cancel{.job = "j"}));
  body += std::string("\xF8\x07\x05", 3);  // field 127, a number
  body += std::string(
      "\xF9\x07"
      "12345678",
      10);  // 8 bytes
  body += std::string(
      "\xFD\x07"
      "1234",
      6);  // 4 bytes
  body += std::string(
      "\xFA\x07\x02"
      "ab",
      5);  // 2 bytes
  EXPECT_EQ(kClasses.class_of(message_type::kDispatch, as_bytes(body), Role::kClient).operation, Operation::kCancel);
  EXPECT_EQ(kClasses.class_of(message_type::kDispatch,
                              as_bytes(std::string_view("\xFA\x07\x02"
                                                        "ab")),
                              Role::kWorker),
            kLowest);
  EXPECT_EQ(kClasses.class_of(message_type::kDispatch, {}, Role::kWorker), kLowest);
  EXPECT_EQ(kClasses.class_of(9'999, {}, Role::kWorker), kLowest);
}

}  // namespace
}  // namespace bellwether::cluster
