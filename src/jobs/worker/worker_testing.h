// A worker among managers, for tests: nodes with real links on any runtime, processes under control of the test, and a
// manager that keeps the ingest of a job.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/net/message_classes.h"
#include "cluster/net/node_testing.h"
#include "core/base/bytes.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "jobs/ingest/run_ingest.h"
#include "jobs/worker/worker_service.h"
#include "load/codec/window_testing.h"
#include "load/plan/load.h"
#include "load/plan/load_testing.h"

namespace bellwether::node {

inline std::string bundle_of(const std::string& yaml) {
  plan::TestSources sources(yaml);
  sources.outside = &sources.world;
  auto made = plan::bundle_scenario(sources);
  check(made.has_value(), "the scenario of these tests is good");
  auto bytes = dispatch::encode_bundle(made->bundle);
  check(bytes.has_value(), "and small");
  return *bytes;
}

// Its windows have the shape ingest::kShape.
inline const std::string& test_bundle() {
  static const std::string bytes = bundle_of(R"yaml(
workflows:
  buy:
    vus: 1
    duration: 10s
    graceful_stop: 3s
    steps:
      pay: {http: {get: "http://127.0.0.1:1/"}, check: {status: 200}}
      home: {http: {get: "http://127.0.0.1:1/"}}
)yaml");
  return bytes;
}

inline dispatch::AssignmentOrder test_order(uint32_t assignment, uint64_t fence = 1, const std::string& job = "j1") {
  dispatch::AssignmentOrder order;
  order.job = job;
  order.assignment = dispatch::AssignmentId(assignment);
  order.fence = dispatch::JobFence(fence);
  order.parts = {assignment, 1, 16};
  order.bundle = dispatch::bundle_hash(test_bundle());
  return order;
}

// Whether two windows are equal, apart from the users at a time, which are no sum.
inline bool same(const metrics::Window& a, const metrics::Window& b) {
  const auto bytes = [](const metrics::Window& window) {
    metrics::Window sums = ingest::empty_window();
    sums.merge(window);
    sums.second = 0;
    for (metrics::WorkflowWindow& workflow : sums.workflows) workflow.vus_active = workflow.vus_allocated = 0;
    return ingest::encode_window(sums);
  };
  return bytes(a) == bytes(b);
}

using cluster::TestNode;

inline const cluster::MessageClasses kJobMessages(&message::message_of<dispatch::JobMessage>());

struct TestManagers {
  std::vector<cluster::PeerAddress> operator()() const { return all; }
  std::vector<cluster::PeerAddress> all;
};

struct TestWorkers {
  std::optional<cluster::PeerAddress> operator()(const std::string& name) const {
    const auto found = all.find(name);
    return found == all.end() ? std::nullopt : std::optional(found->second);
  }
  std::map<std::string, cluster::PeerAddress> all;
};

struct WorkerNotes {
  void operator()(bool, const std::string& text) { texts.push_back(text); }
  std::vector<std::string> texts;
};

// A process that does nothing by itself.
class FakeProcess final : public AssignmentProcess {
 public:
  FakeProcess(ChildOrder of, Listener listener, std::set<FakeProcess*>& alive)
      : order(std::move(of)), to(listener), alive_(alive) {
    alive_.insert(this);
  }
  ~FakeProcess() override { alive_.erase(this); }
  void permit(Instant until) override { permits.push_back(until); }
  void begin(Instant at, Duration resumed, plan::RowPoint taken) override {
    start = at, resume_at = resumed, rows = taken;
  }
  void applied(uint64_t seconds) override { applied_to = seconds; }
  void stop(bool graceful) override { stops.push_back(graceful); }
  void save() override { ++saves; }
  void kill() override { ++kills; }
  void scale(uint32_t vus) override { scaled = vus; }
  void hand_over(Duration at) override { handed_over = at; }
  int64_t pid() const override { return 1; }

