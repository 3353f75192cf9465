// How the run went: who made the load, what happened, what is missing. Each list is short however long the run was; the
// result file has all of it.
#include <algorithm>
#include <cmath>

#include "core/base/encoding.h"
#include "core/base/units.h"
#include "load/report/summary_page.h"

namespace bellwether::report {
namespace {

constexpr std::size_t kWorkersShown = 12;
constexpr std::size_t kEventsShown = 20;
constexpr std::size_t kLossesShown = 10;
constexpr std::size_t kWordsShown = 400;  // columns of what others have written

std::string words(const std::string& text) { return shorten(printable(text), kWordsShown); }

void write_more(Page& page, std::size_t left, const char* what) {
  if (left > 0) page.line("… and " + format_count(left, std::string("more ") + what) + ", all in the result file");
}

bool hides_stalls(const plan::Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [&plan](const plan::StepInfo& step) { return step.measured && !has_due_times(plan, step); });
}

void write_event(Page& page, const Event& event) {
  page.wrapped("- ", "at " + format_duration(event.at) + ": " + words(event.detail), 2);
}

// The share of a loss, never shown as none.
std::string share_text(double share) {
  return share < 0.0001 ? "<0.01%"
                        : percent(static_cast<uint64_t>(std::llround(std::min(share, 1.0) * 1e9)), 1'000'000'000);
}

}  // namespace

void write_workers(Page& page, const RunReport& run) {
  if (run.workers.empty()) return;
  uint64_t cores = 0;
  for (const Worker& worker : run.workers) cores += worker.cores;
  page.heading("WORKERS", format_count(run.workers.size(), "worker") + ", " + format_count(cores, "core"));
  std::vector<const Worker*> order;
  for (const Worker& worker : run.workers) order.push_back(&worker);
  if (order.size() > kWorkersShown) {  // then those that something happened to
    std::stable_partition(order.begin(), order.end(),
                          [](const Worker* worker) { return worker->state != WorkerState::kCompleted; });
    order.resize(kWorkersShown);
  }
  std::vector<std::vector<std::string>> rows;
  for (const Worker* worker : order) {
    rows.push_back({printable(worker->name), format_count(worker->cores, "core"), format_count(worker->shares, "share"),
                    std::string(to_string(worker->state))});
  }
  page.rows(rows);
  write_more(page, run.workers.size() - order.size(), "worker");
}

void write_notes(Page& page, const RunReport& run) {
  const bool closed = hides_stalls(run.totals->plan()) && run.totals->counts().requests > 0;
  if (!closed && run.events.empty()) return;
  page.heading("NOTES");
  if (closed) {
    page.wrapped(
        "- ",
        "Closed model (fixed virtual users): a stalled target also stalls the requests that would have met the "
        "stall, so the tail is understated (coordinated omission). Rates and paces measure it.",
        2);
  }
  // Of many events the first ones and the last: how it began, and what it ended with.
  const std::size_t count = run.events.size();
  const std::size_t head = count > kEventsShown ? kEventsShown / 2 : count;
  for (std::size_t e = 0; e < head; ++e) write_event(page, run.events[e]);
  write_more(page, count - std::min(count, kEventsShown), "event");
  for (std::size_t e = std::max(head, count - std::min(count, kEventsShown / 2)); e < count; ++e) {
    write_event(page, run.events[e]);
  }
}

void write_losses(Page& page, const RunReport& run) {
  if (run.losses.empty()) return;
  page.heading("LOST", "missing in all figures above");
  for (std::size_t l = 0; l < std::min(run.losses.size(), kLossesShown); ++l) {
    const plan::Loss& loss = run.losses[l];
    page.wrapped(page.style("!", Style::kWarn) + " ",
                 "from " + format_duration(loss.from) + " to " + format_duration(loss.to) + ", " +
                     share_text(loss.share) + " of the load: " + words(loss.cause),
                 2);
  }
  write_more(page, run.losses.size() - std::min(run.losses.size(), kLossesShown), "gap");
}

}  // namespace bellwether::report
