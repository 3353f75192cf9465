// What the tests of the client library know of the cluster that they run against: client_test.py starts it, and says
// where it is in the environment.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bellwether/client.h"

namespace bellwether::client {

inline std::string given(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) {
    std::fprintf(stderr, "the variable %s is not set: run tests/integration/client_test.py\n", variable);
    std::exit(2);
  }
  return value;
}

// "m1=4711,m2=…": the processes of the cluster.
inline std::map<std::string, int> processes() {
  std::map<std::string, int> out;
  const std::string text = given("BW_TEST_PROCESSES");
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t equals = text.find('=', from);
    const std::size_t comma = std::min(text.find(',', from), text.size());
    out[text.substr(from, equals - from)] = std::atoi(text.substr(equals + 1, comma - equals - 1).c_str());
    from = comma + 1;
  }
  return out;
}

inline Options options() {
  Options out;
  out.settings_file = given("BW_TEST_SETTINGS");
  out.by = "test";
  return out;
}

inline std::unique_ptr<Client> connect(const Options& how = options()) {
  auto client = Client::connect(how);
  if (client) return std::move(*client);
  ADD_FAILURE() << client.error().message;
  return nullptr;
}

// Workflows of 20 requests a second: the name of each, and how many seconds.
inline Scenario scenario(const std::vector<std::pair<std::string, int>>& workflows) {
  Scenario out;
  out.text = "workflows:\n";
  for (const auto& [name, seconds] : workflows) {
    out.text += "  " + name +
                ":\n    executor: constant-arrival-rate\n    rate: 20/s\n    duration: " + std::to_string(seconds) +
                "s\n    vus: {preallocated: 20, max: 200}\n    steps:\n      get:\n" + "        http: {get: \"" +
                given("BW_TEST_TARGET") + "/json\"}\n";
  }
  return out;
}

// Notes what it is told, in order, and lets others wait for it.
class Noting : public Listener {
 public:
  void on_status(const Status& status) override {
    const std::lock_guard lock(mutex_);
    statuses.push_back(status);
    note("status " + std::string(to_string(status.state)));
  }
  void on_event(const Event& event) override {
    const std::lock_guard lock(mutex_);
    note("event " + event.kind);
  }
  void on_window(const Window& window) override {
    const std::lock_guard lock(mutex_);
    windows.push_back(window);
    note("window");
  }
  void on_workflow(const WorkflowResult& result) override {
    const std::lock_guard lock(mutex_);
    workflows.push_back(result);
    note("workflow " + result.name);
  }
  void on_not_cancelled(const Error& why) override {
    const std::lock_guard lock(mutex_);
    note("not cancelled " + std::string(to_string(why.code)));
  }
  void on_result(const Result& result) override {
    const std::lock_guard lock(mutex_);
    note("result " + result.verdict);
  }
  void on_given_up(const Error& why) override {
    const std::lock_guard lock(mutex_);
    note("given up " + std::string(to_string(why.code)));
  }

  // Until it was told this so many times.
  void wait_for(const std::string& text, std::size_t times = 1) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock,
                  [&] { return static_cast<std::size_t>(std::count(notes.begin(), notes.end(), text)) >= times; });
  }
  std::size_t place_of(const std::string& text) const {
    return static_cast<std::size_t>(std::find(notes.begin(), notes.end(), text) - notes.begin());
  }

  // To be read when nothing more comes.
  std::vector<std::string> notes;
  std::vector<Status> statuses;
  std::vector<Window> windows;
  std::vector<WorkflowResult> workflows;
  std::set<std::thread::id> threads;

 protected:
  void note(std::string text) {
    threads.insert(std::this_thread::get_id());
    notes.push_back(std::move(text));
    changed_.notify_all();
  }
  std::mutex mutex_;

 private:
  std::condition_variable changed_;
};

// All requests of what was told: each second once, later parts of it, and at most one whole before them.
inline uint64_t requests_of(const std::vector<Window>& windows) {
  uint64_t sum = 0;
  for (const Window& one : windows) {
    if (one.kind == Window::Kind::kWhole) sum = 0;
    sum += one.figures.requests;
  }
  return sum;
}

}  // namespace bellwether::client
