#include "cli/vote_words.h"

#include "base/printable.h"
#include "base/units.h"
#include "base/wall_text.h"
#include "cli/table.h"
#include "proto/admin.pb.h"

namespace bellwether::cli {
namespace {

using wire::AdminAnswer;

Duration span(int64_t ms) { return Duration::millis(ms); }

std::string time_of(const AdminAnswer::VoteMessage& message) {
  return format_wall(WallTime{static_cast<int64_t>(message.at_ms()) * 1'000'000});
}

}  // namespace

std::string vote_status_text(const AdminAnswer& answer) {
  const AdminAnswer::Votes& votes = answer.votes();
  std::string text;
  const std::string who = printable(votes.answered_by());
  if (votes.has_heartbeat()) {
    const auto& beat = votes.heartbeat();
    text += who + (beat.sent() ? " has sent" : " has heard") + " the last heartbeat " +
            format_duration(span(static_cast<int64_t>(beat.age_ms()))) + " ago: number " +
            std::to_string(beat.round()) + " of term " + std::to_string(beat.term()) + ", sequence " +
            std::to_string(beat.sequence()) + "\n";
  }
  for (const auto& one : votes.promises()) {
    const bool over = one.ends_in_ms() <= 0;
    text += printable(one.by()) + " has promised " + printable(one.to()) + " to answer nobody else" +
            (over ? ", until " + format_duration(span(-one.ends_in_ms())) + " ago\n"
                  : " for " + format_duration(span(one.ends_in_ms())) + " more\n");
  }
  return text;
}

std::string vote_messages_text(const AdminAnswer& answer) {
  const AdminAnswer::Votes& votes = answer.votes();
  if (votes.messages_size() == 0) return {};
  Table table({"AT", "", "PEER", "TYPE", "TERM", "SEQUENCE", "OUTCOME"});
  for (const auto& one : votes.messages()) {
    const bool read = !one.kind().empty();
    table.add({time_of(one), one.sent() ? "to" : "from", one.sent() && one.peer().empty() ? "all" : one.peer(),
               read ? one.kind() : "?", read ? std::to_string(one.term()) : "",
               read ? std::to_string(one.sequence()) : "",
               one.refused().empty() ? (one.sent() ? "sent" : "accepted") : "refused: " + one.refused()});
  }
  return table.text();
}

}  // namespace bellwether::cli
