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
constexpr Duration kMaxRead = Duration::seconds(5);  // for one question to another replica
constexpr int kTries = 5;

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
      disk_(runtime, kv, lines.self(), "blobs-kept-with", "blobs of jobs", settings.first_start, note),
      store_(settings.limits) {}

// --- its life --------------------------------------------------------------------------------------------------------

task<void> BlobReplica::run(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  disk_.begin(co_await load(), scope);
  co_await disk_.join(lines_);
  lines_.serve(this);
  started_ = true;
  scope.spawn(disk_.catch_up(lines_, callback_to<&BlobReplica::read_all>(*this), scope.cancellation()));
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
  BW_CO_RETURN_IF_ERROR(co_await disk_.open(values->empty(), lines_.set()));
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
    std::vector<std::string> others = lines_.set().all();
    std::erase(others, lines_.self());
    store_.others_are(others);
    std::vector<Decision> todo = store_.expire(runtime_.boot_now());
    for (const Decision& one : todo) {
      Question none = Drop{};
      auto changes = std::visit(Changes{none}, one);
      const Status durable = co_await disk_.write(std::move(changes));
      store_.written(one, durable.has_value());
    }
    for (const std::string& other : others) co_await tell_dropped(other, cancel);
  }
}

// A voter that was away when a job was dropped would else keep its blobs for ever.
task<void> BlobReplica::tell_dropped(std::string other, runtime::Cancellation* cancel) {
  const std::vector<std::string> jobs = store_.untold(other, kTellAtOnce);
  for (const std::string& job : jobs) {
    Question question = Drop{job, true};
    const auto answered = co_await lines_.ask(other, lines_.set().number, std::move(question), kMaxTell, cancel);
    if (!answered || answered->verdict != Verdict::kKept) co_return;
    store_.told(other, job);
  }
}

// --- reading from others ---------------------------------------------------------------------------------------------

task<Status> BlobReplica::read_all(std::string other, uint64_t number, runtime::Cancellation* cancel) {
  List after;
  while (true) {
    Question question = after;
    std::string peer = other;
    BW_CO_TRY(const auto page, co_await lines_.ask(std::move(peer), number, std::move(question), kMaxRead, cancel));
    if (page.verdict != Verdict::kKept) {
      co_return fail(Errc::kExhausted, "it answers '{}' {}", to_string(page.verdict), page.why);
    }
    for (const Listed& one : page.listed) {
      std::string from = other;
      BW_CO_RETURN_IF_ERROR(co_await read_one(std::move(from), number, one, cancel));
    }
    if (!page.more || page.listed.empty()) co_return Status();
    after = {page.listed.back().job, page.listed.back().kind};
  }
}

// The other's promises and drops are repeated here, and its newer values come in as from a reader.
task<Status> BlobReplica::read_one(std::string other, uint64_t number, Listed one, runtime::Cancellation* cancel) {
  const BlobKey key{one.job, one.kind.empty() ? "all" : one.kind};
  Question here = one.dropped ? Question(Drop{one.job, false}) : Question(Look{key, one.fence});
  BW_CO_TRY(const Answer known, co_await do_here(std::move(here)));
  const bool has_it = known.verdict == Verdict::kKept && !(known.head.version < one.version);
  if (one.kind.empty() || has_it || known.verdict == Verdict::kDropped) co_return Status();
  for (int i = 0; i < kTries; ++i) {
    std::string peer = other;
    BW_CO_TRY(const bool complete, co_await read_value(std::move(peer), number, key, cancel));
    if (complete) co_return Status();
  }
  co_return fail(Errc::kExhausted, "'{}' changes {} too often", other, to_string(key));
}

// False: a newer version has replaced it meanwhile.
task<Result<bool>> BlobReplica::read_value(std::string other, uint64_t number, BlobKey key,
                                           runtime::Cancellation* cancel) {
  std::string peer = other;
  Question look = Look{key, {}};
  BW_CO_TRY(const Answer there, co_await lines_.ask(std::move(peer), number, std::move(look), kMaxRead, cancel));
  if (there.verdict == Verdict::kDropped || there.verdict == Verdict::kNothing) co_return true;  // the job has ended
  if (there.verdict != Verdict::kKept) co_return fail(Errc::kExhausted, "it answers '{}'", to_string(there.verdict));
  Question offer = Offer{key, there.head, true};
  BW_CO_TRY(const Answer offered, co_await do_here(offer));
  for (const uint32_t index : offered.wanted) {
    std::string from = other;
    Question fetch = Fetch{key, there.head.version, index};
    BW_CO_TRY(Answer piece, co_await lines_.ask(std::move(from), number, std::move(fetch), kMaxRead, cancel));
    if (piece.verdict == Verdict::kNothing) co_return false;
    if (piece.verdict != Verdict::kKept || !fits(there.head, index, piece.bytes)) {
      co_return fail(Errc::kExhausted, "it answers '{}'", to_string(piece.verdict));
    }
    Question taken = Piece{key, there.head.version, index, true, std::move(piece.bytes)};
    BW_CO_TRY(const Answer kept, co_await do_here(std::move(taken)));
    if (kept.verdict == Verdict::kNothing) co_return false;
  }
  if (offered.verdict != Verdict::kWanted) co_return true;
  BW_CO_TRY(const Answer complete, co_await do_here(std::move(offer)));
  co_return complete.verdict != Verdict::kWanted;
}

task<Result<Answer>> BlobReplica::do_here(Question question) {
  Answer answered = co_await answer(std::move(question));
  if (answered.verdict == Verdict::kBusy || answered.verdict == Verdict::kUnable) {
    co_return fail(Errc::kExhausted, "this node cannot keep it: {}", answered.why);
  }
  co_return answered;
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
