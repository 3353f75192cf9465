// A plan and its seconds, and a folder, for the tests of this room.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "load/metrics/window.h"
#include "load/plan/plan.h"

namespace bellwether::results {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "bellwether-results-").string() + std::string(6, 'X');
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline plan::Plan sample_plan() {
  plan::Plan plan;
  plan.name = "shop";
  plan.workflows.resize(1);
  plan.workflows[0].name = "browse";
  plan.steps = {{.workflow = 0, .index = 0, .name = "browse.list", .measured = true},
                {.workflow = 0, .index = 1, .name = "browse.pay", .measured = true}};
  plan.checks = {{.step = 1, .name = "status is 200"}};
  return plan;
}

inline metrics::Window sample_second(uint64_t second, uint64_t requests = 10) {
  metrics::Window window({2, 1, 1});
  window.second = second;
  for (metrics::StepWindow& step : window.steps) {
    step.count = requests;
    step.service.record(Duration::micros(500 + static_cast<int64_t>(second)), requests);
    step.response.answered.record(Duration::micros(700 + static_cast<int64_t>(second)), requests);
    step.phases[4].record(Duration::micros(300), requests);
    step.status.add(200, requests);
  }
  window.steps[1].failed = 1;
  window.workflows[0].iterations = requests;
  window.workflows[0].vus_active = 5;
  window.checks = {{requests, 0}};
  return window;
}

}  // namespace bellwether::results
