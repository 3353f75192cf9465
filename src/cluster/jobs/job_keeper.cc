#include "cluster/jobs/job_keeper.h"

#include <algorithm>
#include <utility>

#include "base/periodic.h"
#include "base/probe.h"
#include "cluster/jobs/job_content.h"

namespace bellwether::jobs {
namespace {

using runtime::task;

constexpr const char* kPeers = "jobs-kept-with";  // these peers
const std::string kRecords = "jobs/";

bool is_retired(const std::string& register_bytes) {
  const auto content = parse_content(register_bytes);
  return content && content->retired;
}

}  // namespace

JobKeeper::JobKeeper(runtime::Runtime& runtime, cluster::Kv& kv, JobLines& lines, KeeperSettings settings,
                     Listener& listener)
    : runtime_(runtime),
      kv_(kv),
      lines_(lines),
      settings_(settings),
      listener_(listener),
      kernel_({.drift = settings.drift, .most_jobs = settings.most_jobs}) {}

// --- its life --------------------------------------------------------------------------------------------------------

task<void> JobKeeper::run(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  const dispatch::AcceptorStart start = co_await load();
  scope_ = &scope;
  step(start);
  lines_.serve(static_cast<JobLines::Keeper*>(this));
  co_await sweep(scope.cancellation());
  lines_.serve(static_cast<JobLines::Keeper*>(nullptr));
  scope.cancel();
  co_await scope.join();
  scope_ = nullptr;
}

task<dispatch::AcceptorStart> JobKeeper::load() {
  const auto peers = co_await kv_.get(kPeers);
  auto stored = co_await kv_.list(kRecords);
  Result<dispatch::AcceptorStart> start;
  if (!peers || !stored) {
    start = fail(Errc::kIo, "what was promised to owners of jobs cannot be read: " +
                                (peers ? stored.error() : peers.error()).message);
  } else {
    start = read(*peers, *stored);
    const bool news = start && *peers != names();
    if (news) {
      std::vector<cluster::KvChange> mark;
      mark.push_back({kPeers, names()});
      const Status marked = co_await kv_.put(std::move(mark));
      if (!marked) start = fail(Errc::kIo, "that this node keeps jobs cannot be written: " + marked.error().message);
    }
  }
  readable_ = start.has_value();
  if (readable_) co_return std::move(*start);
  unable_ = start.error().message;
  listener_.on_note(true, unable_ + ". This node takes no part in keeping jobs");
  co_return dispatch::AcceptorStart{.readable = false, .records = {}};
}

std::string JobKeeper::names() const {
  std::string text;
  for (const std::string& name : lines_.peers()) text += (text.empty() ? "" : " ") + name;
  return text;
}

// What was ever promised and accepted here. That nothing is there proves nothing: a disk may have been replaced. And of
// other peers a majority may know nothing of what these have promised.
Result<dispatch::AcceptorStart> JobKeeper::read(const std::optional<std::string>& peers,
                                                const std::vector<std::pair<std::string, std::string>>& stored) {
  if (!peers && !settings_.first_start) {
    return fail(Errc::kInvalid,
                "nothing is known of earlier promises to owners of jobs. If this node has never kept jobs, start it "
                "once with --first-start; if its disk was lost, let a node of another name take its place");
  }
  if (peers && *peers != names() && (!stored.empty() || !settings_.first_start)) {
    return fail(Errc::kInvalid, "this node keeps " + std::to_string(stored.size()) + " jobs together with " + *peers +
                                    ", and was told of " + names() +
                                    ". Give all nodes the former list back until no job is left anywhere; then start "
                                    "each once with the new one and --first-start");
  }
  dispatch::AcceptorStart start;
  const Instant now = runtime_.boot_now();
  for (const auto& [name, bytes] : stored) {
    auto record = decode_record(bytes);
    if (!record || kRecords + record->key != name) {
      return fail(Errc::kInvalid, "what was promised to the owner of a job cannot be read (" +
                                      (record ? "it is that of another job" : record.error().message) + ")");
    }
    if (is_retired(record->value)) retired_.emplace(record->key, now);
    bytes_ += record->value.size();
    start.records.push_back(std::move(*record));
  }
  return start;
}

// Registers of retired jobs go away after a while; peers that have missed the end of a job are told.
task<void> JobKeeper::sweep(runtime::Cancellation* cancel) {
  Periodic period(Period::about(settings_.retired_kept / 8), Prng(runtime_.prng().next()));
  while (true) {
    const Instant next = runtime_.boot_now() + period.next();
    const bool due = co_await runtime_.sleep_until_boot(next, cancel);
    if (!due) co_return;
    const Instant now = runtime_.boot_now();
    std::vector<std::string> over;
    for (const auto& [key, since] : retired_) {
      if (now - since >= settings_.retired_kept) over.push_back(key);
    }
    for (const std::string& key : over) {
      const dispatch::JobRecord* record = kernel_.find(key);
      if (record == nullptr) continue;
      const Gone gone{key, record->promised.fence};
      for (const MemberId peer : lines_.peer_ids()) lines_.send(peer, gone);
    }
  }
}

// --- what is asked ---------------------------------------------------------------------------------------------------

void JobKeeper::on_ask(MemberId from, const dispatch::Ask& ask) {
  if (pending_.size() >= kMostPending) return;
  std::string why = too_much(ask);
  if (!why.empty()) return lines_.send(from, Unable{ask.key, std::move(why)});
  if (!unable_.empty()) lines_.send(from, Unable{ask.key, unable_});
  step(dispatch::Asked{from, ask});
}

std::size_t JobKeeper::bytes_of(const std::string& key) const {
  const dispatch::JobRecord* record = kernel_.find(key);
  return record == nullptr ? 0 : record->value.size();
}

std::string JobKeeper::too_much(const dispatch::Ask& ask) const {
  if (kernel_.jobs() >= settings_.most_jobs && kernel_.find(ask.key) == nullptr) {
    return "it keeps " + std::to_string(settings_.most_jobs) + " jobs already";
  }
  const auto* accept = std::get_if<dispatch::Accept>(&ask.body);
  if (accept == nullptr) return {};
  const std::size_t before = bytes_of(ask.key);
  if (accept->value.size() <= before || bytes_ + accept->value.size() - before <= settings_.most_bytes) return {};
  return "the states of its jobs have " + std::to_string(bytes_) + " bytes, and may have " +
         std::to_string(settings_.most_bytes);
}

void JobKeeper::on_gone(const Gone& gone) {
  const dispatch::JobRecord* record = kernel_.find(gone.key);
  // Somebody has promised more since: then it was not retired for good.
  if (record == nullptr || record->promised.fence > gone.fence) return;
  retired_.erase(gone.key);
  step(dispatch::Forget{gone.key});
}

// Events that effects cause wait until the effects of the one before have been carried out.
void JobKeeper::step(const dispatch::AcceptorEvent& event) {
  inbox_.push_back(event);
  if (std::exchange(busy_, true)) return;
  while (!inbox_.empty()) {
    const dispatch::AcceptorEvent next = std::move(inbox_.front());
    inbox_.pop_front();
    const auto* asked = std::get_if<dispatch::Asked>(&next);
    const auto* forget = std::get_if<dispatch::Forget>(&next);
    const std::string key = asked != nullptr ? asked->ask.key : forget != nullptr ? forget->key : std::string();
    const std::size_t before = bytes_of(key);
    dispatch::AcceptorEffects effects;
    kernel_.step(runtime_.boot_now(), next, effects);
    bytes_ = bytes_ + bytes_of(key) - before;
    for (dispatch::AcceptorEffect& effect : effects) carry_out(effect);
  }
  busy_ = false;
}

void JobKeeper::carry_out(dispatch::AcceptorEffect& effect) {
  if (auto* keep = std::get_if<dispatch::KeepJob>(&effect)) {
    const std::string& key = keep->record.key;
    if (is_retired(keep->record.value)) {
      retired_.emplace(key, runtime_.boot_now());
    } else {
      retired_.erase(key);
    }
    write({keep->number, {kRecords + key, encode_record(keep->record)}});
  } else if (const auto* drop = std::get_if<dispatch::DropJob>(&effect)) {
    write({drop->number, {kRecords + drop->key, std::nullopt}});
  } else if (auto* reply = std::get_if<dispatch::Reply>(&effect)) {
    lines_.send(reply->to, std::move(reply->answer));
  } else if (const auto* freed = std::get_if<dispatch::TellFreed>(&effect)) {
    lines_.send(freed->to, Freed{freed->key});
  }
}

// --- the disk --------------------------------------------------------------------------------------------------------

void JobKeeper::write(Change change) {
  pending_.push_back(std::move(change));
  if (std::exchange(flushing_, true)) return;
  scope_->spawn(flush(this));
}

task<void> JobKeeper::flush(JobKeeper* self) {
  while (!self->pending_.empty()) {
    std::vector<uint64_t> numbers;
    std::vector<cluster::KvChange> changes;
    while (!self->pending_.empty() && changes.size() < kMostAtOnce) {
      numbers.push_back(self->pending_.front().number);
      changes.push_back(std::move(self->pending_.front().change));
      self->pending_.pop_front();
    }
    if (changes.size() > 1) BW_PROBE("jobs: changes become durable together");
    const Status done = co_await self->kv_.put(std::move(changes));
    self->written(done);
    for (const uint64_t number : numbers) self->step(dispatch::JobKept{number, done.has_value()});
  }
  self->flushing_ = false;
}

void JobKeeper::written(const Status& done) {
  if (!readable_) return;
  if (!done && unable_.empty()) {
    unable_ = "what is promised to owners of jobs cannot be written: " + done.error().message;
    listener_.on_note(true, unable_ + ". Until that works this node promises and accepts nothing");
  } else if (done && !unable_.empty()) {
    unable_.clear();
    listener_.on_note(false, "what is promised to owners of jobs can be written again");
  }
}

}  // namespace bellwether::jobs
