// Joining through seeds, merging with islands, and comparing views over reliable streams. Two views that agree cost
// nothing beyond the four bytes of digest in each ping. Two that differ exchange the hashes of 256 buckets of members
// and then only the records of those buckets that differ.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/membership/updates.h"

namespace bellwether::membership {

class ViewSync {
 public:
  // All must outlive it.
  ViewSync(Self& self, Roster& roster, Gossip& gossip, Updates& updates)
      : self_(self), roster_(roster), gossip_(gossip), updates_(updates) {}

  void begin(const Start& start, Effects& out);
  // It asks no node any more.
  void end() { next_join_ = next_island_ = Instant::never(); }

  // --- when it is time
  void join(Effects& out);
  void probe_islands(Effects& out);
  // Forgets members that have been gone for long; their address may be an island.
  void reap(Effects& out);
  Instant wake() const { return std::min({next_join_, next_island_, next_reap_}); }

  // --- packets. `who`: their sender, if known
  void on_ping(const PacketHead& head, const Endpoint& from, std::optional<NodeIndex> who, Effects& out);
  void on_ack(const PacketHead& head, const Endpoint& from, std::optional<NodeIndex> who, Effects& out);

  // --- streams
  void on_stream_asked(const StreamAsked& asked, Effects& out);
  void on_stream_answered(const StreamAnswered& answered, Effects& out);

 private:
  struct Exchange {  // a request on a stream that is under way
    uint64_t id = 0;
    Endpoint peer;
    StreamKind kind = StreamKind::kJoin;
  };
  static constexpr std::size_t kMaxIslands = 64;

  bool is_island(const Endpoint& where) const {
    return std::find(islands_.begin(), islands_.end(), where) != islands_.end();
  }
  void ask(StreamKind kind, const Endpoint& to, std::string bytes, Effects& out);
  void joined(Effects& out);
  void compare_with(const Endpoint& peer, Effects& out);
  bool may_compare() const;
  bool may_meet() const;
  std::vector<uint32_t> differing(PacketReader& in) const;
  void write_records(std::string& bytes, const std::vector<uint32_t>* buckets) const;
  void read_records(PacketReader& in, Source source, Effects& out);

  Self& self_;
  Roster& roster_;
  Gossip& gossip_;
  Updates& updates_;
  const MemberTable& table_ = roster_.table();
  const Figures& figures_ = self_.config.figures;
  std::vector<Endpoint> islands_;  // seeds, and where forgotten members or strangers were
  uint32_t island_sequence_ = 0;
  std::vector<Exchange> exchanges_;
  uint64_t next_exchange_ = 1;
  int join_tries_ = 0;
  Instant last_sync_;
  Instant next_join_ = Instant::never();
  Instant next_island_ = Instant::never();
  Instant next_reap_ = Instant::never();
};

}  // namespace bellwether::membership
