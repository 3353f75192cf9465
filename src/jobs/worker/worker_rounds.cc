#include "jobs/worker/worker_rounds.h"

#include <algorithm>
#include <utility>

#include "cluster/net/message_classes.h"
#include "core/base/overloaded.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "jobs/worker/worker_service.h"

namespace bellwether::node {

namespace {

using runtime::task;

constexpr Duration kEvery = Duration::seconds(1);  // at the latest
constexpr Duration kApart = Duration::millis(100);
constexpr Duration kMaxReportAnswer = Duration::seconds(1);
constexpr Duration kSilence = Duration::seconds(2);

}  // namespace

ReportRound::ReportRound(runtime::Runtime& runtime, cluster::PeerLinks& links, Managers managers, WorkerService& worker)
    : runtime_(runtime),
      links_(links),
      managers_(managers),
      worker_(worker),
      rounds_(Period::up_to(kEvery), runtime.prng().fork()) {}

void ReportRound::changed() {
  changed_ = true;
  if (nap_ != nullptr) nap_->cancel();
}

task<void> ReportRound::run(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  scope_ = &scope;
  while (!cancel->cancelled()) {
    changed_ = false;
    tell_all();
    co_await runtime_.sleep(kApart, cancel);
    if (changed_) continue;
    runtime::Cancellation nap(cancel);
    nap_ = &nap;
    co_await runtime_.sleep(rounds_.next() - kApart, &nap);
    nap_ = nullptr;
  }
  co_await scope.join();
  scope_ = nullptr;
}

void ReportRound::tell_all() {
  std::vector<cluster::PeerAddress> managers = managers_();
  const auto has = [&managers](const std::string& name) {
    return std::any_of(managers.begin(), managers.end(), [&](const auto& one) { return one.name == name; });
  };
  const Instant asked = runtime_.boot_now();  // permits count from before the report
  // Without a manager, too: the worker then sees that nobody has answered it for long, and takes no work.
  dispatch::WorkerReport report = worker_.report();
  // An owner that was paused goes on with its jobs, and this node may hear late that it is not dead.
  for (const dispatch::WorkerReport::Held& held : report.held) {
    if (held.phase == dispatch::AssignmentPhase::kEnded) continue;
    const auto owner = lines_.find(worker_.kernel().owner_of(held.job));
    if (owner != lines_.end() && !has(owner->first)) managers.push_back(owner->second.address);
  }
  std::erase_if(lines_, [&](const auto& line) { return !line.second.under_way && !has(line.first); });
  if (!managers.empty()) send(managers, std::move(report), asked);
}

void ReportRound::send(const std::vector<cluster::PeerAddress>& managers, dispatch::WorkerReport report,
                       Instant asked) {
  report.number = ++number_;
  const Instant now = runtime_.now();
  for (const cluster::PeerAddress& manager : managers) {
    Line& line = lines_[manager.name];
    if (line.under_way) continue;
    if (now < line.answered + line.pacer.interval(now, Duration::zero())) {
      changed_ = true;
      continue;
    }
    line.under_way = true;
    line.address = manager;
    report.heard = line.heard;
    scope_->spawn(tell(this, manager, dispatch::encode(dispatch::JobMessage(report)), number_, asked));
  }
}

task<void> ReportRound::tell(ReportRound* self, cluster::PeerAddress manager, std::string message, uint64_t number,
                             Instant asked) {
  const std::string name = manager.name;
  const uint16_t type = cluster::message_type::kDispatch;
  const auto answer = co_await self->links_.request(std::move(manager), type, wire::Priority::kControl,
                                                    std::move(message), kMaxReportAnswer, self->scope_->cancellation());
  self->lines_[name].under_way = false;
  self->heard(name, number, asked, answer);
}

void ReportRound::heard(const std::string& manager, uint64_t number, Instant asked, const Result<std::string>& answer) {
  if (!answer) return;  // the links have logged it
  const auto response = dispatch::decode_response(*answer);
  std::string complaint;
  if (response) {
    std::visit(Overloaded{[&](const dispatch::Refusal& refusal) { complaint = refusal.why; },
                          [&](const dispatch::Noted& noted) {
                            Line& line = lines_[manager];
                            const bool was_silent = line.answered + kSilence < runtime_.now();
                            line.answered = runtime_.now();
                            line.heard = number;
                            line.pacer.heard(line.answered, noted.pressure);
                            worker_.on_report_noted(manager, asked, noted);
                            if (!was_silent) return;
                            // The owner of a job gives a permit again when a report shows that this answer arrived.
                            const Instant again = runtime_.boot_now();
                            send({line.address}, worker_.report(), again);
                          },
                          [](const auto&) {}},  // no manager answers a report with anything else
               *response);
  } else {
    complaint = response.error().message;
  }
  std::string& last = lines_[manager].complaint;
  if (!complaint.empty() && complaint != last) {
    worker_.note(true, fmt::format("'{}' refuses the reports of this worker: {}", manager, complaint));
  }
  last = std::move(complaint);
}

resilience::Pacer ReportRound::pacer(const std::string& manager) const {
  const auto found = lines_.find(manager);
  return found == lines_.end() ? resilience::Pacer() : found->second.pacer;
}

std::optional<cluster::PeerAddress> ReportRound::address_of(const std::string& manager) const {
  const auto found = lines_.find(manager);
  return found == lines_.end() ? std::nullopt : std::optional(found->second.address);
}

void LiveRound::changed() {
  changed_ = true;
  if (nap_ != nullptr) nap_->cancel();
}

void LiveRound::at_once() {
  at_once_ = true;
  changed();
  if (pause_ != nullptr) pause_->cancel();
}

runtime::task<void> LiveRound::run(runtime::Cancellation* cancel) {
  while (!cancel->cancelled()) {
    if (!changed_) {
      runtime::Cancellation nap(cancel);
      nap_ = &nap;
      co_await runtime_.sleep_until(Instant::never(), &nap);
      nap_ = nullptr;
      continue;
    }
    changed_ = false;
    say(std::exchange(at_once_, false));
    runtime::Cancellation pause(cancel);
    pause_ = &pause;
    co_await runtime_.sleep(kApart, &pause);
    pause_ = nullptr;
  }
}

void LiveRound::say(bool at_once) {
  const Instant now = runtime_.now();
  std::map<std::string, Instant> before = std::exchange(said_, {});
  for (JobMessage& one : messages_()) {
    const auto last = before.find(one.to.name);
    if (last != before.end()) said_.insert(*last);
    if (one.message.assignments.empty()) continue;
    if (!is_clear(one.to.name)) {
      changed_ = true;  // at an end nothing newer follows
      continue;
    }
    const bool is_urgent = at_once && one.apart <= kApart;
    if (!is_urgent && last != before.end() && now < last->second + one.apart) {
      changed_ = true;  // the newest state goes out when it is due
      continue;
    }
    said_[one.to.name] = now;
    one.message.number = ++number_;
    one.message.collected = now;
    links_.send(one.to, cluster::message_type::kDispatch, wire::Priority::kBulk, dispatch::encode(one.message),
                Duration::zero());
  }
}

// It has a connection, and nothing waits on it.
bool LiveRound::is_clear(const std::string& manager) const {
  const std::vector<const link::Connection*> all = links_.connections();
  return std::any_of(all.begin(), all.end(), [&](const link::Connection* one) {
    return one->open() && one->peer().identity.node == manager && !one->session().closing() &&
           one->session().queued_bytes() == 0;
  });
}

}  // namespace bellwether::node
