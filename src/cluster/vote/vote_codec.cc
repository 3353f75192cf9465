#include "cluster/vote/vote_codec.h"

#include <algorithm>
#include <optional>
#include <set>

#include "election/vote/vote_timing.h"
#include "proto/vote.pb.h"

namespace bellwether::cluster {
namespace {

using namespace vote;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject

constexpr std::size_t kBytesMost = 8192;
// Beyond what elections can reach, and far from where the next term would be none.
constexpr uint64_t kTermMost = uint64_t{1} << 48;

// --- writing ---------------------------------------------------------------------------------------------------------

void put(const Claim& from, wire::VoteClaim& to) {
  // By name and whole: a part that is added to the claim and forgotten here does not compile.
  const auto& [capabilities, uptime, experience, resources, score, fitness, attestation] = from;
  const auto& [cpu_used, memory_used, disk_used, network_quality] = resources;
  for (const std::string& one : capabilities) to.add_capabilities(one);
  to.set_uptime_ns(uptime.ns());
  to.set_experience_ns(experience.ns());
  to.set_cpu_used(cpu_used);
  to.set_memory_used(memory_used);
  to.set_disk_used(disk_used);
  to.set_network_quality(network_quality);
  to.set_score(score);
  if (fitness) to.set_fitness(*fitness);
  to.set_attestation(attestation);
}

struct Writer {
  wire::VoteMessage& to;

  void operator()(const DiscoveryRequest&) const { to.mutable_discovery_request(); }
  void operator()(const DiscoveryResponse& from) const {
    auto& response = *to.mutable_discovery_response();
    response.set_admin(from.admin.value());
    response.set_admin_term(from.admin_term.value());
    response.set_start_seen(from.start_seen);
    response.set_mark_seen(from.mark_seen);
  }
  void operator()(const ElectionStarted& from) const {
    auto& started = *to.mutable_election_started();
    started.set_term(from.term.value());
    started.set_trigger(static_cast<uint32_t>(from.trigger));
    if (!from.permission) return;
    started.mutable_permission()->set_term(from.permission->term.value());
    started.mutable_permission()->set_heir(from.permission->heir.value());
  }
  void operator()(const Candidacy& from) const {
    to.mutable_candidacy()->set_term(from.term.value());
    if (from.stands) put(from.claim, *to.mutable_candidacy()->mutable_claim());
  }
  void operator()(const Vote& from) const {
    to.mutable_vote()->set_term(from.term.value());
    to.mutable_vote()->set_candidate(from.candidate.value());
  }
  void operator()(const Winner& from) const {
    to.mutable_winner()->set_term(from.term.value());
    to.mutable_winner()->set_round(from.round);
    for (const NodeId one : from.voters) to.mutable_winner()->add_voters(one.value());
  }
  void operator()(const Heartbeat& from) const {
    to.mutable_heartbeat()->set_term(from.term.value());
    to.mutable_heartbeat()->set_round(from.round);
  }
  void operator()(const HeartbeatAnswer& from) const {
    auto& answer = *to.mutable_heartbeat_answer();
    answer.set_term(from.term.value());
    answer.set_round(from.round);
    answer.set_admin_mark(from.admin_mark);
    answer.set_stands(from.stands);
    answer.set_score(from.score);
  }
};

// --- reading ---------------------------------------------------------------------------------------------------------

// Reads what is not plainly a number, and remembers what was wrong with it.
class Reader {
 public:
  const char* wrong = nullptr;