  ChildOrder order;
  Listener to;
  std::optional<Instant> start;
  Duration resume_at;
  plan::RowPoint rows;
  std::optional<uint64_t> applied_to;
  std::vector<Instant> permits;
  std::vector<bool> stops;
  std::optional<Duration> handed_over;
  std::optional<uint32_t> scaled;
  int saves = 0;
  int kills = 0;

 private:
  std::set<FakeProcess*>& alive_;
};

class FakeAssignments final : public AssignmentFactory {
 public:
  std::unique_ptr<AssignmentProcess> start(ChildOrder order, AssignmentProcess::Listener listener) override {
    auto made = std::make_unique<FakeProcess>(std::move(order), listener, alive);
    if (on_start != nullptr) on_start(context, *made);
    return made;
  }
  // The one whose first part is this; nullptr: none.
  FakeProcess* of(uint32_t part) const {
    for (FakeProcess* one : alive) {
      if (one->order.first == part) return one;
    }
    return nullptr;
  }
  std::set<FakeProcess*> alive;
  void (*on_start)(void* context, FakeProcess& made) = nullptr;
  void* context = nullptr;
};

// The durable ingest of a job: it survives its owners.
struct SafeIngest {
  metrics::Window sum = ingest::empty_window();
  std::map<uint32_t, uint64_t> applied;  // by assignment
  std::map<uint32_t, uint64_t> from;
  std::map<uint32_t, dispatch::AssignmentEnd> ends;
};

// A manager that answers a worker; it owns the job j1 after own().
class FakeManager final : public cluster::Service {
 public:
  FakeManager(TestNode& node, SafeIngest& safe) : node_(node), safe_(safe) {
    node_.router.connect(cluster::message_type::kDispatch, *this);
  }
  ~FakeManager() override { node_.router.disconnect(cluster::message_type::kDispatch); }

  std::vector<dispatch::WorkerReport> reports;
  std::vector<dispatch::LiveMessage> lives;
  std::vector<dispatch::EndMessage> ends;
  std::vector<dispatch::ExtendMessage> extends;  // it grants each an hour
  uint64_t windows = 0;                          // of jobs that it owns
  uint64_t refused = 0;
  bool silent = false;  // answers nothing
  bool gives_permits = true;
  uint64_t permit_fence = 1;
  std::vector<dispatch::AssignmentId> denied = {};  // by its permits
  double loses_answers = 0;                         // of windows and ends, after it has acted on them
  bool all_is_excess = false;
  std::string file = {};                                                // that it gives
  resilience::Backpressure pressure = resilience::Backpressure::kNone;  // as it reports
  dispatch::Refusal not_mine;                                           // its answer on jobs of other owners

  // Continues from the durable ingest.
  void own() {
    owns_ = true;
    book_.emplace(ingest::kShape, ingest::WindowIngest::Settings{});
    sum_ = ingest::empty_window();
    sum_.merge(safe_.sum);
    for (const auto& [assignment, applied] : safe_.applied) open(assignment, safe_.from[assignment], applied);
  }
  void disown(dispatch::Refusal refusal) {
    owns_ = false;
    not_mine = std::move(refusal);
    not_mine.kind = dispatch::Refusal::Kind::kNotOwner;
  }
  bool owns() const { return owns_; }
  // Its applied seconds survive it from now on.
  void make_safe() {
    for (const auto& closed : book_->take(Instant::never())) sum_.merge(closed.window);
    safe_.sum = ingest::empty_window();
    safe_.sum.merge(sum_);
    for (auto& [assignment, applied] : safe_.applied) applied = book_->applied(ingest::StreamId(assignment));
    for (const dispatch::EndMessage& end : ends) safe_.ends[end.assignment.value()] = end.end;
  }

