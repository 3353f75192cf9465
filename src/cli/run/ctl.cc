// bellwether ctl: looks at and controls the current local runs.

#include "cli/run/ctl.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <dirent.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/verb.h"
#include "cli/view.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "election/store/environment.h"
#include "load/local/control_socket.h"

namespace bellwether::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kEnding = ".sock";
constexpr Duration kPatience = Duration::seconds(5);

std::string listed(const std::vector<Running>& runs) {
  if (runs.empty()) return "no run is in progress";
  std::string text;
  for (const Running& one : runs) text += (text.empty() ? "" : ", ") + one.id;
  return (runs.size() == 1 ? "there is " : "there are ") + text;
}

constexpr Duration kSlowestAnswer = Duration::seconds(10);

struct CtlArguments {
  std::string run;
  std::string what;
  std::string vus;
  std::string workflow;
  bool json = false;
};

int complain(const std::string& message, int code) { return refuse("ctl", printable(message), code); }

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
    text += fmt::format("{}{} {} of {}", text.empty() ? "" : ", ", text_at(one, "name"), count_at(one, "vus"),
                        count_at(one, "max_vus"));
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
  if (!answer.is_object()) return fail(Errc::kProtocol, "the answer of run {} is no JSON object", run.id);
  if (!answer.value("ok", false)) return fail(Errc::kInvalid, text_at(answer, "error"));
  answer.erase("ok");
  return answer;
}

int list(const CtlArguments& arguments) {
  Json all = Json::array();
  Table table({"RUN", "SCENARIO", "STATE", "ELAPSED", "USERS", "REQUESTS", "CONTROLLED USERS"});
  for (const Running& run : all_running()) {
    const auto state = ask(run, {{"do", "status"}});
    if (!state) continue;  // it has just ended
    all.push_back(*state);
    table.add({run.id, text_at(*state, "scenario"), text_at(*state, "state"), elapsed_text(*state),
               count_at(*state, "vus"), count_at(*state, "requests"), controlled_text(*state)});
  }
  if (arguments.json) {
    print(Value::parsed(all.dump()).document());
  } else if (all.empty()) {
    std::printf("no run of this user is in progress on this machine\n");
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
                                            : fmt::format("vus '{}': write a whole number from 0 on", arguments.vus),
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
    print(Value::parsed(state->dump()).document());
    return kExitOk;
  }
  std::printf("%s (%s) is %s, %s after its start: %s users, %s requests, %s failed\n", printable(run->id).c_str(),
              text_at(*state, "scenario").c_str(), text_at(*state, "state").c_str(), elapsed_text(*state).c_str(),
              count_at(*state, "vus").c_str(), count_at(*state, "requests").c_str(),
              count_at(*state, "failed").c_str());
  if (const std::string users = controlled_text(*state); !users.empty()) {
    std::printf("controlled users: %s\n", users.c_str());
  }
  return kExitOk;
}

}  // namespace

std::string running_folder() {
  const std::string runtime = store::variable(&store::own_environment, "XDG_RUNTIME_DIR");
  if (runtime.starts_with('/')) return runtime + "/bellwether";
  return fmt::format("/tmp/bellwether-{}", ::geteuid());
}

std::string socket_name(const std::string& run_id) { return run_id + std::string(kEnding); }

std::vector<Running> all_running() {
  const std::string folder = running_folder();
  struct Found {
    Running run;
    timespec made{};
  };
  std::vector<Found> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()),
                                                      [](DIR* one) { return one == nullptr ? 0 : ::closedir(one); });
  while (directory != nullptr) {
    const dirent* const entry = ::readdir(directory.get());  // NOLINT(concurrency-mt-unsafe): no other thread has it
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (!name.ends_with(kEnding)) continue;
    Found one{{name.substr(0, name.size() - kEnding.size()), fmt::format("{}/{}", folder, name)}};
    struct stat about {};
    if (::stat(one.run.path.c_str(), &about) != 0 || !S_ISSOCK(about.st_mode)) continue;
    one.made = about.st_mtim;
    const auto answer = node::ask_control(one.run.path, R"({"do": "status"})", kPatience);
    if (!answer && answer.error().code == Errc::kUnreachable) {
      ::unlink(one.run.path.c_str());
      continue;
    }
    found.push_back(std::move(one));
  }
  std::ranges::sort(found, [](const Found& a, const Found& b) {
    return std::pair(a.made.tv_sec, a.made.tv_nsec) < std::pair(b.made.tv_sec, b.made.tv_nsec);
  });
  std::vector<Running> out;
  for (Found& one : found) out.push_back(std::move(one.run));
  return out;
}

Result<Running> find_running(const std::string& name) {
  const std::vector<Running> runs = all_running();
  if (runs.empty()) {
    return fail(Errc::kNotFound, "no run of this user is in progress on this machine (looked in {})",
                printable(running_folder()));
  }
  if (name == "last") return runs.back();
  std::vector<Running> fits;
  for (const Running& one : runs) {
    if (one.id == name) return one;
    if (one.id.starts_with(name)) fits.push_back(one);
  }
  if (fits.size() == 1) return fits.front();
  if (fits.empty()) {
    return fail(Errc::kNotFound, "no run '{}' is in progress; {}, and `last` is the newest of them", printable(name),
                listed(runs));
  }
  return fail(Errc::kInvalid, "several runs begin with '{}': {}", printable(name), listed(fits));
}

void add_ctl(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<CtlArguments>();
  CLI::App* command = new_verb(app, "ctl");
  command->add_option("RUN", arguments->run, "Id of the run, the beginning of the id, or last; none: list all runs");
  add_choice(command, "ACTION", arguments->what, {"status", "vus", "pause", "resume", "stop"},
             "What to do (default status)");
  command->add_option("N", arguments->vus, "For vus: number of virtual users");
  add_text(command, "-w,--workflow", arguments->workflow, "NAME",
           "For vus: the workflow, if several are externally-controlled");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->footer(
      "vus sets the users of a workflow with the executor externally-controlled. A paused run starts nothing, and its "
      "clock continues. stop lets running iterations finish; a second stop ends them.\n"
      "\n"
      "Exit codes: 0 done, 1 there is no such run, or it refused, 104 wrong command line.");
  command->callback(
      [arguments, &exit_code] { exit_code = arguments->run.empty() ? list(*arguments) : control(*arguments); });
}

}  // namespace bellwether::cli
