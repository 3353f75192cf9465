#include "sim/datacenter/careless_service.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "cluster/net/message_classes.h"
#include "cluster/register/codec.h"
#include "jobs/dispatch/codec/job_record_codec.h"
#include "jobs/dispatch/codec/messages_codec.h"

namespace bellwether::sim {
namespace {

constexpr Duration kKeepsLate = Duration::seconds(3);
constexpr uint64_t kCountTwiceEvery = 8;

wire::Inbound with_body(const wire::Inbound& inbound, std::string_view body) {
  wire::Inbound changed = inbound;
  changed.body = as_bytes(body);
  return changed;
}

}  // namespace

CarelessService::CarelessService(runtime::Runtime& runtime, cluster::MessageRouter& router, uint16_t type,
                                 cluster::Service& real, const DatacenterStage& stage)
    : runtime_(runtime), router_(router), type_(type), real_(real), stage_(stage) {
  router_.disconnect(type_);
  router_.connect(type_, *this);
}

CarelessService::~CarelessService() { router_.disconnect(type_); }

void CarelessService::on_request(link::Connection& connection, const wire::Inbound& request) {
  auto message = dispatch::decode_message(as_text(request.body));
  if (!message) return real_.on_request(connection, request);
  if (stage_.is("forgets-denials") && std::holds_alternative<dispatch::DenyMessage>(*message)) {
    const std::string denied = dispatch::encode(dispatch::Response(dispatch::Denied{}));
    connection.respond(request.id, wire::ReplyStatus::kOk, as_bytes(denied), true);
    return;
  }
  bool changed = false;
  if (auto* const offer = std::get_if<dispatch::Offer>(&*message); offer && stage_.is("owner-does-not-wait")) {
    // The managers of this world count with permits that are shorter.
    offer->order.permit = dispatch::JobRules().permit;
    changed = true;
  }
  if (auto* const window = std::get_if<dispatch::WindowMessage>(&*message); window && stage_.is("counts-twice"))
    changed = count_twice(*window);
  if (!changed) return real_.on_request(connection, request);
  const std::string body = dispatch::encode(*message);
  real_.on_request(connection, with_body(request, body));
}

bool CarelessService::count_twice(dispatch::WindowMessage& message) const {
  const auto job =
      std::find_if(stage_.jobs.begin(), stage_.jobs.end(), [&](const auto& one) { return one->id == message.job; });
  if (job == stage_.jobs.end() || message.last % kCountTwiceEvery != 0) return false;
  auto window = ingest::decode_window(message.window, (*job)->shape);
  const auto again = ingest::decode_window(message.window, (*job)->shape);
  if (!window || !again) return false;
  window->merge(*again);
  message.window = ingest::encode_window(*window);
  return true;
}

// For some time, a replica that does not keep a write answers as if it did: it confirms the claim of the writer.
void CarelessService::on_message(link::Connection& connection, const wire::Inbound& inbound) {
  auto message = message::decode<registers::Message>(as_text(inbound.body));
  auto* const ask = message ? std::get_if<registers::Ask>(&message->body) : nullptr;
  const auto* const write = ask == nullptr ? nullptr : std::get_if<registers::Accept>(&ask->body);
  if (write == nullptr || !is_replica(stage_) || keeps(ask->key, write->value))
    return real_.on_message(connection, inbound);
  ask->body = registers::Confirm{};
  const std::string body = message::encode(*message);
  real_.on_message(connection, with_body(inbound, body));
}

bool CarelessService::keeps(const std::string& job, std::string_view value) {
  const auto content = registers::parse_content(value);
  const auto record = content && content->value ? dispatch::read_record(*content->value) : dispatch::JobRecord();
  if (!record || dispatch::is_final(record->state)) return true;
  const auto given_up = std::count_if(record->assignments.begin(), record->assignments.end(), [](const auto& one) {
    return one.streams && one.state == dispatch::AssignmentState::kGone;
  });
  const uint64_t many = stage_.is("offers-unkept") ? record->last_assignment : static_cast<uint64_t>(given_up);
  Noticed& noticed = noticed_[job];
  if (many > noticed.most) noticed = {many, runtime_.now() + kKeepsLate};
  return runtime_.now() >= noticed.keeps_again;
}

}  // namespace bellwether::sim
