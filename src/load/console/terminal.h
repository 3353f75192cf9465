// The terminal of a screen: entered, left, suspended, and restored on every way out of the process. Nothing here waits
// for the terminal: it keeps bytes that the terminal does not take at once.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
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

}  // namespace bellwether::console