  runtime::task<Result<dispatch::Response>> ask(cluster::PeerAddress worker, dispatch::JobMessage message) {
    std::string body = dispatch::encode(message);
    BW_CO_TRY(const auto answer,
              co_await node_.links->request(worker, cluster::message_type::kDispatch, wire::Priority::kControl,
                                            std::move(body), Duration::seconds(5), node_.scope.cancellation()));
    auto response = dispatch::decode_response(answer);
    co_return response;
  }
  dispatch::AdoptMessage adoption(uint64_t fence) const {
    dispatch::AdoptMessage message{"j1", dispatch::JobFence(fence), {}};
    for (const auto& [assignment, applied] : safe_.applied)
      message.streams.push_back({dispatch::AssignmentId(assignment), applied});
    return message;
  }

  void on_request(link::Connection& connection, const wire::Inbound& request) override {
    if (silent) return;
    auto message = dispatch::decode_message(as_text(request.body));
    check(message.has_value(), "a worker sends messages");
    const auto response = answer(*message);
    if (!response) return;
    const std::string body = dispatch::encode(*response);
    connection.respond(request.id, wire::ReplyStatus::kOk, as_bytes(body), true);
  }
  void on_message(link::Connection&, const wire::Inbound& inbound) override {
    auto message = dispatch::decode_message(as_text(inbound.body));
    check(message.has_value(), "a worker sends messages");
    lives.push_back(std::get<dispatch::LiveMessage>(std::move(*message)));
  }

 private:
  void open(uint32_t assignment, uint64_t from, uint64_t applied) {
    check(book_->open(ingest::StreamId(assignment), from, applied).has_value(), "a stream is opened once");
  }
  bool is_lost() { return node_.runtime.prng().chance(loses_answers); }

  std::optional<dispatch::Response> answer(const dispatch::JobMessage& message) {
    if (const auto* report = std::get_if<dispatch::WorkerReport>(&message)) {
      reports.push_back(*report);
      dispatch::Noted noted{pressure};
      if (!owns_ || !gives_permits || report->held.empty()) return noted;
      noted.permits.push_back({"j1", dispatch::JobFence(permit_fence), denied});
      return noted;
    }
    if (const auto* wanted = std::get_if<dispatch::FetchFile>(&message)) {
      if (wanted->offset < file.size()) return dispatch::FileChunk{file.substr(wanted->offset, 100)};
      return dispatch::refusal(dispatch::Refusal::Kind::kUnknown, "this manager does not have the file");
    }
    if (!owns_) {
      ++refused;
      return not_mine;
    }
    if (const auto* end = std::get_if<dispatch::EndMessage>(&message)) {
      ends.push_back(*end);
      if (is_lost()) return std::nullopt;
      return dispatch::Noted{};
    }
    if (const auto* extend = std::get_if<dispatch::ExtendMessage>(&message)) {
      extends.push_back(*extend);
      return dispatch::MoreTime{.granted = Duration::hours(1)};
    }
    const auto& told = std::get<dispatch::WindowMessage>(message);
    ++windows;
    if (all_is_excess) return dispatch::Applied{0, 0, true, pressure};
    const uint32_t assignment = told.assignment.value();
    const ingest::StreamId stream(assignment);
    if (!book_->knows(stream)) {
      open(assignment, told.from, 0);
      safe_.applied.emplace(assignment, 0);
      safe_.from[assignment] = told.from;
    }
    const auto window = ingest::decode_window(told.window, ingest::kShape);
    check(window.has_value(), "a worker sends windows of its plan");
    const auto verdict = book_->apply(node_.runtime.now(), stream, told.first, told.last, *window);
    check(verdict.has_value(), "numbers come in order, or again as they came before");
    if (is_lost()) return std::nullopt;
    const uint64_t upto = book_->applied(stream);
    return dispatch::Applied{upto, std::min(upto, safe_.applied[assignment]), false, pressure};
  }

  TestNode& node_;
  SafeIngest& safe_;
  bool owns_ = false;
  std::optional<ingest::WindowIngest> book_;
  metrics::Window sum_ = ingest::empty_window();
};

}  // namespace bellwether::node
