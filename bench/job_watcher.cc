// Watches a job of a cluster as a screen would, and prints a JSON object for each answer: how old the counters were,
// how far the closed seconds were behind the run, and how large the job record was, at the end also as it is stored.
//   job_watcher SECRET_FILE MANAGER,MANAGER,... JOB

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include "core/runtime/epoll/epoll_runtime.h"
#include "jobs/client/job_follower.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "jobs/dispatch/codec/job_record_codec.h"
#include "load/plan/load.h"

namespace {

using namespace bellwether;  // NOLINT(google-build-using-namespace)
using runtime::task;

constexpr Duration kPatience = Duration::seconds(30);

std::size_t stored_bytes(const dispatch::JobRecord& record) {
  const auto encoded = dispatch::encode_record(record);
  return encoded ? std::max(encoded->value.size(), encoded->large.size()) : 0;
}

void print(const node::JobFollower& job, WallTime now) {
  const int64_t since = job.record().started.unix_ns == 0 ? 0 : now.unix_ns - job.record().started.unix_ns;
  std::printf(
      "{\"state\": \"%s\", \"run_s\": %.3f, \"closed_s\": %.3f, \"requests\": %llu, \"users\": %lld, "
      "\"age_s\": %.3f, \"record_bytes\": %zu, \"stored_bytes\": %zu}\n",
      std::string(to_string(job.record().state)).c_str(), static_cast<double>(since) / 1e9,
      job.totals().elapsed().seconds_f(), static_cast<unsigned long long>(job.live().requests),
      static_cast<long long>(job.live().vus), std::chrono::duration<double>(job.live().age).count(),
      dispatch::record_bytes(job.record()).size(), job.final() ? stored_bytes(job.record()) : 0);
  std::fflush(stdout);
}

task<int> watch(runtime::EpollRuntime* runtime, node::JobClient* client, std::string job) {
  const auto answer = co_await client->ask(dispatch::FetchBundle{job}, runtime->read_clock() + kPatience, nullptr);
  const auto* message = answer ? std::get_if<dispatch::BundleMessage>(&*answer) : nullptr;
  auto bundle = message == nullptr ? Result<scenario::Bundle>(fail(Errc::kNotFound, "no bundle"))
                                   : dispatch::decode_bundle(message->bytes);
  const auto plan = bundle ? plan::plan_of(*bundle) : Result<plan::Plan>(tl::unexpected(bundle.error()));
  if (!plan) {
    std::fprintf(stderr, "job_watcher: %s\n", (answer ? plan.error() : answer.error()).message.c_str());
    co_return 1;
  }
  node::JobFollower follower(*client, *plan, std::move(job));
  follower.ask_for_live(dispatch::kMinLive);
  while (!follower.final()) {
    const auto news = co_await follower.next(Duration::seconds(10), runtime->read_clock() + kPatience, nullptr);
    if (!news) {
      // A manager with too much to do turns screens away first; what is missing is seen in the times.
      std::fprintf(stderr, "job_watcher: %s\n", news.error().message.c_str());
      if (news.error().code != Errc::kExhausted) co_return 1;
      continue;
    }
    if (*news) print(follower, runtime->wall_now());
  }
  co_await client->close();
  co_return 0;
}

int usage() {
  std::fprintf(stderr, "usage: job_watcher SECRET_FILE MANAGER,MANAGER,... JOB\n");
  return 100;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return usage();
  std::string text;
  std::ifstream(argv[1]) >> text;
  auto secret = wire::Secret::take(std::move(text));
  auto runtime = runtime::EpollRuntime::create({});
  if (!secret || !runtime) return usage();
  cluster::NodeConfig config;
  config.cluster = "bench";
  config.environment = config.datacenter = "default";
  node::JobClient::Settings settings;
  settings.name = "watcher";
  const std::string managers = argv[2];
  for (std::size_t from = 0; from < managers.size();) {
    const std::size_t comma = std::min(managers.find(',', from), managers.size());
    const auto place = parse_host_port(managers.substr(from, comma - from), cluster::kDefaultPort);
    if (!place) return usage();
    settings.managers.push_back(*place);
    from = comma + 1;
  }
  auto client = node::JobClient::make(**runtime, config, wire::Keyring(std::move(*secret)), std::move(settings));
  if (!client) return usage();
  return (*runtime)->run(watch(runtime->get(), client->get(), argv[3]));
}
