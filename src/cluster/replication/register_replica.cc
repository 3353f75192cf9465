#include "cluster/replication/register_replica.h"

#include <utility>

#include "cluster/register/small.h"
#include "core/base/periodic.h"

namespace bellwether::jobs {
namespace {

using runtime::task;

const std::string kRecords = "jobs/";
constexpr Duration kMaxPage = Duration::seconds(5);

// Also a simulated process that is killed stops to serve: handles that end after it give their jobs back.
class Serving {
 public:
  Serving(registers::Lines& lines, RegisterReplica& replica) : lines_(lines) { lines_.serve(&replica); }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;
  ~Serving() { lines_.serve(static_cast<RegisterReplica*>(nullptr)); }

 private:
  registers::Lines& lines_;
};

}  // namespace

RegisterReplica::RegisterReplica(runtime::Runtime& runtime, cluster::Kv& kv, registers::Lines& lines,
                                 ReplicaSettings settings, registers::Note note)
    : runtime_(runtime),
      kv_(kv),
      lines_(lines),
      settings_(settings),
      disk_(runtime, kv, lines.self(), "jobs-kept-with", "job registers", settings.first_start, note),
      kernel_({.drift = settings.drift, .most_jobs = settings.most_jobs}) {}

// --- its life --------------------------------------------------------------------------------------------------------

task<void> RegisterReplica::run(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  auto start = co_await load();
  disk_.begin(start ? Status() : tl::unexpected(start.error()), scope);
  scope_ = &scope;
  loop_.begin(start ? std::move(*start) : registers::AcceptorStart{.readable = false, .records = {}});
  co_await disk_.join(lines_);
  {
    const Serving serving(lines_, *this);
    scope.spawn(disk_.catch_up(lines_, callback_to<&RegisterReplica::read_all>(*this), scope.cancellation()));
    co_await sweep(scope.cancellation());
  }
  scope.cancel();
  co_await scope.join();
  loop_.end();
  scope_ = nullptr;
}

// All earlier promises and accepted writes of this replica.
task<Result<registers::AcceptorStart>> RegisterReplica::load() {
  const auto stored = co_await kv_.list(kRecords);
  if (!stored) co_return fail(Errc::kIo, "the job registers cannot be read: " + stored.error().message);
  BW_CO_RETURN_IF_ERROR(co_await disk_.open(stored->empty(), lines_.set()));
  registers::AcceptorStart start;
  const Instant now = runtime_.boot_now();
  for (const auto& [name, bytes] : *stored) {
    auto record = message::decode<registers::RegisterRecord>(bytes);
    if (!record || kRecords + record->key != name) {
      co_return fail(Errc::kInvalid, "the promise to the owner of a job cannot be read ({})",
                     record ? "it belongs to another job" : record.error().message);
    }
    if (registers::is_retired(record->value)) retired_.emplace(record->key, now);
    start.records.push_back(std::move(*record));
  }
  co_return start;
}

// Registers of retired jobs go away after a while, each by the clock of its replica. A replica that has missed the end
// of a job still has it: a node that takes it from there finds that the job was forgotten, and retires it again.
task<void> RegisterReplica::sweep(runtime::Cancellation* cancel) {
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
      retired_.erase(key);
      loop_.tell(registers::Forget{key});
    }
  }
}

// --- reading from others ---------------------------------------------------------------------------------------------

bool RegisterReplica::has_read() const {
  return disk_.readable() && disk_.read() >= registers::first_step_of(lines_.set());
}

task<Status> RegisterReplica::read_all(std::string other, uint64_t number, runtime::Cancellation* cancel) {
  registers::ReadRecords wanted;
  while (true) {
    std::string peer = other;
    BW_CO_TRY(auto response, co_await lines_.ask(std::move(peer), wanted, kMaxPage, cancel));
    auto* records = std::get_if<registers::Records>(&response.body);
    if (records == nullptr || response.set != number) {
      co_return fail(Errc::kExhausted, "it does not know set {} of the replicas", number);
    }
    const bool more = records->more && !records->records.empty();
    if (more) wanted.after = records->records.back().key;
    runtime::Event kept;
    page_kept_ = &kept;
    loop_.tell(registers::Learned{++page_, std::move(records->records)});
    runtime::CancelCallback on_cancel(
        cancel, [](void* event) { static_cast<runtime::Event*>(event)->set(); }, &kept);
    co_await kept.wait();
    page_kept_ = nullptr;
    if (!page_durable_ || cancel->cancelled()) co_return fail(Errc::kIo, "what it keeps cannot be written here");
    if (!more) co_return Status();
  }
}

void RegisterReplica::carry_out(const registers::PageKept& kept) {
  if (kept.page != page_ || page_kept_ == nullptr) return;
  page_durable_ = kept.ok;
  page_kept_->set();
}

// --- requests --------------------------------------------------------------------------------------------------------

void RegisterReplica::on_ask(registers::MemberId from, const registers::Ask& ask) {
  if (disk_.crowded()) return;
  if (!disk_.readable()) return lines_.send(from, registers::Unable{ask.key, unable()});
  std::string why = too_much(ask);
  if (!why.empty()) return lines_.send(from, registers::Unable{ask.key, std::move(why)});
  if (!unable().empty()) lines_.send(from, registers::Unable{ask.key, unable()});
  loop_.tell(registers::Asked{from, ask});
}

std::string RegisterReplica::too_much(const registers::Ask& ask) const {
  if (kernel_.jobs() >= settings_.most_jobs && kernel_.find(ask.key) == nullptr) {
    return fmt::format("it stores {} jobs, the limit", settings_.most_jobs);
  }
  const auto* accept = std::get_if<registers::Accept>(&ask.body);
  if (accept == nullptr) return {};
  const registers::RegisterRecord* const known = kernel_.find(ask.key);
  const std::size_t before = known == nullptr ? 0 : known->value.size();
  const std::size_t after = kernel_.bytes() - before + accept->value.size();
  if (accept->value.size() <= before || after <= settings_.most_bytes) return {};
  return fmt::format("the states of its jobs have {} bytes; the limit is {}", kernel_.bytes(), settings_.most_bytes);
}

void RegisterReplica::carry_out(const registers::KeepJob& keep) {
  const std::string& key = keep.record.key;
  if (registers::is_retired(keep.record.value)) {
    retired_.emplace(key, runtime_.boot_now());
  } else {
    retired_.erase(key);
  }
  scope_->spawn(this->keep(this, keep.number, key, message::encode(keep.record)));
}

void RegisterReplica::carry_out(const registers::DropJob& drop) {
  scope_->spawn(keep(this, drop.number, drop.key, std::nullopt));
}

task<void> RegisterReplica::keep(RegisterReplica* self, uint64_t number, std::string key,
                                 std::optional<std::string> record) {
  std::vector<cluster::KvChange> changes;
  changes.push_back({kRecords + key, std::move(record)});
  const Status done = co_await self->disk_.write(std::move(changes));
  self->loop_.tell(registers::JobKept{number, done.has_value()});
}

}  // namespace bellwether::jobs
