// What can be asked of a local run from outside while it goes on: to tell how it stands, to pause, to go on, to stop,
// and to give a workflow that is controlled from outside another number of virtual users. Requests and answers are JSON
// objects (docs/controlling.md).
#pragma once

#include <string>
#include <string_view>

#include "load/local/control_socket.h"
#include "load/local/local_run.h"

namespace bellwether::node {

class RunControls final : public ControlSocket::Handler {
 public:
  // `run` must outlive it.
  RunControls(LocalRun& run, const plan::Plan& plan, std::string id) : run_(run), plan_(plan), id_(std::move(id)) {}

  // {"do": "status" | "pause" | "resume" | "stop" | "vus", "vus": 50, "workflow": "name"} gives {"ok": true, …state…}
  // or
  // {"ok": false, "error": "why"}.
  std::string answer(std::string_view line) override;

 private:
  Status obey(std::string_view line);

  LocalRun& run_;
  const plan::Plan& plan_;
  std::string id_;
};

}  // namespace bellwether::node
