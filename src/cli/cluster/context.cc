// bellwether context: requests for contexts, and their leader.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>

#include "cli/cluster/cluster_format.h"
#include "cli/cluster_choice.h"
#include "cli/verb.h"
#include "cluster/net/message_classes.h"
#include "core/base/encoding.h"

namespace bellwether::cli {
namespace {

using context_lead::RequestId;

constexpr int kExitRequestFailed = 2;
constexpr int kExitUnfinished = 3;
constexpr Duration kAskAgain = Duration::millis(200);
constexpr Duration kMaxAnswer = Duration::seconds(15);  // longer than a leader waits for its majority

struct ContextArguments {
  ContextArguments() { how.timeout = Duration::seconds(60); }

  OperatorOptions how;
  std::string payload = "-";
  std::string id;
  std::string target;
  std::string reason;
  unsigned priority = 0;
  bool wait = false;
  bool no_wait = false;
  bool json = false;
};

int refuse_request(const std::string& text) { return refuse("context", printable(text)); }
int told_no(const Error& error) { return refuse("context", printable(error.message), kExitNo); }

// The nodes to ask, and their addresses: the leader answers questions that only it can answer.
class Asking {
 public:
  Asking(OperatorSession session, Duration timeout)
      : session_(std::move(session)), deadline_(session_.runtime->read_clock() + timeout) {}

  // A node that is busy is asked again.
  Result<cluster::ContextAnswer> ask(const HostPort& node, const cluster::ContextQuestion& question) {
    const std::string body = message::encode(question);
    while (true) {
      const Duration most = std::min(kMaxAnswer, std::max(deadline_ - session_.runtime->read_clock(), kAskAgain));
      auto bytes = session_.runtime->run(
          session_.client->request(*session_.runtime, node, cluster::message_type::kContext, body, most));
      if (bytes) return message::decode<cluster::ContextAnswer>(*bytes);
      if (bytes.error().code != Errc::kExhausted || late()) return tl::unexpected(bytes.error());
      pause(kAskAgain);
    }
  }

  // The answer of the current leader. Asks again until the time is up while the cluster has no leader, or while it is
  // unknown whether the request was done. The question must allow repetition.
  Result<cluster::ContextAnswer> ask_leader(const cluster::ContextQuestion& question) {
    std::string trouble = "nobody was asked";
    std::string leader;
    while (true) {
      std::vector<HostPort> nodes;
      if (const auto at = places_.find(leader); at != places_.end()) nodes.push_back(at->second);
      nodes.insert(nodes.end(), session_.nodes.begin(), session_.nodes.end());
      for (const auto& [name, place] : places_) nodes.push_back(place);
      leader.clear();
      for (const HostPort& node : nodes) {
        auto answer = ask(node, question);
        if (!answer) {
          trouble = answer.error().message;
          continue;
        }
        const auto* refused = std::get_if<cluster::ContextRefused>(&*answer);
        if (refused == nullptr) {
          answered_ = node;
          return answer;
        }
        trouble = refused->why;
        if (is_final(refused->code)) return fail(refused->code, refused->why);
        if (refused->leader.empty()) continue;
        leader = refused->leader;
        break;
      }
      if (session_.runtime->read_clock() >= deadline_) return fail(Errc::kTimeout, trouble);
      if (!leader.empty() && !places_.contains(leader)) learn_places();
      pause(leader.empty() ? kAskAgain : kAskAgain / 4);
    }
  }

  // Members that could lead contexts, by name.
  const std::map<std::string, HostPort>& places() {
    if (places_.empty()) learn_places();
    return places_;
  }
  const std::vector<HostPort>& nodes() const { return session_.nodes; }
  // The node that gave the last answer of a leader.
  const HostPort& answered() const { return answered_; }
  bool late() { return session_.runtime->read_clock() >= deadline_; }
  void pause(Duration span) { cli::pause(session_, span); }
  const std::string& by() const { return session_.by; }
  runtime::Runtime& runtime() { return *session_.runtime; }

 private:
  static bool is_final(Errc code) {
    return code != Errc::kRefused && code != Errc::kTimeout && code != Errc::kExhausted && code != Errc::kUnreachable;
  }

  void learn_places() {
    for (const HostPort& node : session_.nodes) {
      const auto known =
          node::only<node::MembersAnswer>(cli::ask(session_, node, node::AskMembers(), Duration::seconds(5)));
      if (!known) continue;
      for (const auto& member : known->members) {
        const auto place = parse_host_port(member.address, cluster::kDefaultPort);
        if (place && member.role == "manager" && member.state == "alive") places_[member.name] = *place;
      }
      return;
    }
  }

