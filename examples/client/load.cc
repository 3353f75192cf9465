// Runs a scenario on a cluster, and tells what happens:
//
//   load SETTINGS SCENARIO [NAME=VALUE…]
//
// SETTINGS is a file with the cluster's name, seeds and secret, such as client.yaml of `bellwether cluster up`. The
// exit code is that of `bellwether run`.
#include <cstdio>
#include <string>

#include "bellwether/client.h"

namespace {

using namespace bellwether::client;

double millis(Span span) { return std::chrono::duration<double, std::milli>(span).count(); }

// Called on the client's thread, one call after the other.
class Printer final : public Listener {
 public:
  void on_status(const Status& status) override {
    if (status.state == state_) return;
    state_ = status.state;
    std::printf("job %s is %s\n", status.job.c_str(), std::string(to_string(state_)).c_str());
  }
  void on_window(const Window& window) override {
    if (window.kind != Window::Kind::kSecond) return;
    std::printf("second %llu: %.0f req/s, %llu failed, p99 %.2f ms\n", static_cast<unsigned long long>(window.second),
                window.figures.rate_per_s, static_cast<unsigned long long>(window.figures.failed),
                millis(window.figures.response.p99));
  }
  void on_event(const Event& event) override { std::printf("%s: %s\n", event.kind.c_str(), event.detail.c_str()); }
  void on_loss(const Loss& loss) override { std::printf("lost: %s\n", loss.cause.c_str()); }
  void on_workflow(const WorkflowResult& result) override {
    std::printf("workflow %s %s: %llu iterations\n", result.name.c_str(), std::string(to_string(result.state)).c_str(),
                static_cast<unsigned long long>(result.figures.iterations));
  }

 private:
  JobState state_ = JobState::kSubmitted;
};

int give_up(const Error& error) {
  for (const Diagnostic& one : error.diagnostics) std::fprintf(stderr, "%s\n", one.text.c_str());
  std::fprintf(stderr, "load: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::fputs("load SETTINGS SCENARIO [NAME=VALUE…]\n", stderr);
    return 1;
  }
  Options options;
  options.settings_file = words[1];
  Scenario scenario;
  scenario.file = words[2];
  for (int i = 3; i < count; ++i) {
    const std::string word = words[i];
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      std::fprintf(stderr, "load: '%s' is no NAME=VALUE\n", word.c_str());
      return 1;
    }
    scenario.variables.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  Printer printer;  // outlives the job
  const auto client = Client::connect(options);
  if (!client) return give_up(client.error());
  auto job = (*client)->submit(scenario, {}, &printer);
  if (!job) return give_up(job.error());
  const auto result = job->wait();
  if (!result) return give_up(result.error());
  std::printf("%s: %s\n", result->verdict.c_str(), result->reason.c_str());
  for (const std::string& one : result->failed_thresholds) std::printf("  %s\n", one.c_str());
  return result->exit_code;
}
