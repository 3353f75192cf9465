#include "lead/run/candidate_host.h"

#include <utility>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "election/store/disk/small_file.h"
#include "election/store/environment.h"
#include "election/store/lease_store.h"

namespace bellwether::lead {
namespace {

constexpr std::string_view kEpochMemoryFirstWord = "epoch ";

// "epoch 12 <hash of that>": short enough to be read by people, and torn never.
std::string text_of(election::Epoch epoch) {
  const std::string line = std::string(kEpochMemoryFirstWord) + std::to_string(epoch.value());
  return fmt::format("{} {}\n", line, sha256_hex(line).substr(0, 16));
}

}  // namespace

EpochMemory::EpochMemory(runtime::Runtime& runtime, std::string folder, const std::string& store,
                         const std::string& key)
    : runtime_(runtime), folder_(std::move(folder)) {
  path_ = fmt::format("{}/{}", folder_, sha256_hex(store + std::string(1, '\0') + key).substr(0, 32));
}

runtime::task<Result<election::Epoch>> EpochMemory::load() {
  BW_CO_TRY(const auto file, co_await store::read_text(runtime_, path_));
  if (!file.present) co_return election::Epoch();
  std::string_view text = file.text;
  if (text.starts_with(kEpochMemoryFirstWord)) {
    const auto number = parse_u64(text.substr(
        kEpochMemoryFirstWord.size(), text.find(' ', kEpochMemoryFirstWord.size()) - kEpochMemoryFirstWord.size()));
    if (number && text == text_of(election::Epoch(*number))) co_return election::Epoch(*number);
  }
  co_return fail(Errc::kInvalid,
                 path_ +
                     ": this file does not hold an epoch; remove it (`bellwether lease repair --forget`) if you are "
                     "sure that no candidate has held the key under a higher epoch than the store knows");
}

runtime::task<Status> EpochMemory::save(election::Epoch epoch) {
  BW_CO_RETURN_IF_ERROR(co_await runtime_.make_directory(folder_, 0700));
  // Others on this machine may keep the same key: the highest stays.
  const runtime::OpenOptions options{.create = true, .write = true, .no_follow = true, .mode = 0600};
  const Instant deadline = runtime_.read_clock() + Duration::seconds(5);
  BW_CO_TRY(const auto lock, co_await store::open_locked(runtime_, path_ + ".lock", options, deadline));
  const auto kept = co_await load();
  if (kept && *kept >= epoch) co_return Status();
  std::string text = text_of(epoch);
  BW_CO_RETURN_IF_ERROR(co_await store::write_beside(runtime_, path_, std::move(text), 0600));
  const auto placed = co_await store::put_in_place(runtime_, path_);
  co_return placed;
}

runtime::task<Status> EpochMemory::forget() {
  Status done = co_await runtime_.remove(path_);
  if (!done && done.error().code == Errc::kNotFound) co_return Status();
  if (done) done = co_await runtime_.sync_directory(folder_);
  co_return done;
}

std::string default_epoch_folder() {
  const std::string state = store::state_folder(&store::own_environment);
  return state.empty() ? state : state + "/epochs";
}

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
  if (!kept) journal_.warn(runtime_.wall_now(), "the epoch could not be stored: " + kept.error().message);
}

void CandidateHost::on_note(bool warning, const std::string& text) {
  if (warning) {
    journal_.warn(runtime_.wall_now(), text);
  } else {
    journal_.detail(runtime_.wall_now(), text);
  }
}

// The next renewal carries other times when the store has become slower or quicker.
void CandidateHost::follow_store(const std::optional<election::LeaseTiming>& timing) {
  if (!timing) return;
  journal_.detail(runtime_.wall_now(), fmt::format("the lease adapts to the store: {} from the next renewal on",
                                                   format_duration(timing->lease)));
  candidate_->retime(*timing);
}

std::string CandidateHost::own_name() const {
  const runtime::ProcessIdentity self = runtime_.self();
  return fmt::format("{}:{}", self.host, self.pid);
}

FiguresPage serve_figures(const std::string& at, std::vector<const LeaseFigures*> figures, WallTime now,
                          Journal& journal) {
  FiguresPage page;
  if (at.empty()) return page;
  auto started = MetricsServer::start(at, std::move(figures));
  if (started) {
    page.server = std::move(*started);
  } else {
    page.good = false;
    journal.error(now, "--metrics: " + started.error().message);
  }
  return page;
}

}  // namespace bellwether::lead