  OperatorSession session_;
  HostPort answered_;
  Instant deadline_;
  std::map<std::string, HostPort> places_;
};

// The answer that was expected.
template <class Answer>
Result<Answer> answer_of(Result<cluster::ContextAnswer> answer) {
  BW_TRY(auto given, std::move(answer));
  if (auto* one = std::get_if<Answer>(&given)) return std::move(*one);
  return fail(Errc::kProtocol, "the leader answered something else");
}

tl::expected<Asking, int> open_asking(const ContextArguments& given) {
  BW_TRY(auto session, open_operator_session(given.how, "context"));
  return Asking(std::move(session), given.how.timeout);
}

// --- requests --------------------------------------------------------------------------------------------------------

// One byte more than the limit of a request shows that it is too large.
Result<std::string> read_request_payload(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) return fail(Errc::kNotFound, "'{}' cannot be read", path);
  }
  std::istream& from = path == "-" ? std::cin : file;
  std::string text(context_lead::kMaxPayloadBytes + 1, '\0');
  from.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(from.gcount()));
  if (text.size() > context_lead::kMaxPayloadBytes) {
    return fail(Errc::kTooLarge, "the payload has more than {} bytes: pass on where the rest is",
                context_lead::kMaxPayloadBytes);
  }
  return text;
}

// An id without a time of the past counts as one of today.
WallTime submitted_at(RequestId id, WallTime now) {
  const auto drawn = context_lead::time_of(id);
  return drawn && drawn->unix_ns <= now.unix_ns ? *drawn : now;
}

int show_outcome(const ContextArguments& given, const std::string& id, const cluster::OutcomeAnswer& outcome) {
  using State = cluster::OutcomeAnswer::State;
  if (given.json) {
    std::fputs(outcome_json(id, outcome).c_str(), stdout);
  } else if (outcome.state == State::kCompleted && !outcome.result_gone) {
    std::fwrite(outcome.result.data(), 1, outcome.result.size(), stdout);
  } else {
    std::fputs(outcome_text(id, outcome).c_str(), stderr);
  }
  if (outcome.state == State::kCompleted) return kExitOk;
  if (outcome.state == State::kFailed) return kExitRequestFailed;
  return outcome.state == State::kUnknown ? kExitNo : kExitUnfinished;
}

int outcome_of(const ContextArguments& given, Asking& asking, RequestId id) {
  using State = cluster::OutcomeAnswer::State;
  while (true) {
    const auto outcome = answer_of<cluster::OutcomeAnswer>(asking.ask_leader(cluster::AskOutcome{id}));
    if (!outcome) return told_no(outcome.error());
    const bool is_live = outcome->state == State::kQueued || outcome->state == State::kActive;
    if (!given.wait || !is_live || asking.late()) return show_outcome(given, to_string(id), *outcome);
    asking.pause(kAskAgain);
  }
}

int submit_request(const ContextArguments& given) {
  std::optional<RequestId> id;
  if (!given.id.empty()) {
    const auto parsed = context_lead::parse_request_id(given.id);
    if (!parsed) return refuse_request("--id: " + parsed.error().message);
    id = *parsed;
  }
  auto payload = read_request_payload(given.payload);
  if (!payload) return refuse_request(payload.error().message);
  auto asking = open_asking(given);
  if (!asking) return asking.error();
  if (!id) {
    runtime::Runtime& runtime = asking->runtime();
    id = context_lead::draw_request_id(runtime.wall_now(), runtime.prng().next(), runtime.prng().next());
  }
  const context_lead::Request request{*id, static_cast<uint8_t>(given.priority),
                                      submitted_at(*id, asking->runtime().wall_now()), std::move(*payload)};
  const auto answer = asking->ask_leader(request);
  if (!answer) {
    return refuse("context", fmt::format("request {}: {}", to_string(*id), printable(answer.error().message)), kExitNo);
  }
  if (!given.wait) {
    std::printf("%s\n", to_string(*id).c_str());
    return kExitOk;
  }
  std::fprintf(stderr, "%s\n", to_string(*id).c_str());
  return outcome_of(given, *asking, *id);
}

int show_result(const ContextArguments& given) {
  const auto id = context_lead::parse_request_id(given.id);
  if (!id) return refuse_request(id.error().message);
  auto asking = open_asking(given);
  return asking ? outcome_of(given, *asking, *id) : asking.error();
}

// --- who leads -------------------------------------------------------------------------------------------------------

std::optional<cluster::ContextView> view_of(Asking& asking, const HostPort& node, std::string& trouble) {
  auto answer = asking.ask(node, cluster::AskContextStatus{});
  if (!answer) {
    trouble += (trouble.empty() ? "" : "\n  ") + answer.error().message;
    return std::nullopt;
  }
  auto* view = std::get_if<cluster::ContextView>(&*answer);
  if (view != nullptr) return std::move(*view);
  if (const auto* refused = std::get_if<cluster::ContextRefused>(&*answer)) trouble = refused->why;
  return std::nullopt;
}

int context_status(const ContextArguments& given) {
  auto asking = open_asking(given);
  if (!asking) return asking.error();
  std::string trouble;
  std::optional<cluster::ContextView> view;
  for (const HostPort& node : asking->nodes()) {
    if (!(view = view_of(*asking, node, trouble))) continue;
    break;
  }
  if (!view) return told_no({Errc::kUnreachable, "no node could be asked:\n  " + trouble});
  // A named node is asked for its own knowledge.
  std::vector<cluster::ContextView> others;
  if (given.how.node.empty()) {
    for (const auto& [name, place] : asking->places()) {
      if (name == view->answered_by) continue;
      if (auto other = view_of(*asking, place, trouble)) others.push_back(std::move(*other));
    }
    for (cluster::ContextView& other : others) {
      if (other.answered_by == other.leader && other.epoch >= view->epoch) std::swap(other, *view);
    }
  }
  std::fputs((given.json ? context_json(*view, others) : context_text(*view, others)).c_str(), stdout);
  return kExitOk;
}

