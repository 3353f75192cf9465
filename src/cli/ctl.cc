// bellwether ctl: looks at and controls the local runs that go on.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/running.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "load/local/control_socket.h"

namespace bellwether::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kSlowestAnswer = Duration::seconds(10);

struct CtlArguments {
  std::string run;
  std::string what;
  std::string vus;
  std::string workflow;
  bool json = false;
};

int complain(const std::string& message, int code) {
  std::fprintf(stderr, "bellwether ctl: %s\n", printable(message).c_str());
  return code;
}

std::string text_at(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? printable(json[key].get<std::string>()) : std::string();
}
double number_at(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_number() ? json[key].get<double>() : 0;
}
std::string count_at(const Json& json, const char* key) {
  return format_count(static_cast<uint64_t>(std::max(0.0, number_at(json, key))));
}

std::string controlled_text(const Json& state) {
  std::string text;
  for (const Json& one : state.value("controlled", Json::array())) {
    text += (text.empty() ? "" : ", ") + text_at(one, "name") + " " + count_at(one, "vus") + " of " +
            count_at(one, "max_vus");
  }
  return text;
}

std::string elapsed_text(const Json& state) {
  return format_duration(Duration::millis(static_cast<int64_t>(number_at(state, "elapsed_s") * 10) * 100));
}

Result<Json> ask(const Running& run, const Json& request) {
  const std::string line = request.dump(-1, ' ', true, Json::error_handler_t::replace);
  BW_TRY(const auto text, node::ask_control(run.path, line, kSlowestAnswer));
  Json answer = Json::parse(text, nullptr, false);
  if (!answer.is_object()) return fail(Errc::kProtocol, "the answer of run " + run.id + " is no JSON object");
  if (!answer.value("ok", false)) return fail(Errc::kInvalid, text_at(answer, "error"));
  answer.erase("ok");
  return answer;
}

void print_json(const Json& json) {
  std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

int list(const CtlArguments& arguments) {
  Json all = Json::array();
  Table table({"RUN", "SCENARIO", "STATE", "FOR", "USERS", "REQUESTS", "CONTROLLED USERS"});
  for (const Running& run : all_running()) {
    const auto state = ask(run, {{"do", "status"}});
    if (!state) continue;  // it has just ended
    all.push_back(*state);
    table.add({run.id, text_at(*state, "scenario"), text_at(*state, "state"), elapsed_text(*state),
               count_at(*state, "vus"), count_at(*state, "requests"), controlled_text(*state)});
  }
  if (arguments.json) {
    print_json(all);
  } else if (all.empty()) {
    std::printf("no local run of this user goes on\n");
  } else {
    std::fputs(table.text().c_str(), stdout);
  }
  return kExitOk;
}

int control(const CtlArguments& arguments) {
  Json request{{"do", arguments.what.empty() ? "status" : arguments.what}};
  const bool scales = arguments.what == "vus";
  if (scales) {
    const auto vus = parse_u64(arguments.vus);
    if (!vus || *vus > UINT32_MAX) {
      return complain(arguments.vus.empty() ? "'vus' needs a number: `bellwether ctl RUN vus 50`"
                                            : "vus '" + arguments.vus + "': write a whole number from 0 on",
                      kExitUsage);
    }
    request["vus"] = *vus;
    request["workflow"] = arguments.workflow;
  } else if (!arguments.vus.empty() || !arguments.workflow.empty()) {
    return complain("a number and --workflow belong to 'vus'", kExitUsage);
  }
  const auto run = find_running(arguments.run);
  if (!run) return complain(run.error().message, kExitNo);
  const auto state = ask(*run, request);
  if (!state) return complain(state.error().message, kExitNo);
  if (arguments.json) {
    print_json(*state);
    return kExitOk;
  }
  std::printf("%s (%s) %s for %s: %s users, %s requests, %s failed\n", printable(run->id).c_str(),
              text_at(*state, "scenario").c_str(), text_at(*state, "state").c_str(), elapsed_text(*state).c_str(),
              count_at(*state, "vus").c_str(), count_at(*state, "requests").c_str(),
              count_at(*state, "failed").c_str());
  if (const std::string users = controlled_text(*state); !users.empty()) {
    std::printf("controlled users: %s\n", users.c_str());
  }
  return kExitOk;
}

}  // namespace

void add_ctl(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<CtlArguments>();
  CLI::App* command = new_verb(app, "ctl", "Look at and control the runs on this machine that go on");
  command->add_option("RUN", arguments->run, "Its id, the beginning of that, or last; without: lists all runs");
  command->add_option("WHAT", arguments->what, "What to do (default status)")
      ->check(CLI::IsMember({"status", "vus", "pause", "resume", "stop"}));
  command->add_option("N", arguments->vus, "vus: how many virtual users");
  command->add_option("-w,--workflow", arguments->workflow,
                      "vus: of which workflow, when several are externally-controlled");
  command->add_flag("--json", arguments->json, "As JSON");
  command->footer(
      "vus changes the users of a workflow with the executor externally-controlled. While a run is paused nothing\n"
      "begins, and its clock goes on. stop lets iterations that run finish; once more ends them.\n\n"
      "Examples:\n"
      "  bellwether ctl\n"
      "  bellwether ctl last vus 50\n"
      "  bellwether ctl 3f2a pause\n"
      "  bellwether ctl last stop\n\n"
      "Exit codes: 0 done, 1 there is no such run, or it refuses, 104 wrong command line.");
  command->callback(
      [arguments, &exit_code] { exit_code = arguments->run.empty() ? list(*arguments) : control(*arguments); });
}

}  // namespace bellwether::cli
