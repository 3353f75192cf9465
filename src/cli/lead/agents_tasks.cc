// bellwether agents tasks: the queue of a fleet, seen and changed by hand.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <istream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <unistd.h>

#include "cli/lead/agents.h"
#include "cli/verb.h"
#include "cli/view.h"
#include "core/base/bytes.h"
#include "core/base/units.h"
#include "lead/agents/fleet_files.h"

namespace bellwether::cli {
namespace {

using lead::QueuedTask;
using lead::QueueFile;
using lead::TaskQueue;
using nlohmann::json;
using runtime::EpollRuntime;
using runtime::task;

constexpr std::size_t kMaxLineBytes = 256u << 10;

struct TasksOptions {
  FleetPlaces places;
  std::vector<std::string> which;  // names, or numbers
  bool all = false;
  std::string state;
  std::string payload;
  std::string payload_file;
  std::string from;
  bool json = false;
};

int not_done(const std::string& text, int code = kExitNo) { return refuse("agents tasks", text, code); }
// An error of the request is an error of the command line.
int not_done(const Error& error) {
  return not_done(error.message, error.code == Errc::kInvalid ? kExitUsage : kExitNo);
}

// --- list ------------------------------------------------------------------------------------------------------------

Fields task_fields(const QueuedTask& task) {
  return {{"TASK", "number", task.number},
          {"NAME", "name", task.name},
          {"STATE", "state", to_string(task.state)},
          {"ATTEMPT", "attempt", task.attempt},
          told("tries", task.tries),
          {"EPOCH", "epoch", task.epoch.value()},
          {"AGENT", "agent", task.agent, task.agent.empty() ? "-" : task.agent},
          {"OUTCOME", "outcome", task.outcome},
          told("payload", task.payload)};
}

std::vector<QueuedTask> chosen(const TaskQueue& queue, const TasksOptions& options) {
  std::vector<QueuedTask> out;
  const bool past = options.all || !options.state.empty();
  if (past) out.assign(queue.past().begin(), queue.past().end());
  out.insert(out.end(), queue.tasks().begin(), queue.tasks().end());
  std::erase_if(
      out, [&](const QueuedTask& task) { return !options.state.empty() && options.state != to_string(task.state); });
  std::ranges::sort(out, [](const QueuedTask& a, const QueuedTask& b) { return a.number < b.number; });
  return out;
}

task<int> list(QueueFile& queue_file, const TasksOptions& options) {
  const auto queue = co_await queue_file.read();
  if (!queue) co_return not_done(queue.error().message);
  const std::vector<QueuedTask> tasks = chosen(*queue, options);
  const Rows view(tasks, &task_fields);
  const uint64_t settled = queue->next() - 1 - queue->tasks().size();
  if (options.json) {
    print_json({told("format", "bellwether.tasks-list/1"), told("fence", queue->fence().value()),
                told("cursor", queue->cursor()), told("next", queue->next()), told("settled", settled),
                told("tasks", view.list()),
                told("halted", queue->halted().empty() ? Value() : Value(queue->halted()))});
    co_return kExitOk;
  }
  if (!queue->halted().empty()) std::printf("HALTED: %s\n\n", queue->halted().c_str());
  const auto count = [&](QueuedTask::State state) {
    return std::ranges::count_if(queue->tasks(), [&](const QueuedTask& task) { return task.state == state; });
  };
  std::printf("cursor %llu, epoch %llu: %td waiting, %td running, %td failed, %llu done or dropped\n",
              static_cast<unsigned long long>(queue->cursor()), static_cast<unsigned long long>(queue->fence().value()),
              count(QueuedTask::State::kWaiting), count(QueuedTask::State::kRunning), count(QueuedTask::State::kFailed),
              static_cast<unsigned long long>(settled));
  if (!tasks.empty()) print("\n" + view.table());
  co_return kExitOk;
}

// --- add -------------------------------------------------------------------------------------------------------------

// One task a line: {"name": "…", "payload": …}; a payload that is no string is taken as JSON.
Result<std::vector<QueueFile::NewTask>> read_lines(std::istream& in, const std::string& where) {
  std::vector<QueueFile::NewTask> tasks;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    const std::string place = fmt::format("{}:{}: ", where, number);
    if (line.size() > kMaxLineBytes) return fail(Errc::kTooLarge, place + "the line is longer than 256 KiB");
    if (line.empty()) continue;
    if (tasks.size() >= TaskQueue::kMaxTasks) return fail(Errc::kTooLarge, place + "these are more tasks than fit");
    const json entry = json::parse(line, nullptr, false);
    const bool good = entry.is_object() && entry.contains("name") && entry["name"].is_string() &&
                      entry.size() == 1 + entry.count("payload");
    if (!good) {
      return fail(Errc::kInvalid, place + "this is no task: a line is {\"name\": \"…\", \"payload\": …}");
    }
    const json payload = entry.value("payload", json(""));
    tasks.push_back(
        {entry["name"].get<std::string>(), payload.is_string() ? payload.get<std::string>() : payload.dump()});
  }
  if (in.bad()) return fail(Errc::kIo, where + " cannot be read");
  return tasks;
}

Result<std::string> read_payload(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(TaskQueue::kMaxPayloadBytes + 1, '\0');
  if (!file || !file.read(text.data(), static_cast<std::streamsize>(text.size())).eof()) {
    const bool long_one = file && file.gcount() > 0;
    return fail(Errc::kInvalid, long_one
                                    ? fmt::format("'{}' is longer than 16 KiB: put its path into the payload", path)
                                    : fmt::format("'{}' cannot be read", path));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

Result<std::vector<QueueFile::NewTask>> wanted_tasks(const TasksOptions& options) {
  if (options.from.empty() == options.which.empty()) {
    return fail(Errc::kInvalid, "which task? Give its name, or --from FILE with one a line");
  }
  if (options.from == "-") {
    std::ifstream in("/dev/stdin");
    return read_lines(in, "standard input");
  }
  if (!options.from.empty()) {
    std::ifstream in(options.from);
    if (!in) return fail(Errc::kInvalid, "'{}' cannot be read", options.from);
    return read_lines(in, options.from);
  }
  std::string payload = options.payload;
  if (!options.payload_file.empty()) {
    BW_TRY(payload, read_payload(options.payload_file));
  }
  std::vector<QueueFile::NewTask> tasks;
  for (const std::string& name : options.which) tasks.push_back({name, payload});
  return tasks;
}

task<int> add(QueueFile& queue, const TasksOptions& options) {
  auto tasks = wanted_tasks(options);
  if (!tasks) co_return not_done(tasks.error().message, kExitUsage);
  const auto added = co_await queue.add_all(std::move(*tasks));
  if (!added) co_return not_done(added.error());
  const auto fresh =
      static_cast<std::size_t>(std::ranges::count_if(*added, [](const QueueFile::Added& one) { return one.is_new; }));
  if (options.json) {
    std::vector<uint64_t> numbers;
    for (const QueueFile::Added& one : *added) numbers.push_back(one.number);
    print_json({told("added", fresh), told("known", added->size() - fresh), told("numbers", numbers)});
  } else if (added->size() == 1) {
    std::printf("task %llu%s\n", static_cast<unsigned long long>(added->front().number),
                fresh == 1 ? "" : ", known already: nothing was added");
  } else {
    std::printf("%s added, %zu known already\n", format_count(fresh, "task").c_str(), added->size() - fresh);
  }
  co_return kExitOk;
}

// --- retry, drop, resume ---------------------------------------------------------------------------------------------

// By number or by name.
Result<uint64_t> meant_by(const TaskQueue& queue, const std::string& which) {
  const std::optional<uint64_t> number = parse_u64(which);
  const QueuedTask* numbered = number ? queue.find(*number) : nullptr;
  const auto named = std::ranges::find_if(queue.tasks(), [&](const QueuedTask& task) { return task.name == which; });
  if (named != queue.tasks().end()) {
    if (numbered == nullptr || numbered->number == named->number) return named->number;
    return fail(Errc::kInvalid,
                "'{}' is the name of task {} and the number of task '{}': give the number of the one, {}, or the name "
                "of the other",
                which, named->number, numbered->name, named->number);
  }
  if (!number) return fail(Errc::kNotFound, "there is no task '{}' that is not done", which);
  return *number;
}

// The numbers of the named tasks, or of all failed ones; each once.
Result<std::vector<uint64_t>> meant(const TaskQueue& queue, const TasksOptions& options) {
  std::vector<uint64_t> numbers;
  if (options.all == !options.which.empty()) {
    return fail(Errc::kInvalid, "which tasks? Give numbers or names, or --all for all that failed");
  }
  for (const QueuedTask& task : queue.tasks()) {
    if (options.all && task.state == QueuedTask::State::kFailed) numbers.push_back(task.number);
  }
  for (const std::string& which : options.which) {
    BW_TRY(const auto number, meant_by(queue, which));
    numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

task<int> change_meant(QueueFile& queue, const TasksOptions& options, bool retry) {
  const auto read = co_await queue.read();
  if (!read) co_return not_done(read.error().message);
  const auto numbers = meant(*read, options);
  if (!numbers) co_return not_done(numbers.error());
  Status done;
  if (retry) {
    done = co_await queue.retry(*numbers);
  } else {
    done = co_await queue.drop(*numbers);
  }
  if (!done) co_return not_done(done.error().message + (numbers->size() > 1 ? "; none was changed" : ""));
  std::printf("%s %s\n", format_count(numbers->size(), "task").c_str(), retry ? "will be begun again" : "dropped");
  co_return kExitOk;
}

task<int> run_act(EpollRuntime& runtime, std::string act, const TasksOptions& options) {
  QueueFile queue(runtime, options.places.queue);
  int code = kExitOk;
  if (act == "list") {
    code = co_await list(queue, options);
  } else if (act == "add") {
    code = co_await add(queue, options);
  } else if (act == "resume") {
    const Status done = co_await queue.resume();
    code = done ? kExitOk : not_done(done.error().message);
  } else {
    code = co_await change_meant(queue, options, act == "retry");
  }
  co_return code;
}

int run_tasks(const std::string& act, TasksOptions& options) {
  options.places.complete();
  if (options.places.queue.empty()) return not_done("where is the queue? Give --dir DIR or --queue PATH", kExitUsage);
  if (act == "add") {
    if (const Status made = options.places.make_folder(); !made) return not_done(made.error());
  }
  act_as_owner_of(options.places.queue);
  return in_runtime(
      "agents tasks", [&](auto& runtime) { return runtime.run(run_act(runtime, act, options)); }, kExitNo);
}

CLI::App* add_act(CLI::App* tasks, const char* act, int& exit_code, const std::shared_ptr<TasksOptions>& options) {
  CLI::App* command = new_verb(*tasks, act);
  add_fleet_folder(command, options->places);
  add_text(command, "--queue", options->places.queue, "PATH", "The queue file, without --dir");
  command->callback([options, &exit_code, act] { exit_code = run_tasks(act, *options); });
  return command;
}

}  // namespace

void add_agents_tasks(CLI::App& agents, int& exit_code) {
  auto options = std::make_shared<TasksOptions>();
  CLI::App* tasks = new_verb(agents, "tasks");
  tasks->require_subcommand(1);
  CLI::App* list = add_act(tasks, "list", exit_code, options);
  list->add_flag("--all", options->all, "Also list the last completed tasks");
  add_choice(list, "--state", options->state, {"waiting", "running", "failed", "done", "dropped"},
             "Only tasks in this state");
  list->add_flag("--json", options->json, "Print one JSON document");
  CLI::App* add = add_act(tasks, "add", exit_code, options);
  add->add_option("NAME", options->which, "Names of tasks");
  CLI::Option* payload =
      add->add_option("--payload", options->payload, "Payload for the command: text, at most 16 KiB");
  CLI::Option* file = add_text(add, "--payload-file", options->payload_file, "FILE", "File with the payload");
  payload->excludes(file);
  add_text(add, "--from", options->from, "FILE",
           "File with one task a line, {\"name\": …, \"payload\": …}; -: standard input")
      ->excludes(payload)
      ->excludes(file);
  add->add_flag("--json", options->json, "Print one JSON document");
  CLI::App* retry = add_act(tasks, "retry", exit_code, options);
  CLI::App* drop = add_act(tasks, "drop", exit_code, options);
  for (CLI::App* act : {retry, drop}) {
    act->add_option("TASK", options->which, "Numbers or names of tasks");
    act->add_flag("--all", options->all, "All failed tasks");
  }
  (void)add_act(tasks, "resume", exit_code, options);
  tasks->footer(
      "A queue holds 10,000 open tasks with 16 MiB of payloads. It remembers the names of the last 1,000 completed "
      "tasks.\n"
      "\n"
      "Exit codes: 0 done, 1 not done (no such task, the queue is full, or a file failed), 104 wrong command line.");
}

}  // namespace bellwether::cli
