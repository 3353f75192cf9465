// bellwether job: load tests that a cluster runs.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/units.h"
#include "base/wall_text.h"
#include "cli/commands.h"
#include "cli/job_session.h"
#include "cli/run_screen.h"
#include "cli/sources.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "dispatch/codec/bundle_codec.h"

namespace bellwether::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kPatience = Duration::seconds(10);
constexpr int kExitNo = 1;

struct Given {
  ClusterOptions cluster;
  std::string job;
  std::string id;
  std::string file;
  std::vector<std::string> sets;
  std::vector<std::string> outs;
  std::vector<std::string> workflows;
  std::string why;
  std::string ui = "ci";
  uint64_t seed = 0;
  bool graceful = false;
  bool json = false;
};

int refused(const std::string& text) {
  std::fprintf(stderr, "bellwether job: %s\n", printable(text).c_str());
  return kExitNo;
}

void print(const Json& json) { std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str()); }

std::string moment(WallTime at) { return at.unix_ns == 0 ? "-" : format_wall(at); }

// With the session open; closes it.
template <class Act>
int with_session(const Given& given, Act act) {
  auto session = open_job_session(given.cluster, "job");
  if (!session) return kExitUsage;
  const int exit_code = act(*session);
  session->close();
  return exit_code;
}

Result<dispatch::Watched> look(JobSession& session, const std::string& job) {
  dispatch::Watch letter;
  letter.job = job;
  auto answer = session.ask(letter, kPatience);
  if (!answer) return tl::unexpected(answer.error());
  auto* watched = std::get_if<dispatch::Watched>(&*answer);
  if (watched == nullptr) return fail(Errc::kProtocol, "a manager answers something else than it was asked");
  return std::move(*watched);
}

Result<plan::Plan> plan_of_job(JobSession& session, const std::string& job) {
  auto answer = session.ask(dispatch::FetchBundle{job}, kPatience);
  if (!answer) return tl::unexpected(answer.error());
  const auto* letter = std::get_if<dispatch::BundleLetter>(&*answer);
  if (letter == nullptr) return fail(Errc::kProtocol, "a manager answers something else than it was asked");
  auto bundle = dispatch::decode_bundle(letter->bytes);
  if (!bundle) return tl::unexpected(bundle.error());
  return plan::plan_of(*bundle);
}

Result<std::vector<std::string>> json_files(const std::vector<std::string>& outs) {
  std::vector<std::string> files;
  for (const std::string& out : outs) {
    if (!out.starts_with("json=") || out.size() == 5) {
      return fail(Errc::kInvalid, "--out '" + out + "': write json=FILE");
    }
    files.push_back(out.substr(5));
  }
  return files;
}

// --- the verbs
// --------------------------------------------------------------------------------------------------------

int submit(const Given& given) {
  auto sets = parse_sets(given.sets);
  auto bundled =
      sets ? load_scenario(given.file, std::move(*sets), {}) : Result<plan::Bundled>(tl::unexpected(sets.error()));
  if (!bundled) {
    refused(bundled.error().message);
    return kExitUsage;
  }
  return with_session(given, [&](JobSession& session) {
    const auto job = submit_job(session, *bundled, given.seed, given.id, "job submit");
    if (!job) return kExitNo;
    if (given.json) {
      print({{"job", *job}});
    } else {
      std::printf("%s\n", job->c_str());
    }
    return kExitOk;
  });
}

