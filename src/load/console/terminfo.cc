#include "load/console/terminfo.h"

#include <curses.h>
// After curses.h, which it needs.
#include <term.h>
#include <unistd.h>

namespace bellwether::console {
namespace {

// Without the delays that old hardware needed: "$<5>".
std::string without_delays(std::string text) {
  for (std::size_t at = text.find("$<"); at != std::string::npos; at = text.find("$<", at)) {
    const std::size_t end = text.find('>', at);
    if (end == std::string::npos) break;
    text.erase(at, end - at + 1);
  }
  return text;
}

std::string ability(const char* name) {
  const char* text = ::tigetstr(name);
  return text == nullptr || text == reinterpret_cast<const char*>(-1) ? std::string() : without_delays(text);
}

std::array<std::string, kStyles> styles_of(bool color) {
  const std::string bold = ability("bold");
  const std::string dim = ability("dim");
  const std::string reverse = ability("rev");
  const std::string set_color = ability("setaf");
  const bool colors = color && !set_color.empty() && ::tigetnum("colors") >= 8;
  const auto of = [&](long number) {
    if (!colors) return std::string();
    const char* text = ::tparm(set_color.c_str(), number, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L);
    return text == nullptr ? std::string() : std::string(text);
  };
  const std::string red = of(COLOR_RED);
  const std::string green = of(COLOR_GREEN);
  const std::string yellow = of(COLOR_YELLOW);
  std::array<std::string, kStyles> styles;
  const auto set = [&](Style style, std::string codes) { styles[static_cast<std::size_t>(style)] = std::move(codes); };
  set(Style::kBold, bold);
  set(Style::kDim, dim);
  set(Style::kTitle, bold);
  set(Style::kBar, of(COLOR_CYAN));
  set(Style::kGood, green);
  set(Style::kBad, bold + red);
  set(Style::kWarn, bold + yellow);
  set(Style::kLow, of(COLOR_CYAN));
  set(Style::kMid, yellow);
  set(Style::kHigh, of(COLOR_MAGENTA));
  set(Style::kKey, reverse);
  return styles;
}

}  // namespace

std::string Terminfo::move_to(int row, int column) const {
  const char* text =
      ::tparm(move_code.c_str(), static_cast<long>(row), static_cast<long>(column), 0L, 0L, 0L, 0L, 0L, 0L, 0L);
  return text == nullptr ? std::string() : std::string(text);
}

Result<Terminfo> terminfo_of(const std::string& name, bool color) {
  int problem = 0;
  if (name.empty() || ::setupterm(name.c_str(), STDOUT_FILENO, &problem) != OK) {
    return fail(Errc::kUnsupported,
                name.empty() ? "TERM is not set" : fmt::format("the system knows no terminal '{}'", name));
  }
  Terminfo info;
  info.move_code = ability("cup");
  info.clear = ability("clear");
  info.plain = ability("sgr0");
  info.styles = styles_of(color);
  const std::string away = ability("smcup");
  const std::string back = ability("rmcup");
  const std::string hide = ability("civis");
  info.enter = away + hide;
  info.leave = info.plain + (hide.empty() ? std::string() : ability("cnorm"));
  // A terminal without a second screen continues below the drawing, at the left.
  info.leave += away.empty() ? info.clear : back;
  ::del_curterm(::set_curterm(nullptr));
  if (info.move_code.empty() || info.clear.empty()) {
    return fail(Errc::kUnsupported, "a terminal '{}' cannot move its cursor", name);
  }
  return info;
}

}  // namespace bellwether::console
