#include "lead/run/candidate_host.h"

#include <utility>

#include "core/base/units.h"
#include "election/store/open_store.h"

namespace bellwether::lead {

using election::Epoch;
using runtime::task;

CandidateHost::CandidateHost(runtime::EpollRuntime& runtime, Journal& journal,
                             const std::optional<election::AdaptiveSettings>& follow, Duration first)
    : runtime_(runtime), journal_(journal) {
  if (follow) adaptive_.emplace(*follow, first);
}

task<Status> CandidateHost::open_key(std::string url, std::string key) {
  BW_CO_TRY(store_, co_await store::open_store(runtime_, std::move(url)));
  BW_CO_TRY(key_, store_->open(key));
  co_return Status();
}

task<Result<Epoch>> CandidateHost::recall_epoch(std::string key) {
  const std::string folder = default_epoch_folder();
  if (folder.empty()) co_return Epoch();
  memory_ = std::make_unique<EpochMemory>(runtime_, folder, store_->describe(), key);
  auto kept = co_await memory_->load();
  co_return kept;
}

void CandidateHost::on_floor(Epoch floor) {
  if (memory_ != nullptr) scope_->spawn(keep(floor));
}

task<void> CandidateHost::keep(Epoch floor) {
  const auto kept = co_await memory_->save(floor);
  if (!kept) journal_.warn(runtime_.wall_now(), "the epoch could not be remembered: " + kept.error().message);
}

void CandidateHost::on_note(bool warning, const std::string& text) {
  if (warning) {
    journal_.warn(runtime_.wall_now(), text);
  } else {
    journal_.detail(runtime_.wall_now(), text);
  }
}

void CandidateHost::store_answered(Duration took) {
  if (adaptive_) follow_store(adaptive_->renewed(took));
}

void CandidateHost::store_failed() {
  if (adaptive_) follow_store(adaptive_->failed());
}

// The next renewal carries other times when the store has become slower or quicker.
void CandidateHost::follow_store(const std::optional<election::LeaseTiming>& timing) {
  if (!timing) return;
  journal_.detail(runtime_.wall_now(),
                  "the lease follows the store: " + format_duration(timing->lease) + " from the next renewal on");
  candidate_->retime(*timing);
}

std::string CandidateHost::own_name() const {
  const runtime::ProcessIdentity self = runtime_.self();
  return self.host + ":" + std::to_string(self.pid);
}

FiguresPage serve_figures(const std::string& at, const LeaseFigures& figures, WallTime now, Journal& journal) {
  FiguresPage page;
  if (at.empty()) return page;
  auto started = MetricsServer::start(at, {&figures});
  if (started) {
    page.server = std::move(*started);
  } else {
    page.good = false;
    journal.error(now, "--metrics: " + started.error().message);
  }
  return page;
}

}  // namespace bellwether::lead
