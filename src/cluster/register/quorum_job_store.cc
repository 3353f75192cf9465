#include "cluster/register/quorum_job_store.h"

#include <utility>

#include "base/check.h"
#include "cluster/register/quorum_job.h"

namespace bellwether::jobs {
namespace {

constexpr Duration kRetry = Duration::millis(200);
constexpr Duration kTroubleLasts = Duration::seconds(30);

}  // namespace

QuorumJobStore::QuorumJobStore(runtime::Runtime& runtime, registers::Lines& lines, const JobSettings& settings,
                               uint64_t seed)
    : runtime_(runtime), lines_(lines), settings_(settings), prng_(seed) {
  check(check_settings(settings).has_value(), "settings are validated before they are used");
  lines_.serve(static_cast<registers::Lines::Owners*>(this));
}

QuorumJobStore::~QuorumJobStore() {
  check(jobs_.empty(), "handles end before their store");
  lines_.serve(static_cast<registers::Lines::Owners*>(nullptr));
}

std::string QuorumJobStore::describe() const {
  std::string text;
  for (const std::string& name : lines_.keepers()) text += (text.empty() ? "the quorum of " : ", ") + name;
  return text;
}

Result<std::unique_ptr<JobHandle>> QuorumJobStore::open(std::string key, JobHandle::Listener& listener) {
  BW_RETURN_IF_ERROR(check_key(key));
  if (closed_) return fail(Errc::kClosed, "the node that asks is ending");
  if (jobs_.contains(key)) return fail(Errc::kExists, "job '" + key + "' is open already: a node has one handle of it");
  if (jobs_.size() >= kMostHandles) return fail(Errc::kExhausted, "too many jobs are open on this node");
  registers::JobOwnerConfig config;
  config.key = key;
  config.self = lines_.self_id();
  config.peers = lines_.keeper_ids();
  config.lease = settings_.lease;
  config.renew_every = settings_.renew_every();
  config.retry = kRetry;
  config.drift = settings_.drift;
  auto job = std::make_unique<QuorumJob>(*this, key, listener, std::move(config), prng_.next());
  jobs_[std::move(key)] = job.get();
  return job;
}

runtime::task<void> QuorumJobStore::close(Duration) {
  closed_ = true;
  for (const auto& [key, job] : jobs_) job->close();
  scope_.cancel();
  co_await scope_.join();
}

void QuorumJobStore::on_answer(MemberId from, const registers::Answer& answer) {
  const auto job = jobs_.find(answer.key);
  if (answer.verdict != registers::Verdict::kUnable) troubles_.erase(from);
  if (job != jobs_.end()) job->second->step(registers::JobAnswered{from, answer});
}

void QuorumJobStore::on_freed(const registers::Freed& freed) {
  const auto job = jobs_.find(freed.key);
  if (job != jobs_.end()) job->second->step(registers::JobFreed{});
}

void QuorumJobStore::on_unable(MemberId from, const registers::Unable& unable) {
  troubles_[from] = {unable.why, runtime_.boot_now()};
}

// Why nothing happens, as far as is known.
std::string QuorumJobStore::silence() const {
  std::string text = "no majority of the peers (";
  for (const std::string& name : lines_.keepers()) text += (text.ends_with('(') ? "" : ", ") + name;
  text += ") has answered in time";
  const Instant now = runtime_.boot_now();
  for (const auto& [peer, trouble] : troubles_) {
    if (now - trouble.at < kTroubleLasts) text += "; '" + lines_.name_of(peer) + "': " + trouble.why;
  }
  return text;
}

}  // namespace bellwether::jobs
