// The guardian: a small process between `bellwether lead` and the command it runs. It starts the command in a process
// group of its own, and ends it and everything it has left behind when it is told to, when the leader's process is
// gone, or when the time for it has come (deadline_page.h). It needs no store, no network and no disk, so it acts in
// time when its leader is stopped, starved or stuck.
//
// Between the two lies a socket of packets. To the guardian: "signal N" (to the group), "stop" (in good order; killed
// at the kill time), "kill" (now), "look" (the times on the page are earlier than before). From it: "started PID",
// "failed TEXT", "exit N" or "signal N" when the command itself has ended, and "empty" when nothing is left of it.
#pragma once

#include <string>
#include <vector>

namespace bellwether::lead {

struct GuardianCall {
  int page_fd = -1;
  int socket_fd = -1;
  int lock_fd = -1;              // kept open to the end, unless it is -1
  bool command_has_lock = true;  // and by the command
  int stop_signal = 15;          // SIGTERM
  std::vector<std::string> command;

  // The command line of the guardian after the program's name, and back.
  std::vector<std::string> arguments() const;
  static bool is_one(int argc, char** argv);
  static GuardianCall parse(int argc, char** argv);
};

// The whole life of the process. Its exit code means nothing.
int guardian_main(const GuardianCall& call);

}  // namespace bellwether::lead
