#include "cli/vote_words.h"

#include "base/printable.h"
#include "base/units.h"
#include "base/wall_text.h"
#include "cli/table.h"

namespace bellwether::cli {
namespace {

using Json = nlohmann::ordered_json;
using wire::AdminAnswer;

Duration span(int64_t ms) { return Duration::millis(ms); }

WallTime time_of(const AdminAnswer::VoteMessage& message) {
  return WallTime{static_cast<int64_t>(message.at_ms()) * 1'000'000};
}

Json message_json(const AdminAnswer::VoteMessage& one) {
  Json out{{"at", format_wall(time_of(one))},
           {"direction", one.sent() ? "sent" : "heard"},
           {"peer", one.sent() && one.peer().empty() ? "all" : one.peer()},
           {"accepted", one.refused().empty()},
           {"refused", one.refused()}};
  // Whoever says it may say anything.
  Json said = Json::parse(one.json(), nullptr, false);
  out["message"] = said.is_discarded() ? Json(nullptr) : std::move(said);
  return out;
}

}  // namespace

std::string vote_status_text(const AdminAnswer::Votes& votes) {
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

std::string vote_messages_text(const AdminAnswer::Votes& votes) {
  if (votes.messages_size() == 0) return {};
  Table table({"AT", "", "PEER", "TYPE", "TERM", "SEQUENCE", "OUTCOME"});
  for (const auto& one : votes.messages()) {
    const bool read = !one.kind().empty();
    table.add({format_wall(time_of(one)), one.sent() ? "to" : "from",
               one.sent() && one.peer().empty() ? "all" : one.peer(), read ? one.kind() : "?",
               read ? std::to_string(one.term()) : "", read ? std::to_string(one.sequence()) : "",
               one.refused().empty() ? (one.sent() ? "sent" : "accepted") : "refused: " + one.refused()});
  }
  return table.text();
}

void put_vote_status(const AdminAnswer::Votes& votes, Json& out) {
  out["heartbeat"] = nullptr;
  if (votes.has_heartbeat()) {
    const auto& beat = votes.heartbeat();
    out["heartbeat"] = {{"direction", beat.sent() ? "sent" : "heard"},
                        {"age_ms", beat.age_ms()},
                        {"term", beat.term()},
                        {"round", beat.round()},
                        {"sequence", beat.sequence()}};
  }
  out["promises"] = Json::array();
  for (const auto& one : votes.promises()) {
    out["promises"].push_back({{"by", one.by()}, {"to", one.to()}, {"ends_in_ms", one.ends_in_ms()}});
  }
  out["followers"] = Json::array();
  for (const auto& one : votes.followers()) {
    out["followers"].push_back({{"name", one.name()}, {"answered", one.answered()}, {"missed", one.missed()}});
  }
  out["heartbeats_heard"] = votes.beats_heard();
  out["heartbeats_lost"] = votes.beats_lost();
  out["refused"] = Json::object();
  for (const auto& one : votes.refused()) out["refused"][one.reason()] = one.count();
  out["elections_last_hour"] = {{"all", votes.elections_last_hour()}, {"without_winner", votes.failed_last_hour()}};
  if (votes.messages_size() == 0) return;
  out["messages"] = Json::array();
  for (const auto& one : votes.messages()) out["messages"].push_back(message_json(one));
}

}  // namespace bellwether::cli
