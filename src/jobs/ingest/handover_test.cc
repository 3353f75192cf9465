// The whole way of an ingest: workers measure; messages are lost, doubled and reordered; owners die and others
// continue from the last copy. In the end the ingest equals the measurements, bit for bit, for every split of the
// load.
#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <rapidcheck/gtest.h>
#include <vector>

#include "jobs/ingest/outbox.h"
#include "jobs/ingest/run_ingest.h"
#include "load/codec/window_testing.h"

namespace bellwether::ingest {
namespace {

struct Worker {
  StreamId stream;
  Outbox outbox;
};

// The copy of an ingest on another node.
struct Copy {
  metrics::Window sum = empty_window();
  std::vector<uint64_t> applied;
};

class Handover {
 public:
  Handover(uint64_t seed, std::size_t workers, int seconds, std::size_t bytes_most) : prng_(seed), seconds_(seconds) {
    for (std::size_t i = 0; i < workers; ++i) {
      workers_.push_back({StreamId(static_cast<uint32_t>(i)), Outbox(kShape, bytes_most)});
    }
    copy_.applied.assign(workers, 0);
    take_over();
  }

  void run() {
    for (int second = 0; second < seconds_; ++second) {
      for (Worker& worker : workers_) {
        const metrics::Window measured = random_window(prng_, static_cast<uint64_t>(second));
        union_.merge(measured);
        worker.outbox.add(encode_window(measured));
      }
      step();
      if (prng_.chance(0.2)) make_copy();
      if (prng_.chance(0.1)) take_over();
    }
    lossy_ = false;
    for (int i = 0; i < seconds_ * 2 && !all_delivered(); ++i) step();
    make_copy();
  }

  bool all_delivered() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [&](const Worker& one) { return book_->applied(one.stream) == one.outbox.last_number(); });
  }
  const metrics::Window& measured() const { return union_; }
  const metrics::Window& accounted() const { return sum_; }

 private:
  // Another owner begins with the last copy.
  void take_over() {
    book_.emplace(kShape, WindowIngest::Settings{});
    sum_ = empty_window();
    sum_.merge(copy_.sum);
    under_way_.clear();
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      RC_ASSERT(book_->open(workers_[i].stream, 0, copy_.applied[i]).has_value());
      RC_ASSERT(workers_[i].outbox.resume(copy_.applied[i]).has_value());
    }
  }

  void make_copy() {
    collect(now_ + Duration::hours(1));
    copy_.sum = empty_window();
    copy_.sum.merge(sum_);
    for (std::size_t i = 0; i < workers_.size(); ++i) copy_.applied[i] = book_->applied(workers_[i].stream);
  }

  void collect(Instant at) {
    for (const WindowIngest::Closed& one : book_->take(at)) sum_.merge(one.window);
  }

  void step() {
    now_ += Duration::millis(200);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      while (auto delta = workers_[i].outbox.next()) {
        if (lossy_ && prng_.chance(0.1)) continue;
        under_way_.push_back({i, *delta});
        if (lossy_ && prng_.chance(0.1)) under_way_.push_back({i, *delta});
      }
    }
    while (!under_way_.empty() && !(lossy_ && prng_.chance(0.05))) {
      const std::size_t at = lossy_ ? prng_.below(under_way_.size()) : 0;
      const auto [worker, delta] = under_way_[at];
      under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(at));
      const auto window = decode_window(delta.window, kShape);
      RC_ASSERT(window.has_value());
      const auto verdict = book_->apply(now_, workers_[worker].stream, delta.first, delta.last, *window);
      RC_ASSERT(verdict.has_value());
      const uint64_t applied = book_->applied(workers_[worker].stream);
      if (*verdict == WindowIngest::Verdict::kGap) {
        RC_ASSERT(workers_[worker].outbox.resume(applied).has_value());
      } else {
        RC_ASSERT(workers_[worker].outbox.answered(applied, copy_.applied[worker]).has_value());
      }
    }
    // After a silence a worker asks for the owner's position.
    for (Worker& worker : workers_) {
      if (prng_.chance(0.3)) RC_ASSERT(worker.outbox.resume(book_->applied(worker.stream)).has_value());
    }
    collect(now_);
  }

  struct UnderWay {
    std::size_t worker;
    Delta delta;
  };
  Prng prng_;
  int seconds_;
  bool lossy_ = true;
  Instant now_ = Instant::from_ns(1);
  std::vector<Worker> workers_;
  std::vector<UnderWay> under_way_;
  std::optional<WindowIngest> book_;
  metrics::Window union_ = empty_window();
  metrics::Window sum_ = empty_window();
  Copy copy_;
};

RC_GTEST_PROP(Ingest, is_what_was_measured_whoever_dies_and_however_the_load_was_split, (uint64_t seed)) {
  Prng prng(seed);
  Handover run(prng.next(), 1 + prng.below(5), 15, prng.chance(0.3) ? 3000 : std::size_t{1} << 20);
  run.run();
  RC_ASSERT(run.all_delivered());
  const metrics::Window& measured = run.measured();
  const metrics::Window& accounted = run.accounted();
  for (std::size_t i = 0; i < kShape.steps; ++i) {
    RC_ASSERT(accounted.steps[i].service == measured.steps[i].service);
    RC_ASSERT(accounted.steps[i].response == measured.steps[i].response);
    RC_ASSERT(accounted.steps[i].count == measured.steps[i].count);
    RC_ASSERT(accounted.steps[i].errors == measured.steps[i].errors);
    for (const double percent : {50.0, 90.0, 99.0, 99.9, 99.99}) {
      RC_ASSERT(accounted.steps[i].service.percentile(percent) == measured.steps[i].service.percentile(percent));
    }
  }
  RC_ASSERT(accounted.workflows[0].iterations == measured.workflows[0].iterations);
  RC_ASSERT(accounted.checks[0].passes == measured.checks[0].passes);
  RC_ASSERT(accounted.cpu == measured.cpu);
}

}  // namespace
}  // namespace bellwether::ingest