  Term term(uint64_t value) {
    if (value > kTermMost) wrong = "a term that nobody can have reached";
    return Term(value);
  }
  Duration span(int64_t ns, Duration most) {
    if (ns < 0 || ns > most.ns()) wrong = "a span out of its bounds";
    return Duration::nanos(wrong != nullptr ? 0 : ns);
  }
  Claim claim(const wire::VoteClaim& from) {
    Claim out;
    if (from.capabilities_size() > static_cast<int>(kMostCapabilities)) {
      wrong = "too many capabilities";
      return out;
    }
    for (const std::string& one : from.capabilities()) {
      if (one.empty() || one.size() > kMostCapabilityBytes) wrong = "a capability of no or too many bytes";
      out.capabilities.push_back(one);
    }
    out.uptime = span(from.uptime_ns(), kLongestExperience);
    out.experience = span(from.experience_ns(), kLongestExperience);
    out.resources = {from.cpu_used(), from.memory_used(), from.disk_used(), from.network_quality()};
    out.score = from.score();
    if (from.has_fitness()) out.fitness = from.fitness();
    if (from.attestation().size() > kMostAttestationBytes) wrong = "an attestation that is too large";
    out.attestation = from.attestation();
    return out;
  }
  ElectionStarted started(const wire::VoteMessage::ElectionStarted& from) {
    if (from.trigger() >= kTriggers) wrong = "a trigger that there is not";
    ElectionStarted out{term(from.term()), wrong == nullptr ? static_cast<Trigger>(from.trigger()) : Trigger{}, {}};
    if (from.has_permission()) {
      out.permission = Permission{term(from.permission().term()), NodeId(from.permission().heir())};
    }
    return out;
  }
  Candidacy candidacy(const wire::VoteMessage::Candidacy& from) {
    return {term(from.term()), from.has_claim(), from.has_claim() ? claim(from.claim()) : Claim{}};
  }
  Winner winner(const wire::VoteMessage::Winner& from) {
    Winner out{term(from.term()), from.round(), {}};
    if (from.voters_size() > static_cast<int>(kMostNodes)) {
      wrong = "too many voters";
      return out;
    }
    for (const uint64_t one : from.voters()) out.voters.emplace_back(one);
    return out;
  }
  std::optional<Body> body(const wire::VoteMessage& from);
};

std::optional<Body> Reader::body(const wire::VoteMessage& from) {
  using Case = wire::VoteMessage::BodyCase;
  switch (from.body_case()) {
    case Case::kDiscoveryRequest: return DiscoveryRequest{};
    case Case::kDiscoveryResponse: {
      const auto& told = from.discovery_response();
      return DiscoveryResponse{NodeId(told.admin()), term(told.admin_term()), told.start_seen(), told.mark_seen()};
    }
    case Case::kElectionStarted: return started(from.election_started());
    case Case::kCandidacy: return candidacy(from.candidacy());
    case Case::kVote: return Vote{term(from.vote().term()), NodeId(from.vote().candidate())};
    case Case::kWinner: return winner(from.winner());
    case Case::kHeartbeat: return Heartbeat{term(from.heartbeat().term()), from.heartbeat().round()};
    case Case::kHeartbeatAnswer: {
      const auto& told = from.heartbeat_answer();
      return HeartbeatAnswer{term(told.term()), told.round(), told.admin_mark(), told.stands(), told.score()};
    }
    case Case::BODY_NOT_SET: break;
  }
  return std::nullopt;
}

}  // namespace

std::string encode_vote_message(const vote::Message& message) {
  wire::VoteMessage out;
  out.set_from(message.from.value());
  out.set_start(message.start);
  out.set_mark(message.mark);
  out.set_sequence(message.sequence);
  out.set_term(message.term.value());
  std::visit(Writer{out}, message.body);
  return out.SerializeAsString();
}

Result<vote::Message> decode_vote_message(std::string_view bytes) {
  wire::VoteMessage in;
  if (bytes.size() > kBytesMost || !in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kProtocol, "a message of the vote that cannot be read");
  }
  Reader reader;
  auto body = reader.body(in);
  const Term term = reader.term(in.term());
  if (in.from() == 0) reader.wrong = "nobody as the sender";
  if (in.start() == 0 || in.mark() == 0 || in.sequence() == 0) reader.wrong = "no life as the sender's";
  if (reader.wrong != nullptr) return fail(Errc::kProtocol, std::string("a message of the vote with ") + reader.wrong);
  if (!body) return fail(Errc::kUnsupported, "a message of the vote of a kind that is not known");
  return vote::Message{NodeId(in.from()), in.start(), in.mark(), in.sequence(), term, std::move(*body)};
}

std::string encode_vote_record(const vote::Record& record) {
  const auto& [version, start, term, vote, promised, promised_mark, longest_promise, lost] = record;
  wire::VoteRecord out;
  out.set_version(version);
  out.set_start(start);
  out.set_term(term.value());
  out.set_vote(vote.value());
  out.set_promised(promised.value());
  out.set_promised_mark(promised_mark);
  out.set_longest_promise_ns(longest_promise.ns());
  out.set_lost(lost);
  return out.SerializeAsString();
}

Result<vote::Record> decode_vote_record(std::string_view bytes) {
  wire::VoteRecord in;
  Reader reader;
  if (bytes.size() > kBytesMost || !in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kInvalid, "a record of votes that cannot be read");
  }
  vote::Record out;
  out.version = in.version();
  out.start = in.start();
  out.term = reader.term(in.term());
  out.vote = NodeId(in.vote());
  out.promised = reader.term(in.promised());
  out.promised_mark = in.promised_mark();
  // With room for the drift of clocks.
  out.longest_promise = reader.span(in.longest_promise_ns(), kLongestHeartbeatTimeout * 2);
  out.lost = in.lost();
  if (in.version() == 0 || in.start() == 0) reader.wrong = "no version";
  if (reader.wrong != nullptr) return fail(Errc::kInvalid, std::string("a record of votes with ") + reader.wrong);
  return out;
}

}  // namespace bellwether::cluster
