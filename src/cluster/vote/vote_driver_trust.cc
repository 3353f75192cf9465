// What a node of a scored vote says of itself, whom it believes, what it remembers of others, and whom it hears.
#include <cmath>

#include "cluster/vote/vote_driver.h"

namespace bellwether::cluster {

using runtime::task;

namespace {

constexpr const char* kReputation = "vote/reputation";  // the text of a book

}  // namespace

vote::Claim VoteDriver::claim() {
  vote::Claim claim;
  if (stands_) claim.capabilities = vetting_.claimable(settings_.capabilities, runtime_.wall_now());
  claim.attestation = vetting_.own_attestation();
  claim.uptime = runtime_.boot_now() - started_;
  claim.experience = experience_ + claim.uptime;
  claim.resources = resources_.resources();
  if (settings_.fitness != nullptr) claim.fitness = settings_.fitness->context_fitness();
  double sum = 0;
  std::size_t known = 0;
  for (const auto& [node, quality] : network_) {
    if (const auto value = quality.value()) sum += *value, ++known;
  }
  claim.resources.network_quality = known == 0 ? 1 : sum / static_cast<double>(known);
  return claim;
}

task<void> VoteDriver::load_book() {
  const auto stored = co_await kv_.get(kReputation);
  if (!stored || !stored->has_value()) co_return;
  auto book = vote::ReputationBook::read(**stored);
  if (!book) listener_.on_note(true, book.error().message + ": it begins anew");
  if (book) book_ = std::move(*book);
}

task<void> VoteDriver::keep_book(VoteDriver* self) {
  std::vector<KvChange> changes;
  changes.push_back({kReputation, self->book_.text()});
  // Lost, it is one deed less.
  static_cast<void>(co_await self->kv_.put(std::move(changes)));
}

void VoteDriver::remember(const vote::Conduct& conduct) {
  if (conduct.deed != vote::Deed::kLostHeartbeats) return write_down(conduct.node, conduct.deed);
  losses_[conduct.node] = runtime_.boot_now();
}

// Who hears only a few is itself the one that is cut off, which shows later than that an admin is not heard.
void VoteDriver::judge_losses() {
  const Instant now = runtime_.boot_now();
  if (hearing_->in_minority(now)) losses_.clear();
  const auto due = [&](const auto& loss) { return now - loss.second > hearing_->limit(); };
  for (const auto& loss : losses_) {
    if (due(loss)) write_down(loss.first, vote::Deed::kLostHeartbeats);
  }
  std::erase_if(losses_, due);
}

void VoteDriver::write_down(vote::NodeId node, vote::Deed deed) {
  const double before = book_.standing(node);
  book_.add(node, deed);
  const double standing = book_.standing(node);
  if (standing != before) {
    const long percent = std::lround(standing * 100);
    listener_.on_note(false, "the standing of '" + name_of(node) + "' is " + std::to_string(percent) + " % now");
  }
  loop_.tell(vote::PeerStanding{node, standing});
  scope_->spawn(keep_book(this));
}

HearingWatch VoteDriver::begin_to_hear() const {
  std::vector<std::string> others = settings_.members;
  std::erase(others, settings_.self);
  // Each is asked in its turn; who misses that twice is not heard.
  const Duration round = settings_.timing.heartbeat() / 2 * static_cast<int64_t>(others.size());
  return {others, settings_.timing.heartbeat_timeout + round * 2, started_};
}

void VoteDriver::look_who_is_heard() {
  for (const HearingWatch::Change& one : hearing_->look(runtime_.boot_now())) listener_.on_note(one.fewer, one.text);
  judge_losses();
}

void VoteDriver::vet(const std::string& sender, const vote::Message& message) {
  hearing_->heard(sender, runtime_.boot_now());
  const auto* candidacy = std::get_if<vote::Candidacy>(&message.body);
  if (candidacy == nullptr || !candidacy->stands) return;
  const bool is_there = addresses_.find(sender).has_value();
  loop_.tell(vetting_.vet(message.from, sender, candidacy->claim, is_there, runtime_.wall_now()));
}

}  // namespace bellwether::cluster
