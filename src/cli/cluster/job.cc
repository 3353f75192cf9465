// bellwether job: load tests on a cluster.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/cluster/cluster_format.h"
#include "cli/cluster/job_session.h"
#include "cli/run/reports.h"
#include "cli/run/results.h"
#include "cli/sources.h"
#include "cli/verb.h"
#include "cli/view.h"
#include "core/base/encoding.h"
#include "jobs/client/client_following.h"

namespace bellwether::cli {
namespace {

using client::detail::Inside;

struct JobArguments {
  ClusterOptions cluster;
  std::string job;
  std::string id;
  std::string file;
  std::vector<std::string> sets;
  std::vector<std::string> outs;
  std::vector<std::string> workflows;
  std::string workflow;
  uint32_t vus = 0;
  std::string why;
  std::string timeout;
  std::string sign_key;
  std::string ui;
  uint64_t seed = 0;
  std::string windows;
  std::string store;
  bool steps = false;
  bool series = false;
  bool graceful = false;
  bool json = false;
};

int refused(const std::string& text, int code = kExitNo) { return refuse("job", printable(text), code); }
int wrong(const std::string& text) { return refused(text, kExitUsage); }

int print_job(const JobArguments& given, const Fields& fields, const std::string& text) {
  return print(given.json ? object_of(fields).document() : text);
}

// The answer of a manager, as the wanted type.
template <class Answer>
int show(const JobArguments& given, const client::Outcome<Answer>& answer) {
  return answer ? print(words_of(*answer, given.json)) : refused(answer.error().message);
}

template <class Act>
int with_client(const JobArguments& given, const Act& act) {
  const auto client = open_client(given.cluster, "job");
  return client ? act(**client) : client.error();
}

// --- the verbs -------------------------------------------------------------------------------------------------------

Result<plan::Bundled> bundle_of(const JobArguments& given) {
  BW_TRY(auto sets, parse_pairs(given.sets));
  BW_TRY(const auto timeout, parse_timeout(given.timeout));
  client::Scenario scenario;
  scenario.file = given.file;
  scenario.variables = std::move(sets);
  if (timeout) scenario.timeout = client::Span(timeout->ns());
  BW_TRY(const auto native, native_for_cluster(given.file, given.sign_key));
  return load_scenario(scenario, native);
}

int submit_job(const JobArguments& given) {
  const auto bundled = bundle_of(given);
  if (!bundled) return wrong(bundled.error().message);
  return with_client(given, [&](client::Client& client) {
    const auto job = Inside::submit(client, *bundled, {.id = given.id, .seed = given.seed}, nullptr, {});
    return job ? print_job(given, {told("job", job->id())}, job->id() + "\n") : refused(job.error().message);
  });
}

// With the figures so far.
int status_in_detail(const JobArguments& given, client::Client& client) {
  auto job = client.attach(given.job);
  if (!job) return refused(job.error().message);
  const auto job_status = job->status();
  if (!job_status) return refused(job_status.error().message);
  const auto history = job->history();
  if (!history) return refused(history.error().message);
  return print(words_of(*job_status, given.json, {&*history, given.steps, given.series}));
}

int job_status(const JobArguments& given, client::Client& client) {
  if (given.steps || given.series) return status_in_detail(given, client);
  if (given.json) return show(given, client.status(given.job));
  // Names of workflows are in the scenario.
  auto job = client.attach(given.job);
  if (job) return show(given, job->status());
  // Without a quorum, another request would only wait once more.
  const client::Code code = job.error().code;
  return code == client::Code::kUnreachable || code == client::Code::kUnavailable
             ? refused(job.error().message)
             : show(given, client.status(given.job));
}

// The reports to write, if all of them can be.
Result<std::vector<Out>> outs_of(const JobArguments& given) {
  auto outs = parse_outs(given.outs);
  if (!outs) return outs;
  BW_RETURN_IF_ERROR(can_deliver(*outs));
  return outs;
}

// The store that may have an unfinished run of a client; empty: none.
std::string store_of(const JobArguments& given) {
  if (is_store_off()) return {};
  return store_path(given.store).value_or("");
}

int watch(const JobArguments& given) {
  const auto ui = ui_of(given.ui);
  if (!ui) return wrong(ui.error().message);
  auto outs = outs_of(given);
  if (!outs) return wrong(outs.error().message);
  FollowOptions options;
  options.ui = *ui;
  options.outs = std::move(*outs);
  options.cancel_on_signal = false;
  options.verb = "job watch";
  options.windows_file = given.windows;
  options.store = store_of(given);
  options.cluster = given.cluster.cluster;
  return with_client(given, [&](client::Client& client) { return watch_job(client, given.job, options); });
}

int results(const JobArguments& given, client::Client& client) {
  const auto outs = outs_of(given);
  if (!outs) return wrong(outs.error().message);
  auto job = client.attach(given.job);
  if (!job) return refused(job.error().message);
  const auto result = job->result();
  if (result) {
    const int exit_code = deliver(Inside::report(*job), *outs, "job results");
    complete(client, *job, store_of(given));
    return exit_code;
  }
  const bool waits = result.error().code == client::Code::kUnavailable;
  return refused(result.error().message + (waits ? "; `bellwether job watch` waits for it" : ""));
}

int cancel(const JobArguments& given, client::Client& client) {
  const auto done = client.cancel(given.job, {given.why, given.graceful, given.workflows});
  if (!done) return refused(done.error().message);
  return print_job(
      given, {told("job", given.job), told("cancelled", true)},
      fmt::format("job {} is being stopped{}\n", given.job, given.graceful ? ", iterations may finish" : ""));
}

int scale(const JobArguments& given, client::Client& client) {
  const auto done = client.scale(given.job, given.workflow, given.vus);
  if (!done) return refused(done.error().message);
  return print_job(given, {told("job", given.job), told("vus", given.vus)},
                   fmt::format("job {}: {} virtual users\n", given.job, given.vus));
}

int list_jobs(const JobArguments& given, client::Client& client) { return show(given, client.jobs()); }
int workers(const JobArguments& given, client::Client& client) { return show(given, client.workers()); }
int datacenters(const JobArguments& given, client::Client& client) { return show(given, client.datacenters()); }

CLI::App* verb(CLI::App* job, const std::shared_ptr<JobArguments>& given, const char* name, bool of_a_job) {
  CLI::App* command = new_verb(*job, name);
  if (of_a_job) command->add_option("JOB", given->job, "Id of the job")->required();
  add_cluster_options(command, given->cluster);
  return command;
}

}  // namespace

void add_job(CLI::App& app, int& exit_code) {
  auto given = std::make_shared<JobArguments>();
  CLI::App* job = new_verb(app, "job");
  job->require_subcommand(1);

  // A command that asks a manager one question.
  const auto asks = [&](CLI::App* command, int (*ask)(const JobArguments&, client::Client&)) {
    command->callback([given, ask, &exit_code] {
      exit_code = with_client(*given, [&](client::Client& client) { return ask(*given, client); });
    });
  };
  CLI::App* submitting = verb(job, given, "submit", false);
  submitting->add_option("FILE", given->file, "Scenario file")->required();
  add_sets(submitting, given->sets);
  add_sign_option(submitting, given->sign_key);
  add_text(submitting, "--timeout", given->timeout, "TIME", "End the job after this time, for example 2h");
  add_text(submitting, "--id", given->id, "ID",
           "Id of the job; a job with a known id is not started again (default: random)");
  add_seed(submitting, given->seed, "Seed of all random values (default: random)");
  submitting->add_flag("--json", given->json, "Print JSON");
  submitting->callback([given, &exit_code] { exit_code = submit_job(*given); });

  CLI::App* showing = verb(job, given, "status", true);
  showing->add_flag("--json", given->json, "Print JSON, with the events");
  showing->add_flag("--steps", given->steps, "Also show each step, as measured so far");
  showing->add_flag("--series", given->series, "Also show each past second");
  asks(showing, &job_status);

  CLI::App* watching = verb(job, given, "watch", true);
  add_out_option(watching, given->outs);
  add_store_option(watching, given->store);
  add_text(watching, "--ui", given->ui, kUiKind, kUiHelp);
  add_quorum_wait(watching, given->cluster);
  add_text(watching, "--windows", given->windows, "FILE",
           "Write each tenth of a second when it closes, one JSON line each");
  watching->callback([given, &exit_code] { exit_code = watch(*given); });

  CLI::App* showing_results = verb(job, given, "results", true);
  add_out_option(showing_results, given->outs);
  add_store_option(showing_results, given->store);
  asks(showing_results, &results);

  CLI::App* cancelling = verb(job, given, "cancel", true);
  cancelling->add_option("WORKFLOW", given->workflows, "Stop only these workflows");
  cancelling->add_option("--why", given->why, "Reason, for the audit log and the report");
  cancelling->add_flag("--graceful", given->graceful, "Let running iterations finish");
  cancelling->add_flag("--json", given->json, "Print JSON");
  asks(cancelling, &cancel);

  CLI::App* scaling = verb(job, given, "vus", true);
  scaling->add_option("N", given->vus, "Number of virtual users, 0 to max_vus of the workflow")->required();
  add_text(scaling, "--workflow", given->workflow, "NAME", "The workflow (default: the only one with that executor)");
  scaling->add_flag("--json", given->json, "Print JSON");
  asks(scaling, &scale);

  CLI::App* listing = verb(job, given, "list", false);
  listing->add_flag("--json", given->json, "Print JSON");
  asks(listing, &list_jobs);

  CLI::App* showing_workers = verb(job, given, "workers", false);
  showing_workers->add_flag("--json", given->json, "Print JSON");
  asks(showing_workers, &workers);

  CLI::App* showing_datacenters = verb(job, given, "datacenters", false);
  showing_datacenters->add_flag("--json", given->json, "Print JSON");
  asks(showing_datacenters, &datacenters);

  job->footer(
      "Any manager answers.\n"
      "\n"
      "Exit codes: 0 done, 1 refused, or no manager answered, 104 wrong command line, settings or scenario; watch and "
      "results: those of `bellwether run`.");
}

}  // namespace bellwether::cli
