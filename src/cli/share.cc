// bellwether share: the process in which a worker runs its part of a load test. Not for people.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/machine_limits.h"
#include "cli/verb.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "jobs/share/share_main.h"
#include "load/plan/bundle.h"

namespace bellwether::cli {
namespace {

constexpr uint64_t kShareDescriptors = 1 << 20;
constexpr int kExitFailed = 1;

Result<plan::Plan> plan_of_bytes(std::string_view bytes) {
  BW_TRY(const auto bundle, dispatch::decode_bundle(bytes));
  return plan::plan_of(bundle);
}

int run_share(int socket) {
  if (socket < 0) {
    std::fputs(
        "bellwether share: a worker starts this for its part of a load test, and speaks to it through a socket; it "
        "does "
        "nothing by hand.\nSee 'bellwether run --help'.\n",
        stderr);
    return kExitUsage;
  }
  raise_descriptors(kShareDescriptors);
  const Status ended = node::share_main(socket, &plan_of_bytes);
  if (ended) return kExitOk;
  std::fprintf(stderr, "bellwether share: %s\n", ended.error().message.c_str());
  return kExitFailed;
}

}  // namespace

void add_share(CLI::App& app, int& exit_code) {
  auto socket = std::make_shared<int>(-1);
  CLI::App* command = new_verb(app, "share", "Run a part of a load test for the worker that starts this");
  command->group("");  // not in the list of commands
  command->add_option("--socket", *socket, "Descriptor of the socket to the worker");
  command->callback([socket, &exit_code] { exit_code = run_share(*socket); });
}

}  // namespace bellwether::cli