Json json_of(const dispatch::Watched& watched) {
  const dispatch::JobSheet& sheet = watched.sheet;
  Json out = {{"job", sheet.id},
              {"name", sheet.name},
              {"by", sheet.by},
              {"state", to_string(sheet.state)},
              {"why", sheet.why},
              {"queue_position", watched.position},
              {"manager", watched.owner},
              {"submitted", moment(sheet.submitted)},
              {"started", moment(sheet.started)},
              {"ended", moment(sheet.ended)},
              {"elapsed_s", sheet.elapsed.seconds_f()}};
  Json workflows = Json::array();
  for (const dispatch::WorkflowSheet& one : sheet.workflows) {
    workflows.push_back(
        {{"state", to_string(one.state)}, {"why", one.why}, {"parts", one.parts}, {"retries", one.retries}});
  }
  Json shares = Json::array();
  for (const dispatch::ShareSheet& one : sheet.shares) {
    shares.push_back({{"share", one.id.value()},
                      {"workflow", one.workflow},
                      {"worker", one.worker},
                      {"parts", one.parts.count},
                      {"of", one.parts.of},
                      {"state", to_string(one.state)}});
  }
  Json events = Json::array();
  for (const dispatch::JobEvent& one : sheet.events) {
    events.push_back({{"t", one.at.seconds_f()}, {"kind", one.kind}, {"detail", one.detail}});
  }
  Json lost = Json::array();
  for (const plan::Loss& one : sheet.losses) {
    lost.push_back(
        {{"from", one.from.seconds_f()}, {"to", one.to.seconds_f()}, {"share", one.share}, {"cause", one.cause}});
  }
  if (watched.live != dispatch::LiveSum()) {
    out["live"] = {
        {"requests", watched.live.requests}, {"failed", watched.live.failed}, {"iterations", watched.live.iterations},
        {"dropped", watched.live.dropped},   {"vus", watched.live.vus},       {"age_s", watched.live.age.seconds_f()}};
  }
  out["workflows"] = std::move(workflows);
  out["shares"] = std::move(shares);
  out["events"] = std::move(events);
  out["lost"] = std::move(lost);
  return out;
}

std::string words_of(const dispatch::LiveSum& live) {
  std::string out = format_count(live.requests, "request") + ", " + format_count(live.failed) + " failed, ";
  if (live.dropped > 0) out += format_count(live.dropped) + " dropped, ";
  return out + format_count(static_cast<uint64_t>(live.vus), "user") + " (" + format_duration(live.age) + " ago)";
}

void print_status(const dispatch::Watched& watched, const plan::Plan* plan) {
  const dispatch::JobSheet& sheet = watched.sheet;
  std::printf("job        %s\nscenario   %s\nby         %s\nstate      %s%s\n", sheet.id.c_str(),
              printable(sheet.name).c_str(), printable(sheet.by).c_str(), std::string(to_string(sheet.state)).c_str(),
              sheet.why.empty() ? "" : (" (" + printable(sheet.why) + ")").c_str());
  if (watched.position > 0) std::printf("queue      %u. in it\n", watched.position);
  std::printf("manager    %s\nsubmitted  %s\nstarted    %s\nended      %s\n", printable(watched.owner).c_str(),
              moment(sheet.submitted).c_str(), moment(sheet.started).c_str(), moment(sheet.ended).c_str());
  if (watched.live != dispatch::LiveSum()) std::printf("now        %s\n", words_of(watched.live).c_str());
  Table workflows({"WORKFLOW", "STATE", "PARTS", "WORKERS", "WHY"});
  for (std::size_t w = 0; w < sheet.workflows.size(); ++w) {
    std::string who;
    for (const dispatch::ShareSheet& share : sheet.shares) {
      if (share.workflow != w || !dispatch::is_live(share)) continue;
      who += (who.empty() ? "" : ", ") + share.worker + " (" + std::to_string(share.parts.count) + ")";
    }
    const std::string name =
        plan != nullptr && w < plan->workflows.size() ? plan->workflows[w].name : std::to_string(w);
    workflows.add({name, std::string(to_string(sheet.workflows[w].state)), std::to_string(sheet.workflows[w].parts),
                   who.empty() ? "-" : who, sheet.workflows[w].why});
  }
  std::printf("\n%s", workflows.text().c_str());
  for (const plan::Loss& one : sheet.losses) {
    std::printf("lost       %.1f s to %.1f s, %.0f%%: %s\n", one.from.seconds_f(), one.to.seconds_f(), one.share * 100,
                printable(one.cause).c_str());
  }
}

int status(const Given& given) {
  return with_session(given, [&](JobSession& session) {
    const auto watched = look(session, given.job);
    if (!watched) return refused(watched.error().message);
    if (given.json) {
      print(json_of(*watched));
      return kExitOk;
    }
    const auto plan = plan_of_job(session, given.job);
    print_status(*watched, plan ? &*plan : nullptr);
    return kExitOk;
  });
}

