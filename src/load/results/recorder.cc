#include "load/results/recorder.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "core/runtime/processes.h"
#include "load/codec/window_codec.h"

namespace bellwether::results {

bool is_alive(int64_t pid, uint64_t start_time, const std::string& boot_id, const std::string& pid_namespace) {
  const runtime::ProcessIdentity self = runtime::identify_self();
  if (!boot_id.empty() && !self.boot_id.empty() && boot_id != self.boot_id) return false;
  if (pid_namespace != self.pid_namespace) return true;
  const runtime::ProcessSight sight = runtime::look_at_process(pid);
  if (sight.state == runtime::ProcessSight::State::kDead) return false;
  return start_time == 0 || !sight.start_time || *sight.start_time == start_time;
}

struct Recorder::Work {
  struct Item {
    enum class Kind : uint8_t { kSecond, kAmend, kWhole, kCluster };
    Interval interval;
    Figures figures;
    Kind kind = Kind::kSecond;
    Cluster cluster;
  };
  struct End {
    std::string document;
    std::string verdict;
    int exit_code = 0;
    Limits limits;
    Figures figures;
  };

  std::string path;
  std::string id;
  plan::Plan plan;
  WallTime started_at;
  int cores = 1;
  Entry entry = Entry::kNew;

  std::mutex mutex;
  std::condition_variable news;
  std::deque<Item> items;
  std::optional<End> end;
  bool leave = false;
  std::size_t left_out = 0;
  Outcome outcome;  // read when the thread has ended

  // Of the own thread.
  metrics::Retention retention;
  uint64_t after = 0;  // second after all added ones

  std::thread thread;

  void main() {
    if (entry == Entry::kUnfinished) {
      // A missing store has no run to complete, and is not created.
      const auto there = Store::open(path, Store::Use::kRead);
      if (!there && there.error().code == Errc::kNotFound) return give_up({});
    }
    auto store = Store::open(path, Store::Use::kWrite);
    if (!store) return give_up(store.error());
    if (entry == Entry::kNew) {
      if (auto begun = store->begin(id, plan, started_at, cores); !begun) return give_up(begun.error());
    } else {
      const auto kept = store->resume(id, plan);
      if (!kept) return give_up(kept.error());
      if (!*kept) return give_up({});
      retention = metrics::Retention(metrics::kHotWindows, after = **kept);
    }
    for (;;) {
      std::unique_lock lock(mutex);
      news.wait(lock, [this] { return leave || end || !items.empty(); });
      if (items.empty()) break;
      const Item item = std::move(items.front());
      items.pop_front();
      lock.unlock();
      if (auto done = carry_out(*store, item); !done) return give_up(done.error());
    }
    if (end) finish(*store);
  }

  Status carry_out(Store& store, const Item& item) {
    switch (item.kind) {
      case Item::Kind::kCluster: return store.note_cluster(id, item.cluster);
      case Item::Kind::kAmend: return amend(store, item);
      case Item::Kind::kWhole: return settle(store, item);
      case Item::Kind::kSecond: break;
    }
    // Seconds that are reported again after a whole have had their folds.
    std::vector<metrics::Fold> folds;
    if (item.interval.first >= after) folds = retention.add(item.interval.first);
    after = std::max(after, item.interval.first + 1);
    return store.add(id, item.interval, item.figures, folds);
  }

  Status amend(Store& store, const Item& item) {
    const metrics::Shape shape = aggregate::shape_of(plan);
    BW_TRY(auto part, ingest::decode_window(item.interval.window, shape));
    part.covered = item.interval.covered;
    return store.amend(id, item.interval.first, part, item.figures);
  }

  Status settle(Store& store, const Item& item) {
    BW_TRY(const auto stays, store.settle(id, item.interval, item.figures));
    if (!stays) retention = metrics::Retention(metrics::kHotWindows, after = item.interval.span);
    return {};
  }

  void finish(Store& store) {
    const Status ended = store.end(id, end->document, end->verdict, end->exit_code, end->figures);
    if (!ended) return give_up(ended.error());
    const auto removed = store.prune(end->limits, id);
    if (removed) {
      outcome.removed = *removed;
    } else {
      outcome.problem = "old runs could not be removed: " + removed.error().message;
    }
    if (left_out > 0) {
      outcome.problem =
          fmt::format("{} seconds are missing in it: the disk was too slow, or they arrived out of order", left_out);
    }
  }

