#include "cli/vote_words.h"

#include "base/printable.h"
#include "base/wall_text.h"
#include "cli/cluster_words.h"
#include "cli/table.h"

namespace bellwether::cli {
std::string vote_status_text(const node::VotesAnswer& votes) {
  std::string text;
  const std::string who = printable(votes.answered_by);
  if (const auto& beat = votes.view.status.heartbeat) {
    text += who + (beat->sent ? " has sent" : " has heard") + " the last heartbeat " + ms_text(beat->age) +
            " ago: number " + std::to_string(beat->round) + " of term " + std::to_string(beat->term) + ", sequence " +
            std::to_string(beat->sequence) + "\n";
  }
  for (const auto& one : votes.view.status.promises) {
    const bool over = whole_ms(one.ends_in) <= 0;
    text += printable(one.by) + " has promised " + printable(one.to) + " to answer nobody else" +
            (over ? ", until " + ms_text(-one.ends_in) + " ago\n" : " for " + ms_text(one.ends_in) + " more\n");
  }
  return text;
}

std::string vote_messages_text(const node::VotesAnswer& votes) {
  if (votes.messages.empty()) return {};
  Table table({"AT", "", "PEER", "TYPE", "TERM", "SEQUENCE", "OUTCOME"});
  for (const auto& one : votes.messages) {
    const bool read = !one.kind.empty();
    table.add({format_wall(one.at), one.sent ? "to" : "from", one.sent && one.peer.empty() ? "all" : one.peer,
               read ? one.kind : "?", read ? std::to_string(one.term) : "", read ? std::to_string(one.sequence) : "",
               one.refused.empty() ? (one.sent ? "sent" : "accepted") : "refused: " + one.refused});
  }
  return table.text();
}

}  // namespace bellwether::cli
