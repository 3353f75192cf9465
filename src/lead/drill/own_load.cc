#include "lead/drill/own_load.h"

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lead/drill/last_words.h"

namespace bellwether::lead {
namespace {

constexpr Duration kEndMost = Duration::seconds(40);  // a run ends its iterations in good order

DrillLoad read_result(const std::string& path) {
  DrillLoad load;
  std::ifstream file(path);
  const auto result = nlohmann::json::parse(file, nullptr, false);
  if (!result.is_object() || !result.contains("totals")) {
    load.error = "the load left no result";
    return load;
  }
  load.requests = result["totals"].value("requests", uint64_t{0});
  load.failed = result["totals"].value("failed", uint64_t{0});
  return load;
}

}  // namespace

runtime::task<Status> OwnLoad::start() {
  runtime::SpawnOptions spawn;
  // The shell joins the two outputs: why a load does not run is said on the one, the rest on the other.
  const std::string us = "/proc/" + std::to_string(runtime_.self().pid) + "/exe";
  spawn.argv = {"/bin/sh", "-c",    R"(exec "$0" "$@" 2>&1)", us, "run", scenario_, "--ui",
                "none",    "--out", "json=" + result_};
  spawn.group = runtime::SpawnOptions::Group::kOwnGroup;
  spawn.no_input = true;
  spawn.capture = 64 * 1024;  // standard output is that of the report
  spawn.die_with_us = true;
  BW_CO_TRY(process_, co_await runtime_.spawn(std::move(spawn)));
  co_return Status();
}

runtime::task<DrillLoad> OwnLoad::stop() {
  DrillLoad load;
  if (process_ == nullptr) co_return load;
  // One that has ended already, because it was short or could not run, has left its result or said why.
  [[maybe_unused]] const Status asked = process_->signal(SIGINT);
  const auto end = co_await process_->wait(runtime_.read_clock() + kEndMost, nullptr);
  const std::string words = last_words(process_->output());
  process_.reset();
  if (!end) {
    load.error = "the load does not end" + words;
    co_return load;
  }
  load = read_result(result_);
  if (!load.error.empty()) load.error += words;
  co_return load;
}

}  // namespace bellwether::lead
