#include "load/console/terminal.h"

#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include "core/base/check.h"

namespace bellwether::console {
namespace {

// The output of a process on a separate terminal, and its end.
struct Seen {
  std::string text;
  int status = 0;
  bool shows_keys = false;  // the terminal's modes afterwards
  bool by_lines = false;
};

template <class Work>
Seen on_terminal(Work work) {
  int terminal = -1;
  winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
  // The other end stays open, so that the output can be read after its last writer has closed.
  int other = -1;
  EXPECT_EQ(::openpty(&terminal, &other, nullptr, nullptr, &size), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(terminal);
    if (::login_tty(other) != 0) _exit(90);
    ::setenv("TERM", "xterm", 1);
    auto opened = Terminal::open();
    if (!opened) _exit(91);
    work(**opened);
    opened->reset();
    _exit(0);
  }
  Seen seen;
  EXPECT_EQ(::waitpid(child, &seen.status, 0), child);
  termios modes{};
  EXPECT_EQ(::tcgetattr(other, &modes), 0);
  seen.shows_keys = (modes.c_lflag & ECHO) != 0;
  seen.by_lines = (modes.c_lflag & ICANON) != 0;
  ::close(other);
  std::array<char, 4096> bytes{};
  for (ssize_t got = 0; (got = ::read(terminal, bytes.data(), bytes.size())) > 0;) {
    seen.text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  ::close(terminal);
  return seen;
}

constexpr std::string_view kAway = "\x1b[?1049h";
constexpr std::string_view kBack = "\x1b[?1049l";
constexpr std::string_view kCursor = "\x1b[?25h";

void expect_given_back(const Seen& seen) {
  EXPECT_TRUE(seen.shows_keys);
  EXPECT_TRUE(seen.by_lines);
  EXPECT_NE(seen.text.find(kAway), std::string::npos);
  EXPECT_NE(seen.text.find(kBack), std::string::npos) << seen.text;
  EXPECT_NE(seen.text.find(kCursor), std::string::npos) << seen.text;
}

TEST(Terminal, is_given_back_by_who_leaves_it) {
  const Seen seen = on_terminal([](Terminal& terminal) {
    terminal.enter();
    termios modes{};
    check(::tcgetattr(STDIN_FILENO, &modes) == 0 && (modes.c_lflag & (ICANON | ECHO)) == 0, "keys come at once");
    check((modes.c_lflag & ISIG) != 0, "and Ctrl-C is still a signal");
    terminal.send("picture");
    check(!terminal.busy(), "it fits");
    terminal.leave();
    std::fputs("after\n", stdout);
    std::fflush(stdout);
  });
  EXPECT_EQ(seen.status, 0);
  expect_given_back(seen);
  EXPECT_LT(seen.text.find("picture"), seen.text.find(kBack));
  EXPECT_LT(seen.text.find(kBack), seen.text.find("after"));
}

TEST(Terminal, is_given_back_by_a_failed_check_whose_words_are_read_after_it) {
  const Seen seen = on_terminal([](Terminal& terminal) {
    terminal.enter();
    check(false, "the sky stays up");
  });
  EXPECT_TRUE(WIFSIGNALED(seen.status) && WTERMSIG(seen.status) == SIGABRT);
  expect_given_back(seen);
  const std::size_t words = seen.text.find("the sky stays up");
  ASSERT_NE(words, std::string::npos) << seen.text;
  EXPECT_LT(seen.text.find(kBack), words);
}

TEST(Terminal, is_given_back_when_memory_is_touched_that_is_not_there) {
  const Seen seen = on_terminal([](Terminal& terminal) {
    terminal.enter();
    ::raise(SIGSEGV);
  });
  EXPECT_TRUE(WIFSIGNALED(seen.status) && WTERMSIG(seen.status) == SIGSEGV);
  expect_given_back(seen);
}

TEST(Terminal, is_given_back_by_exit) {
  const Seen seen = on_terminal([](Terminal& terminal) {
    terminal.enter();
    std::exit(3);
  });
  EXPECT_TRUE(WIFEXITED(seen.status) && WEXITSTATUS(seen.status) == 3);
  expect_given_back(seen);
}

TEST(Terminal, words_to_standard_error_wait_until_it_is_left) {
  const Seen seen = on_terminal([](Terminal& terminal) {
    terminal.enter();
    std::fputs("a warning\n", stderr);
    terminal.send("picture");
    terminal.leave();
    std::fputs("the next\n", stderr);
  });
  EXPECT_LT(seen.text.find("picture"), seen.text.find(kBack));
  EXPECT_LT(seen.text.find(kBack), seen.text.find("a warning"));
  EXPECT_LT(seen.text.find("a warning"), seen.text.find("the next"));
}

TEST(Terminal, a_signal_that_is_ignored_stays_so) {
  const Seen seen = on_terminal([](Terminal& terminal) {
    ::signal(SIGHUP, SIG_IGN);
    terminal.enter();
    ::raise(SIGHUP);
    terminal.send("goes on");
  });
  EXPECT_EQ(seen.status, 0);
  ASSERT_NE(seen.text.find("goes on"), std::string::npos);
  EXPECT_LT(seen.text.find("goes on"), seen.text.find(kBack)) << "and the screen stands meanwhile";
}

TEST(Terminal, can_be_entered_again) {
  const Seen seen = on_terminal([](Terminal& terminal) {
    for (int i = 0; i < 3; ++i) {
      terminal.enter();
      terminal.enter();
      terminal.leave();
      terminal.leave();
    }
  });
  EXPECT_EQ(seen.status, 0);
  expect_given_back(seen);
}

TEST(Terminal, what_it_does_not_take_is_kept_and_nobody_waits) {
  const Seen seen = on_terminal([](Terminal& terminal) {
    terminal.enter();
    terminal.send(std::string(1 << 20, 'x'));
    check(terminal.busy(), "nobody reads");
    terminal.flush();
    check(terminal.busy() && !terminal.gone(), "and still nobody does");
  });
  EXPECT_EQ(seen.status, 0) << "the end does not wait either";
}

TEST(Locale, is_the_first_that_is_set) {
  ::setenv("LC_ALL", "C", 1);
  ::setenv("LANG", "de_DE.UTF-8", 1);
  EXPECT_FALSE(locale_is_utf8());
  ::setenv("LC_ALL", "", 1);
  ::unsetenv("LC_CTYPE");
  EXPECT_TRUE(locale_is_utf8());
  ::setenv("LC_CTYPE", "C.utf8", 1);
  EXPECT_TRUE(locale_is_utf8());
  ::unsetenv("LC_ALL");
  ::unsetenv("LC_CTYPE");
  ::unsetenv("LANG");
  EXPECT_FALSE(locale_is_utf8());
}

}  // namespace
}  // namespace bellwether::console
