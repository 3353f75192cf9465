#include "cluster/membership/view_sync.h"

#include <utility>

namespace bellwether::membership {
namespace {

constexpr std::size_t kMaxExchanges = 16;

}  // namespace

void ViewSync::begin(const Start& start, Effects& out) {
  last_sync_ = self_.now;
  for (const Endpoint& seed : start.seeds) {
    if (seed != self_.config.profile.endpoint && islands_.size() < kMaxIslands) islands_.push_back(seed);
  }
  next_island_ = self_.now + self_.jittered(figures_.island_interval);
  next_reap_ = self_.now + self_.jittered(figures_.tombstone_ttl / 8);
  self_.state = MembershipState::kJoining;
  if (start.founds || islands_.empty() || !start.remembered.empty()) return joined(out);
  next_join_ = self_.now;
  join(out);
}

// --- joining ---------------------------------------------------------------------------------------------------------

void ViewSync::join(Effects& out) {
  if (self_.now < next_join_) return;
  // Others have found us meanwhile, although no seed answered.
  if (table_.present() > 1) return joined(out);
  std::string bytes;
  PacketWriter writer(bytes);
  write_stream_head(writer, StreamKind::kJoin, self_.id);
  Update word = roster_.record_of(roster_.me());
  word.kind = UpdateKind::kJoin;
  writer.update(word);
  // Three at a time, at random: one that is down costs nothing.
  for (std::size_t i = 0; i < std::min<std::size_t>(3, islands_.size()); ++i) {
    std::swap(islands_[i], islands_[i + self_.prng.below(islands_.size() - i)]);
    ask(StreamKind::kJoin, islands_[i], bytes, out);
  }
  const Duration wait = Duration::millis(500) * (int64_t{1} << std::min(join_tries_++, 5));
  next_join_ = self_.now + self_.jittered(std::min(wait, Duration::seconds(15)));
}

void ViewSync::joined(Effects& out) {
  if (self_.state != MembershipState::kJoining) return;
  self_.state = MembershipState::kMember;
  next_join_ = Instant::never();
  // Others compare with us as soon as they see another digest.
  last_sync_ = self_.now - figures_.sync_interval;
  out.emplace_back(JoinedGroup{table_.present()});
  gossip_.announce(UpdateKind::kJoin, out);
}

// --- islands ---------------------------------------------------------------------------------------------------------

void ViewSync::probe_islands(Effects& out) {
  if (self_.now < next_island_) return;
  next_island_ = self_.now + self_.jittered(figures_.island_interval);
  if (islands_.empty()) return;
  const Endpoint& island = islands_[self_.prng.below(islands_.size())];
  island_sequence_ = gossip_.ping(NodeId(), island, std::nullopt, out);
}

void ViewSync::reap(Effects& out) {
  if (self_.now < next_reap_) return;
  next_reap_ = self_.now + self_.jittered(figures_.tombstone_ttl / 8);
  for (const NodeIndex node : roster_.take_old_tombstones()) {
    const Endpoint& where = table_.endpoint(node);
    if (!is_island(where)) {
      if (islands_.size() >= kMaxIslands) {
        islands_.erase(islands_.begin() + static_cast<std::ptrdiff_t>(self_.prng.below(kMaxIslands)));
      }
      islands_.push_back(where);
    }
    gossip_.tell(MemberChange::kForgotten, node, {.incarnation = table_.at(node).incarnation}, {.cause = Cause::kAge},
                 out);
    roster_.forget(node);
  }
}

void ViewSync::on_ack(const PacketHead& head, const Endpoint& from, std::optional<NodeIndex> who, Effects& out) {
  if (head.sequence != island_sequence_ || island_sequence_ == 0) return;
  island_sequence_ = 0;
  if (!who || !is_present(table_.at(*who).state)) compare_with(from, out);
}

void ViewSync::on_ping(const PacketHead& head, const Endpoint& from, std::optional<NodeIndex> who, Effects& out) {
  // All seeds may have ended while a group still knows this name: a node that asks belongs to it.
  if (self_.state == MembershipState::kJoining && !who && islands_.size() < kMaxIslands && !is_island(from)) {
    islands_.push_back(from);
    next_join_ = self_.now;
  }
  if (head.digest == table_.digest() || !(who ? may_compare() : may_meet())) return;
  // A proxy's or a stranger's question comes from where it may be asked back.
  compare_with(who ? table_.endpoint(*who) : from, out);
}

// --- comparing views -------------------------------------------------------------------------------------------------

bool ViewSync::may_compare() const {
  if (self_.state != MembershipState::kMember || self_.now - last_sync_ < figures_.sync_interval) return false;
  // A small group waits less than the news of a large one takes.
  const Duration settle = std::min(figures_.sync_settle, spread(figures_, table_.present()) * 2);
  return self_.now - roster_.last_change() >= settle || self_.now - last_sync_ >= figures_.sync_interval * 3;
}

// A stranger knows a group that we do not: one that has lived on while all members that knew it were away, or the other
// way round. Gossip does not bring the two together, and its question does not wait until our own view is quiet.
bool ViewSync::may_meet() const {
  return self_.state == MembershipState::kMember && self_.now - last_sync_ >= figures_.sync_interval / 4;
}

void ViewSync::compare_with(const Endpoint& peer, Effects& out) {
  last_sync_ = self_.now;
  std::string bytes;
  PacketWriter writer(bytes);
  write_stream_head(writer, StreamKind::kBuckets, self_.id);
  writer.u16(kBuckets);
  for (uint32_t bucket = 0; bucket < kBuckets; ++bucket) writer.u32(table_.bucket_digest(bucket));
  ask(StreamKind::kBuckets, peer, std::move(bytes), out);
}

std::vector<uint32_t> ViewSync::differing(PacketReader& in) const {
  std::vector<uint32_t> buckets;
  const uint32_t count = in.u16();
  for (uint32_t bucket = 0; bucket < count && in.ok(); ++bucket) {
    const uint32_t hash = in.u32();
    if (in.ok() && bucket < kBuckets && hash != table_.bucket_digest(bucket)) buckets.push_back(bucket);
  }
  return buckets;
}

// All that we know of the members in these buckets, or of all, up to the limit; the rest is for the next comparison.
void ViewSync::write_records(std::string& bytes, const std::vector<uint32_t>* buckets) const {
  PacketWriter writer(bytes);
  for (NodeIndex node = 0; node < table_.slots() && bytes.size() < kMaxStream - kMaxDatagram; ++node) {
    if (!table_.has(node)) continue;
    if (buckets && !std::binary_search(buckets->begin(), buckets->end(), MemberTable::bucket_of(table_.id(node)))) {
      continue;
    }
    const Member& member = table_.at(node);
    if (is_present(member.state)) writer.update(roster_.record_of(node));
    if (member.state == MemberState::kAlive) continue;
    Update word{.kind = UpdateKind::kSuspect, .node = table_.id(node), .incarnation = member.incarnation};
    if (member.state == MemberState::kDead) word.kind = UpdateKind::kDead;
    if (member.state == MemberState::kLeft) word.kind = UpdateKind::kLeave;
    if (member.state != MemberState::kLeft) word.accusers.add(mark_of(self_.id));
    writer.update(word);
  }
}

void ViewSync::read_records(PacketReader& in, Source source, Effects& out) {
  source.cause = Cause::kSync;
  updates_.read(in, source, out);
}

// --- streams ---------------------------------------------------------------------------------------------------------

void ViewSync::ask(StreamKind kind, const Endpoint& to, std::string bytes, Effects& out) {
  if (exchanges_.size() >= kMaxExchanges) exchanges_.erase(exchanges_.begin());
  exchanges_.push_back({next_exchange_++, to, kind});
  out.emplace_back(SendStream{exchanges_.back().id, to, std::move(bytes)});
}

void ViewSync::on_stream_asked(const StreamAsked& asked, Effects& out) {
  PacketReader in(asked.bytes);
  StreamKind kind{};
  NodeId from;
  std::string answer;
  PacketWriter writer(answer);
  if (!read_stream_head(in, kind, from) || (from == self_.id && kind != StreamKind::kJoin)) {
    ++self_.malformed;
    out.emplace_back(ReplyStream{asked.request, {}});
    return;
  }
  if (from != self_.id) updates_.heard();
  if (kind == StreamKind::kJoin) {
    // A process that asks under our own name is answered too: from our record it learns that the name is taken.
    if (from != self_.id) read_records(in, {.node = from}, out);
    write_stream_head(writer, StreamKind::kAll, self_.id);
    write_records(answer, nullptr);
  } else if (kind == StreamKind::kBuckets) {
    last_sync_ = self_.now;
    const std::vector<uint32_t> buckets = differing(in);
    write_stream_head(writer, StreamKind::kDiffering, self_.id);
    writer.u16(static_cast<uint16_t>(buckets.size()));
    for (const uint32_t bucket : buckets) writer.u16(static_cast<uint16_t>(bucket));
    if (!buckets.empty()) write_records(answer, &buckets);
  } else if (kind == StreamKind::kRecords) {
    read_records(in, {.node = from}, out);
    write_stream_head(writer, StreamKind::kRecords, self_.id);
  }
  out.emplace_back(ReplyStream{asked.request, std::move(answer)});
}

void ViewSync::on_stream_answered(const StreamAnswered& answered, Effects& out) {
  const auto found = std::find_if(exchanges_.begin(), exchanges_.end(),
                                  [&](const Exchange& exchange) { return exchange.id == answered.exchange; });
  if (found == exchanges_.end()) return;
  const Exchange exchange = *found;
  exchanges_.erase(found);
  if (!answered.bytes) return;
  PacketReader in(*answered.bytes);
  StreamKind kind{};
  NodeId from;
  if (!read_stream_head(in, kind, from)) {
    ++self_.malformed;
    return;
  }
  if (from != self_.id) updates_.heard();
  if (exchange.kind == StreamKind::kJoin && kind == StreamKind::kAll) {
    read_records(in, {.node = from, .pass_on = self_.state != MembershipState::kJoining}, out);
    return joined(out);
  }
  if (exchange.kind != StreamKind::kBuckets || kind != StreamKind::kDiffering) return;
  std::vector<uint32_t> buckets;
  for (uint32_t count = in.u16(); count > 0 && in.ok(); --count) buckets.push_back(in.u16());
  std::sort(buckets.begin(), buckets.end());
  if (buckets.empty()) return;
  // Ours first: their records here contain the changes that theirs bring.
  std::string ours;
  PacketWriter writer(ours);
  write_stream_head(writer, StreamKind::kRecords, self_.id);
  write_records(ours, &buckets);
  read_records(in, {.node = from}, out);
  ask(StreamKind::kRecords, exchange.peer, std::move(ours), out);
}

}  // namespace bellwether::membership
