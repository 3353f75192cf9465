#include "lead/run/term_report.h"

#include "base/printable.h"
#include "base/units.h"

namespace bellwether::lead {

using election::EndReason;
using election::Epoch;

namespace {

Journal::Fields fields_of(const TermReport::Ends& ends) {
  return {{"term_ends_boot_ns", ends.term.ns()},
          {"kill_at_boot_ns", ends.kill_at.ns()},
          {"lease_ends_boot_ns", ends.lease.ns()}};
}

}  // namespace

void TermReport::tell(std::string_view event, const std::string& text, Epoch epoch, const Journal::Fields& more) {
  Journal::Fields fields{{"key", options_.key}, {"holder", holder_}, {"epoch", static_cast<int64_t>(epoch.value())}};
  fields.insert(fields.end(), more.begin(), more.end());
  journal_.transition(runtime_.wall_now(), event, text, fields);
}

Hooks::Environment TermReport::environment(Epoch epoch) const {
  return {{"BELLWETHER_KEY", options_.key},
          {"BELLWETHER_HOLDER", holder_},
          {"BELLWETHER_EPOCH", std::to_string(epoch.value())}};
}

void TermReport::elected(const election::TermOfOffice& term, const Ends& ends) {
  figures_.elected(term, runtime_.boot_now());
  tell("elected", "leading '" + printable(options_.key) + "', epoch " + std::to_string(term.epoch.value()), term.epoch,
       fields_of(ends));
  hooks_.call(options_.on_elected, environment(term.epoch));
}

void TermReport::renewed(const Ends& ends, Duration took) {
  figures_.renewed(runtime_.boot_now(), took);
  journal_.step(runtime_.wall_now(), "renewed", "renewed in " + format_duration(took), fields_of(ends));
}

void TermReport::term_ended(const election::TermEnded& ended) {
  figures_.term_ended();
  const std::string reason = to_string(ended.reason);
  if (ended.reason == EndReason::kResigned) {
    tell("resigned", "no longer leading: " + ended.why, ended.epoch);
  } else {
    tell("deposed", "lost the leadership (" + reason + "): " + ended.why, ended.epoch);
  }
  auto variables = environment(ended.epoch);
  variables.emplace_back("BELLWETHER_REASON", reason);
  hooks_.call(options_.on_deposed, std::move(variables));
}

void TermReport::leader_changed(const election::LeaseRecord& record, const std::string& evidence, Duration failover) {
  figures_.leader_changed(record, failover);
  const std::string who = record.held() ? printable(record.holder) : "nobody";
  const std::string text = "leader of '" + printable(options_.key) + "': " + who +
                           (record.held() ? ", epoch " + std::to_string(record.epoch.value()) : " (" + evidence + ")");
  if (options_.observe) {
    tell("leader", text, record.epoch);
  } else if (record.holder != holder_) {
    journal_.detail(runtime_.wall_now(), text);
  }
  auto variables = environment(record.epoch);
  variables.emplace_back("BELLWETHER_LEADER", record.holder);
  hooks_.call(options_.on_leader_changed, std::move(variables));
}

void TermReport::fail_open(bool open, const std::string& why, Epoch floor) {
  if (open) figures_.fell_open();
  tell("fail-open", open ? "acting without proof is permitted by policy: " + why : "proof is required again: " + why,
       floor);
}

}  // namespace bellwether::lead