int watch(const Given& given) {
  auto files = json_files(given.outs);
  if (!files || (given.ui != "ci" && given.ui != "none")) {
    refused(files ? "--ui '" + given.ui + "': write none or ci" : files.error().message);
    return kExitUsage;
  }
  if (auto can = can_deliver(*files); !can) {
    refused(can.error().message);
    return kExitUsage;
  }
  return with_session(given, [&](JobSession& session) {
    const auto plan = plan_of_job(session, given.job);
    if (!plan) return refused(plan.error().message);
    FollowOptions options;
    options.progress = given.ui == "ci";
    options.json_files = *files;
    options.cancel_on_signal = false;
    options.verb = "job watch";
    return follow_job(session, *plan, given.job, options);
  });
}

int results(const Given& given) {
  auto files = json_files(given.outs);
  if (!files) {
    refused(files.error().message);
    return kExitUsage;
  }
  if (auto can = can_deliver(*files); !can) {
    refused(can.error().message);
    return kExitUsage;
  }
  return with_session(given, [&](JobSession& session) {
    const auto plan = plan_of_job(session, given.job);
    if (!plan) return refused(plan.error().message);
    node::JobFollower follower(*session.client, *plan, given.job);
    const Instant deadline = session.runtime->read_clock() + kPatience;
    const auto news = session.runtime->run(follower.next(Duration::zero(), deadline, nullptr));
    if (!news) return refused(news.error().message);
    if (!follower.final()) {
      return refused("job '" + given.job + "' is " + std::string(to_string(follower.sheet().state)) +
                     ": it has no result yet; `bellwether job watch` waits for it");
    }
    return deliver(report::conclude(follower.totals(), node::course_of(follower.sheet())), *files, "job results");
  });
}

int cancel(const Given& given) {
  return with_session(given, [&](JobSession& session) {
    dispatch::Cancel letter;
    letter.job = given.job;
    letter.by = session.by;
    letter.why = given.why;
    letter.how = given.graceful ? dispatch::StopHow::kGraceful : dispatch::StopHow::kAtOnce;
    letter.workflows = given.workflows;
    const auto answer = session.ask(letter, kPatience);
    if (!answer) return refused(answer.error().message);
    if (given.json) {
      print({{"job", given.job}, {"cancelled", true}});
    } else {
      std::printf("job %s is being stopped%s\n", given.job.c_str(), given.graceful ? ", iterations may finish" : "");
    }
    return kExitOk;
  });
}

int list(const Given& given) {
  return with_session(given, [&](JobSession& session) {
    const auto answer = session.ask(dispatch::ListJobs{}, kPatience);
    if (!answer) return refused(answer.error().message);
    const auto* jobs = std::get_if<dispatch::JobList>(&*answer);
    if (jobs == nullptr) return refused("a manager answers something else than it was asked");
    Json out = Json::array();
    Table table({"JOB", "STATE", "SCENARIO", "BY", "SUBMITTED", "MANAGER", "WHY"});
    for (const dispatch::JobLine& one : jobs->jobs) {
      out.push_back({{"job", one.id},
                     {"state", to_string(one.state)},
                     {"name", one.name},
                     {"by", one.by},
                     {"submitted", moment(one.submitted)},
                     {"started", moment(one.started)},
                     {"ended", moment(one.ended)},
                     {"manager", one.owner},
                     {"why", one.why}});
      table.add(
          {one.id, std::string(to_string(one.state)), one.name, one.by, moment(one.submitted), one.owner, one.why});
    }
    if (given.json) {
      print(out);
    } else {
      std::fputs(table.text().c_str(), stdout);
      if (jobs->cut) std::printf("(the newest %zu)\n", jobs->jobs.size());
    }
    return kExitOk;
  });
}

int workers(const Given& given) {
  return with_session(given, [&](JobSession& session) {
    const auto answer = session.ask(dispatch::ListWorkers{}, kPatience);
    if (!answer) return refused(answer.error().message);
    const auto* found = std::get_if<dispatch::WorkerList>(&*answer);
    if (found == nullptr) return refused("a manager answers something else than it was asked");
    Json out = Json::array();
    Table table({"WORKER", "CORES", "FREE", "STATE", "SHARES", "WHY"});
    for (const dispatch::WorkerLine& one : found->workers) {
      out.push_back({{"worker", one.name},
                     {"cores", one.cores},
                     {"free", one.free},
                     {"state", one.state},
                     {"shares", one.shares},
                     {"why", one.reason}});
      table.add({one.name, std::to_string(one.cores), std::to_string(one.free), one.state, std::to_string(one.shares),
                 one.reason});
    }
    if (given.json) {
      print(out);
    } else {
      std::fputs(table.text().c_str(), stdout);
    }
    return kExitOk;
  });
}

