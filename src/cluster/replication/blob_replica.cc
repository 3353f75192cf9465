#include "cluster/replication/blob_replica.h"

#include <utility>

#include "cluster/register/codec.h"
#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/periodic.h"

namespace bellwether::blobs {
namespace {

using cluster::KvChange;
using runtime::task;

const std::string kValues = "blobs/value/";
const std::string kPieces = "blobs/piece/";
const std::string kTorn = "blobs/torn/";
const std::string kFences = "blobs/fence/";
const std::string kDroppedJobs = "blobs/dropped/";
constexpr Duration kMaxTell = Duration::seconds(2);
constexpr std::size_t kTellAtOnce = 64;

// A kind has no '/', so no two keys have one name.
std::string value_name(const BlobKey& key) { return fmt::format("{}{}/{}", kValues, key.kind, key.job); }
std::string piece_name(uint64_t slot, std::size_t index) { return fmt::format("{}{}/{}", kPieces, hex(slot), index); }

void remove_slot(const Slot& slot, std::vector<KvChange>& changes) {
  for (std::size_t i = 0; i < slot.pieces; ++i) changes.push_back({piece_name(slot.id, i), std::nullopt});
  if (slot.id != 0) changes.push_back({kTorn + hex(slot.id), std::nullopt});
}

// The changes of a decision on the disk; takes the bytes of the question.
struct Changes {
  Question& question;