  void push(Item item) {
    {
      const std::lock_guard lock(mutex);
      if (leave) return;
      if (items.size() >= kMaxWaiting) {
        // Without a whole, all later items would be wrong.
        const auto oldest = std::ranges::find_if(items, [](const Item& one) { return one.kind != Item::Kind::kWhole; });
        items.erase(oldest == items.end() ? items.begin() : oldest);
        ++left_out;
      }
      items.push_back(std::move(item));
    }
    news.notify_one();
  }

  void give_up(const Error& error) {
    const std::lock_guard lock(mutex);
    outcome.problem = error.message;
    leave = true;
    items.clear();
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      leave = true;
    }
    news.notify_one();
    if (thread.joinable()) thread.join();
  }
};

namespace {

// A plan as the store needs it, without the parts for running it.
plan::Plan outline(const plan::Plan& plan) {
  plan::Plan out;
  out.name = plan.name;
  for (const plan::Workflow& workflow : plan.workflows) {
    plan::Workflow one;
    one.name = workflow.name;
    one.start_time = workflow.start_time;
    out.workflows.push_back(std::move(one));
  }
  out.steps = plan.steps;
  out.checks = plan.checks;
  out.metrics = plan.metrics;
  out.series = plan.series;
  return out;
}

}  // namespace

Recorder::Recorder(std::string path, std::string id, const plan::Plan& plan, WallTime started_at, int cores,
                   Entry entry)
    : work_(std::make_unique<Work>()), scratch_(aggregate::shape_of(plan)) {
  work_->path = std::move(path);
  work_->id = std::move(id);
  work_->plan = outline(plan);
  work_->started_at = started_at;
  work_->cores = cores;
  work_->entry = entry;
  work_->thread = std::thread([work = work_.get()] { work->main(); });
}

Recorder::~Recorder() { work_->stop(); }

Figures Recorder::take(const metrics::Window& window) {
  scratch_.clear();
  scratch_.merge(window);
  scratch_.covered = Duration::zero();
  scratch_.second = window.second;
  Figures figures;
  for (metrics::StepWindow& step : scratch_.steps) {
    figures.requests += step.count;
    figures.failed += step.failed;
    for (metrics::Histogram& phase : step.phases) phase.clear();
  }
  for (metrics::Histogram& watch : scratch_.watches) watch.clear();  // of thresholds, which are not stored
  return figures;
}

void Recorder::second(const metrics::Window& window, Duration covered) {
  if (window.second < next_) {
    const std::lock_guard lock(work_->mutex);
    ++work_->left_out;
    return;
  }
  next_ = window.second + 1;
  const Figures more = take(window);
  figures_.requests += more.requests;
  figures_.failed += more.failed;
  figures_.elapsed = Duration::seconds(static_cast<int64_t>(window.second)) + covered;
  work_->push({{window.second, 1, covered, ingest::encode_window(scratch_)}, figures_, Work::Item::Kind::kSecond, {}});
}

void Recorder::amend(const metrics::Window& part) {
  const Figures more = take(part);
  figures_.requests += more.requests;
  figures_.failed += more.failed;
  work_->push(
      {{part.second, 1, part.covered, ingest::encode_window(scratch_)}, figures_, Work::Item::Kind::kAmend, {}});
}

void Recorder::whole(const aggregate::Totals& totals) {
  figures_ = take(totals.sum());
  next_ = totals.empty() ? 0 : totals.last().second + 1;
  if (!totals.empty()) {
    figures_.elapsed = Duration::seconds(static_cast<int64_t>(totals.last().second)) + totals.last().covered;
  }
  scratch_.second = 0;
  work_->push({{0, next_, totals.elapsed(), ingest::encode_window(scratch_)}, figures_, Work::Item::Kind::kWhole, {}});
}

void Recorder::cluster(const Cluster& cluster) { work_->push({{}, figures_, Work::Item::Kind::kCluster, cluster}); }

Recorder::Outcome Recorder::end(std::string document, std::string verdict, int exit_code, const Limits& limits) {
  {
    const std::lock_guard lock(work_->mutex);
    work_->end = {std::move(document), std::move(verdict), exit_code, limits, figures_};
  }
  work_->stop();
  return work_->outcome;
}

}  // namespace bellwether::results