CLI::App* verb(CLI::App* job, const std::shared_ptr<Given>& given, const char* name, const char* help, bool of_a_job) {
  CLI::App* command = new_verb(*job, name, help);
  if (of_a_job) command->add_option("JOB", given->job, "Its id")->required();
  add_cluster_options(command, given->cluster);
  return command;
}

}  // namespace

void add_job(CLI::App& app, int& exit_code) {
  auto given = std::make_shared<Given>();
  CLI::App* job = new_verb(app, "job", "Load tests that a cluster runs");
  job->require_subcommand(1);

  CLI::App* submitting = verb(job, given, "submit", "Give a scenario to the cluster, and do not wait for it", false);
  submitting->add_option("FILE", given->file, "Scenario file")->required();
  submitting->add_option("-e,--set", given->sets, "NAME=VALUE: sets a variable of the scenario")
      ->take_all()
      ->allow_extra_args(false);
  submitting->add_option("--id", given->id, "The job's id: giving the same twice starts it once (usual: drawn)");
  submitting->add_option("--seed", given->seed, "Seed of everything random (default: from the system)");
  submitting->add_flag("--json", given->json, "As JSON");
  submitting->callback([given, &exit_code] { exit_code = submit(*given); });

  CLI::App* showing = verb(job, given, "status", "How it stands: its workflows, workers, losses", true);
  showing->add_flag("--json", given->json, "As JSON, with its events");
  showing->callback([given, &exit_code] { exit_code = status(*given); });

  CLI::App* watching = verb(job, given, "watch", "Follow it to its end, as `run` does; Ctrl-C leaves it alone", true);
  watching->add_option("-o,--out", given->outs, "json=FILE: writes the result")->take_all()->allow_extra_args(false);
  watching->add_option("--ui", given->ui, "none, or ci: a line every few seconds")->capture_default_str();
  watching->callback([given, &exit_code] { exit_code = watch(*given); });

  CLI::App* showing_results = verb(job, given, "results", "The result of one that has ended", true);
  showing_results->add_option("-o,--out", given->outs, "json=FILE: writes the result")
      ->take_all()
      ->allow_extra_args(false);
  showing_results->callback([given, &exit_code] { exit_code = results(*given); });

  CLI::App* cancelling = verb(job, given, "cancel", "Stop it, or some of its workflows", true);
  cancelling->add_option("WORKFLOW", given->workflows, "Only these");
  cancelling->add_option("--why", given->why, "For the audit log and the report");
  cancelling->add_flag("--graceful", given->graceful, "Iterations that run may finish");
  cancelling->add_flag("--json", given->json, "As JSON");
  cancelling->callback([given, &exit_code] { exit_code = cancel(*given); });

  CLI::App* listing = verb(job, given, "list", "All jobs that the managers know, the newest first", false);
  listing->add_flag("--json", given->json, "As JSON");
  listing->callback([given, &exit_code] { exit_code = list(*given); });

  CLI::App* showing_workers = verb(job, given, "workers", "The workers, and what of their cores is free", false);
  showing_workers->add_flag("--json", given->json, "As JSON");
  showing_workers->callback([given, &exit_code] { exit_code = workers(*given); });

  job->footer(
      "Any manager answers; --cluster-config says the cluster's name and how to prove that one belongs to it.\n\n"
      "Examples:\n"
      "  bellwether job submit scenario.yaml --cluster-config client.yaml --managers 10.0.0.1,10.0.0.2\n"
      "  bellwether job watch 5f0c2a9e11d04b7a --cluster-config client.yaml\n"
      "  bellwether job cancel 5f0c2a9e11d04b7a --why 'wrong target' --cluster-config client.yaml\n"
      "  bellwether job results 5f0c2a9e11d04b7a --out json=result.json --cluster-config client.yaml\n\n"
      "Exit codes: 0 done, 1 the cluster says no or does not answer, 104 wrong command line, settings or scenario;\n"
      "  of watch and results those of `bellwether run`.");
}

}  // namespace bellwether::cli
