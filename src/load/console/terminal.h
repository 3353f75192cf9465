// The terminal that a screen is drawn on: entered, left, suspended, and given back on every way out of the process.
// Nothing here waits for the terminal: what it does not take at once is kept until it does.
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

  // That of standard output. kUnsupported: it is none, or cannot do what a screen needs; $TERM says which kind, and
  // $NO_COLOR asks for none.
  static Result<std::unique_ptr<Terminal>> open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // To wait for.
  int fd() const { return fd_; }
  Size size() const;
  const Terminfo& codes() const { return codes_; }
  // Whether this process may read from it and set it: no job of a shell that runs in the background.
  bool in_foreground() const;

  // Takes the screen: keys come as they are pressed and are not shown. What is written to standard error meanwhile is
  // kept, when that is the same terminal, and told at leave(). Nothing happens the second time.
  void enter();
  void leave();
  bool entered() const { return entered_; }
  // Leaves it and stops the process, as the terminal's Ctrl-Z asks; returns when it goes on.
  void suspend();

  // Writes what it takes; the rest is kept. REQUIRES !busy().
  void send(std::string bytes);
  // Goes on with what is kept.
  void flush();
  bool busy() const { return !pending_.empty(); }
  // What was typed; empty: nothing. Never waits.
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