int transfer(const ContextArguments& given) {
  auto asking = open_asking(given);
  if (!asking) return asking.error();
  std::string trouble;
  const auto done = answer_of<cluster::ContextDone>(
      asking->ask_leader(cluster::AskTransfer{given.target, asking->by(), given.reason}));
  if (!done) return told_no(done.error());
  if (given.no_wait) {
    std::printf("%s\n", printable(done->text).c_str());
    return kExitOk;
  }
  // The old leader knows the result, once the transfer has ended.
  const HostPort leader = asking->answered();
  while (!asking->late()) {
    const auto view = view_of(*asking, leader, trouble);
    if (view && view->failover && view->failover->to == given.target) {
      std::fputs(failover_text(*view->failover).c_str(), stdout);
      return view->failover->ok ? kExitOk : kExitNo;
    }
    asking->pause(kAskAgain);
  }
  return told_no({Errc::kTimeout, "nobody has said in time how the transfer ended: `bellwether context status`"});
}

int generation(const ContextArguments& given, bool start) {
  auto asking = open_asking(given);
  if (!asking) return asking.error();
  const auto done = answer_of<cluster::ContextDone>(asking->ask_leader(cluster::AskGeneration{start, asking->by()}));
  if (!done) return told_no(done.error());
  std::printf("%s\n", printable(done->text).c_str());
  return kExitOk;
}

CLI::App* add_asking(CLI::App& command, const std::shared_ptr<ContextArguments>& given, const char* name) {
  CLI::App* verb = new_verb(command, name);
  add_cluster_options(verb, given->how);
  add_duration(verb, "--timeout", given->how.timeout, "Give up after this time (default 60s)");
  return verb;
}

void add_requests(CLI::App& command, const std::shared_ptr<ContextArguments>& given, int& exit_code) {
  CLI::App* submitting = add_asking(command, given, "submit");
  submitting->add_option("FILE", given->payload, "File with the payload, at most 64 KiB; -: standard input")
      ->capture_default_str();
  add_text(submitting, "--id", given->id, "ID", "32 hexadecimal digits; a request with a known id is not run again");
  submitting->add_option("--priority", given->priority, "0 to 255; the highest runs first")->check(CLI::Range(0, 255));
  submitting->add_flag("--wait", given->wait, "Wait for the end, and print the result in place of the id");
  submitting->add_flag("--json", given->json, "With --wait: print the outcome as JSON");
  submitting->footer(
      "After exit code 1 the cluster may still have the request: submit it again with the printed id.\n"
      "\n"
      "Exit codes: 0 a majority has the request (with --wait: completed), 1 refused, or no node answered, 2 failed, 3 "
      "not finished in time, 104 wrong command line or payload.");
  submitting->callback([given, &exit_code] { exit_code = submit_request(*given); });

  CLI::App* result = add_asking(command, given, "result");
  result->add_option("ID", given->id, "Id that `submit` printed")->required();
  result->add_flag("--wait", given->wait, "Wait for the end");
  result->add_flag("--json", given->json, "Print JSON");
  result->footer("Exit codes: 0 completed, 1 unknown id, or no node answered, 2 failed, 3 not finished yet.");
  result->callback([given, &exit_code] { exit_code = show_result(*given); });
}

void add_leading(CLI::App& command, const std::shared_ptr<ContextArguments>& given, int& exit_code) {
  CLI::App* looking = add_asking(command, given, "status");
  looking->add_flag("--json", given->json, "Print JSON");
  looking->callback([given, &exit_code] { exit_code = context_status(*given); });

  CLI::App* moving = add_asking(command, given, "transfer");
  moving->add_option("NODE", given->target, "Name of the node")->required();
  add_text(moving, "--reason", given->reason, "TEXT", "Reason, for the audit log");
  moving->add_flag("--no-wait", given->no_wait, "Do not wait for the end");
  moving->footer("Exit codes: 0 that node leads, 1 it does not lead (the reason is printed), 104 wrong command line.");
  moving->callback([given, &exit_code] { exit_code = transfer(*given); });

  for (const bool begin : {true, false}) {
    CLI::App* verb = add_asking(command, given, begin ? "start" : "stop");
    verb->callback([given, begin, &exit_code] { exit_code = generation(*given, begin); });
  }
}

}  // namespace

void add_context(CLI::App& app, int& exit_code) {
  auto given = std::make_shared<ContextArguments>();
  CLI::App* command = new_verb(app, "context");
  command->require_subcommand(1);
  add_context_serve(*command, exit_code);
  add_requests(*command, given, exit_code);
  add_leading(*command, given, exit_code);
  command->footer(
      "The page \"Context leadership\" of the documentation lists the environment of the --manager command, and all "
      "settings.");
}

}  // namespace bellwether::cli
