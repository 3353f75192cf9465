// The terminal of a screen: entered, left, suspended, and restored on every way out of the process. Nothing here waits
// for the terminal: it keeps bytes that the terminal does not take at once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "load/console/grid.h"
#include "load/console/terminfo.h"

struct termios;

namespace bellwether::console {

// One thread. One at a time in a process.
class Terminal {
 public:
  struct Size {
    int columns = 80;
    int rows = 24;
  };

  // That of standard output. kUnsupported: it is none, or lacks a need of the screen; $TERM names its kind, and
  // $NO_COLOR asks for no colour.
  static Result<std::unique_ptr<Terminal>> open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // To wait for.
  int fd() const { return fd_; }
  Size size() const;
  const Terminfo& codes() const { return codes_; }
  // Whether this process may read from it and set it: no background job of a shell.
  bool in_foreground() const;

  // Takes the screen: keys come as they are pressed and are not shown. If standard error is the same terminal, its text
  // is kept and written at leave(). The second call does nothing.
  void enter();
  void leave();
  bool entered() const { return entered_; }
  // Leaves it and stops the process, as the terminal's Ctrl-Z asks; returns when the process continues.
  void suspend();

  // Writes as much as the terminal takes; keeps the rest. REQUIRES !busy().
  void send(std::string bytes);
  // Continues to write the rest.
  void flush();
  bool busy() const { return !pending_.empty(); }
  // The typed bytes; empty: none. Never waits.
  std::string read();
  // It was closed.
  bool gone() const { return gone_; }

 private:
  Terminal(int fd, Terminfo codes);
  void keep_errors();
  void tell_errors();

  int fd_;
  Terminfo codes_;
  std::unique_ptr<termios> modes_;  // as they were
  std::string pending_;
  int errors_ = -1;       // standard error, while it is kept away
  int kept_errors_ = -1;  // where it goes
  bool entered_ = false;
  bool gone_ = false;
};

// Whether the user's locale writes UTF-8: $LC_ALL, $LC_CTYPE or $LANG, the first that is set.
bool locale_is_utf8();

// The bytes that change a terminal from one grid to another: only the cells that differ.

// `before` is the current content; if its size is not that of `after`, everything is drawn anew. Empty when nothing
// differs. The cell in the last column of the last row is never written: some terminals scroll then.
std::string paint(const Grid& before, const Grid& after, const Terminfo& codes);

// Restores a terminal on each end of the process: by a signal that kills it, by a failed check, by exit(). Only SIGKILL
// leaves no time for that. One terminal a process.
struct RescuePlan {
  int terminal = -1;               // a separate description of it, without blocking
  const termios* modes = nullptr;  // to set; copied
  std::string leave;               // to write; at most kMaxRescueLeave
  int kept_errors = -1;  // a file with the text for standard error meanwhile, to be written after it; -1: none
  int errors = -1;       // standard error before that
};
inline constexpr std::size_t kMaxRescueLeave = 512;

// From now on. REQUIRES that nothing is armed.
void arm_rescue(const RescuePlan& plan);
// Undoes arm_rescue(). The caller does the restoring itself.
void disarm_rescue();

// Writes what a terminal takes within `patience_ms`, and returns the number of bytes. Safe in a signal handler.
std::size_t write_patiently(int fd, const char* bytes, std::size_t size, int patience_ms);
// Writes the content of a file, in the same way.
void copy_patiently(int from, int to, int patience_ms);

}  // namespace bellwether::console
