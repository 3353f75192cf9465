#include "cluster/node/vote_answer.h"

#include <utility>

namespace bellwether::node {
namespace {

void drop_what_does_not_fit(std::vector<cluster::VoteMessageView>& messages) {
  auto first = messages.end();
  for (std::size_t room = kVoteMessageBytes; first != messages.begin();) {
    const std::size_t size = std::prev(first)->json.size() + 256;  // and the rest of it, at most
    if (size > room) break;
    room -= size;
    --first;
  }
  messages.erase(messages.begin(), first);
}

}  // namespace

VotesAnswer votes_answer(cluster::VoteView view, std::vector<cluster::VoteMessageView> messages, std::string self) {
  VotesAnswer out;
  const vote::ScoreWeights& weights = view.weights;
  out.weights = {weights.uptime,  weights.capability, weights.resources,
                 weights.network, weights.experience, weights.fitness};
  const auto put_refused = [&](std::string_view reason, uint64_t count) {
    if (count > 0) out.refused.push_back({std::string(reason), count});
  };
  const cluster::VoteCounts& counts = view.status.counts;
  for (std::size_t i = 0; i < counts.unheard.size(); ++i) {
    put_refused(to_string(static_cast<cluster::Unheard>(i)), counts.unheard[i]);
  }
  for (std::size_t i = 0; i < counts.refusals.size(); ++i) {
    put_refused(to_string(static_cast<vote::Refusal>(i)), counts.refusals[i]);
  }
  for (const auto& [name, count] : counts.unsigned_of) out.unsigned_of.push_back(name);
  drop_what_does_not_fit(messages);
  out.messages = std::move(messages);
  out.answered_by = std::move(self);
  out.view = std::move(view);
  return out;
}

}  // namespace bellwether::node