  std::vector<KvChange> operator()(const Answer&) const { return {}; }
  std::vector<KvChange> operator()(const ReadPiece&) const { return {}; }
  std::vector<KvChange> operator()(const KeepFence& keep) const {
    return {{kFences + keep.job, std::to_string(keep.fence.value())}};
  }
  std::vector<KvChange> operator()(const KeepPiece& keep) const {
    std::vector<KvChange> changes;
    if (keep.first) changes.push_back({kTorn + hex(keep.slot.id), std::to_string(keep.slot.pieces)});
    changes.push_back({piece_name(keep.slot.id, keep.index), std::move(std::get<Piece>(question).bytes)});
    return changes;
  }
  std::vector<KvChange> operator()(const Commit& commit) const {
    std::vector<KvChange> changes;
    changes.push_back({value_name(commit.record.key), message::encode(commit.record)});
    changes.push_back({kTorn + hex(commit.slot.id), std::nullopt});
    remove_slot(commit.old, changes);
    return changes;
  }
  std::vector<KvChange> operator()(const KeepDrop& drop) const {
    std::vector<KvChange> changes;
    changes.push_back({kDroppedJobs + drop.job, std::string()});
    changes.push_back({kFences + drop.job, std::nullopt});
    for (const BlobKey& key : drop.keys) changes.push_back({value_name(key), std::nullopt});
    for (const Slot& slot : drop.slots) remove_slot(slot, changes);
    return changes;
  }
  std::vector<KvChange> operator()(const Discard& discard) const {
    std::vector<KvChange> changes;
    for (const Slot& slot : discard.slots) remove_slot(slot, changes);
    for (const std::string& job : discard.jobs) changes.push_back({kDroppedJobs + job, std::nullopt});
    return changes;
  }
};

}  // namespace

BlobReplica::BlobReplica(runtime::Runtime& runtime, cluster::Kv& kv, registers::Lines& lines,
                         BlobReplicaSettings settings, registers::Note note)
    : runtime_(runtime),
      kv_(kv),
      lines_(lines),
      settings_(settings),
      disk_(runtime, kv, lines, "blobs-kept-with", "blobs of jobs", settings.first_start, note),
      store_([&] {
        BlobStoreLimits limits = settings.limits;
        limits.others = lines.replicas().size() - 1;
        return limits;
      }()) {}

// --- its life --------------------------------------------------------------------------------------------------------

task<void> BlobReplica::run(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  disk_.begin(co_await load(), scope);
  lines_.serve(this);
  started_ = true;
  co_await sweep(cancel);
  lines_.serve(static_cast<BlobReplica*>(nullptr));
  while (answering_ > 0) {
    idle_.reset();
    co_await idle_.wait();
  }
  co_await scope.join();
}

task<Status> BlobReplica::load() {
  const auto values = co_await kv_.list(kValues);
  const auto torn = co_await kv_.list(kTorn);
  const auto fences = co_await kv_.list(kFences);
  const auto dropped = co_await kv_.list(kDroppedJobs);
  for (const auto* list : {&values, &torn, &fences, &dropped}) {
    if (!*list) co_return fail(Errc::kIo, "the blobs of jobs cannot be read: " + list->error().message);
  }
  BW_CO_RETURN_IF_ERROR(co_await disk_.open(values->empty()));
  BlobStoreStart start;
  for (const auto& [name, bytes] : *values) {
    auto record = message::decode<BlobRecord>(bytes);
    if (!record || value_name(record->key) != name) {
      co_return fail(Errc::kInvalid, "the record of a blob cannot be read ({})",
                     record ? "it belongs to another blob" : record.error().message);
    }
    start.records.push_back(std::move(*record));
  }
  for (const auto& [name, bytes] : *torn) {
    const uint64_t slot = std::strtoull(name.c_str() + kTorn.size(), nullptr, 16);
    start.torn.emplace_back(slot, parse_u64(bytes).value_or(kMaxPieces));
  }
  for (const auto& [name, bytes] : *fences) {
    const auto fence = parse_u64(bytes);
    if (!fence) co_return fail(Errc::kInvalid, "the promise to the owner of a job cannot be read");
    start.fences.emplace_back(name.substr(kFences.size()), JobFence(*fence));
  }
  for (const auto& [name, bytes] : *dropped) start.dropped.push_back(name.substr(kDroppedJobs.size()));
  store_.start(runtime_.boot_now(), start);
  co_return Status();
}

task<void> BlobReplica::sweep(runtime::Cancellation* cancel) {
  Periodic period(Period::about(settings_.sweep_every), Prng(runtime_.prng().next()));
  while (true) {
    const bool due = co_await runtime_.sleep(period.next(), cancel);
    if (!due) co_return;
    if (!disk_.readable()) continue;
    std::vector<Decision> todo = store_.expire(runtime_.boot_now());
    for (const Decision& one : todo) {
      Question none = Drop{};
      auto changes = std::visit(Changes{none}, one);
      const Status durable = co_await disk_.write(std::move(changes));
      store_.written(one, durable.has_value());
    }
    for (const std::string& other : lines_.replicas()) {
      if (other != lines_.self()) co_await tell_dropped(other, cancel);
    }
  }
}

// A voter that was away when a job was dropped would else keep its blobs for ever.
task<void> BlobReplica::tell_dropped(std::string other, runtime::Cancellation* cancel) {
  const std::vector<std::string> jobs = store_.untold(other, kTellAtOnce);
  for (const std::string& job : jobs) {
    Question question = Drop{job, true};
    const auto answered = co_await lines_.ask(other, std::move(question), kMaxTell, cancel);
    if (!answered || answered->verdict != Verdict::kKept) co_return;
    store_.told(other, job);
  }
}

// --- requests --------------------------------------------------------------------------------------------------------

task<Answer> BlobReplica::answer(Question question) {
  if (!disk_.readable()) co_return blobs::unable(unable());
  if (disk_.crowded()) co_return blobs::answer(Verdict::kBusy);
  ++answering_;
  Answer answered = co_await decide(std::move(question));
  if (--answering_ == 0) idle_.set();
  co_return answered;
}

task<Answer> BlobReplica::decide(Question question) {
  while (true) {
    Decision next = store_.decide(runtime_.boot_now(), question);
    if (auto* answered = std::get_if<Answer>(&next)) co_return std::move(*answered);
    if (const auto* piece = std::get_if<ReadPiece>(&next)) {
      Answer read_piece = co_await read(*piece);
      co_return read_piece;
    }
    auto changes = std::visit(Changes{question}, next);
    const Status durable = co_await disk_.write(std::move(changes));
    store_.written(next, durable.has_value());
    if (!durable) co_return blobs::unable(durable.error().message);
  }
}

task<Answer> BlobReplica::read(ReadPiece piece) {
  auto bytes = co_await kv_.get(piece_name(piece.slot, piece.index));
  if (!bytes) co_return blobs::unable(bytes.error().message);
  // A newer version has been completed meanwhile.
  if (!*bytes) co_return blobs::answer(Verdict::kNothing);
  Answer answered = blobs::answer(Verdict::kKept);
  answered.bytes = std::move(**bytes);
  co_return answered;
}

}  // namespace bellwether::blobs
