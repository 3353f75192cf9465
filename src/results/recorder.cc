#include "results/recorder.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "account/window_codec.h"
#include "aggregate/totals.h"

namespace bellwether::results {

struct Recorder::Work {
  struct Item {
    Stretch stretch;
    Figures figures;
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

  std::mutex mutex;
  std::condition_variable news;
  std::deque<Item> items;
  std::optional<End> end;
  bool leave = false;
  std::size_t left_out = 0;
  Outcome outcome;  // read when the thread has ended

  std::thread thread;

  void main() {
    auto store = Store::open(path, Store::Use::kWrite);
    if (!store) return give_up(store.error());
    if (auto begun = store->begin(id, plan, started_at, cores); !begun) return give_up(begun.error());
    metrics::Retention retention;
    for (;;) {
      std::unique_lock lock(mutex);
      news.wait(lock, [this] { return leave || end || !items.empty(); });
      if (items.empty()) break;
      const Item item = std::move(items.front());
      items.pop_front();
      lock.unlock();
      const auto folds = retention.add(item.stretch.first);
      if (auto added = store->add(id, item.stretch, item.figures, folds); !added) return give_up(added.error());
    }
    if (end) finish(*store);
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
          std::to_string(left_out) + " seconds are missing in it: the disk was too slow, or they came out of turn";
    }
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

// A plan as the store needs it, without what was made to run it.
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
  return out;
}

}  // namespace

Recorder::Recorder(std::string path, std::string id, const plan::Plan& plan, WallTime started_at, int cores)
    : work_(std::make_unique<Work>()), scratch_(aggregate::shape_of(plan), nullptr) {
  work_->path = std::move(path);
  work_->id = std::move(id);
  work_->plan = outline(plan);
  work_->started_at = started_at;
  work_->cores = cores;
  work_->thread = std::thread([work = work_.get()] { work->main(); });
}

Recorder::~Recorder() { work_->stop(); }

void Recorder::second(const metrics::Window& window, Duration covered) {
  if (window.second < next_) {
    const std::lock_guard lock(work_->mutex);
    ++work_->left_out;
    return;
  }
  next_ = window.second + 1;
  scratch_.clear();
  scratch_.merge(window);
  scratch_.covered = Duration::zero();
  scratch_.second = window.second;
  for (metrics::StepWindow& step : scratch_.steps) {
    figures_.requests += step.count;
    figures_.failed += step.failed;
    for (metrics::Histogram& phase : step.phases) phase.clear();
  }
  figures_.elapsed = Duration::seconds(static_cast<int64_t>(window.second)) + covered;
  Work::Item item{{window.second, 1, covered, account::encode_window(scratch_)}, figures_};
  {
    const std::lock_guard lock(work_->mutex);
    if (work_->leave) return;
    if (work_->items.size() >= kMostWaiting) {
      work_->items.pop_front();
      ++work_->left_out;
    }
    work_->items.push_back(std::move(item));
  }
  work_->news.notify_one();
}

Recorder::Outcome Recorder::end(std::string document, std::string verdict, int exit_code, const Limits& limits) {
  {
    const std::lock_guard lock(work_->mutex);
    work_->end = {std::move(document), std::move(verdict), exit_code, limits, figures_};
  }
  work_->stop();
  return work_->outcome;
}

}  // namespace bellwether::results
