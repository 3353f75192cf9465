// The log of a leader or a node: lines for people or JSON on standard error, and an audit log of every transition, one
// JSON object a line. Neither ever delays a renewal: a separate thread writes the audit log, and a line that standard
// error does not take is dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/callback.h"
#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether {

class Journal {
 public:
  using Value = std::variant<std::string, int64_t>;
  using Fields = std::vector<std::pair<std::string_view, Value>>;
  // Receives every line as it comes, at any verbosity: for a world of the simulator, or a test.
  using Reader = Callback<void(std::string_view event, const std::string& text, const Fields& fields)>;
  // verbosity: -1 nothing, 0 errors only, 1 transitions and warnings, 2 everything. `command`: the begin of lines for
  // people.
  Journal(int verbosity, bool json, std::string command);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  // Audits to this file from now on; false when it cannot be opened, which has been told. Empty: no audit.
  bool open_audit(WallTime now, const std::string& path);

  // `reader` must outlive it.
  void tell(Reader reader) { reader_ = reader; }

  // A transition: told from verbosity 1 on, and always audited. `text` is for people, `event` and `fields` for
  // programs.
  void transition(WallTime now, std::string_view event, const std::string& text, const Fields& fields);
  // A step is logged from verbosity 2 on, and is no transition.
  void step(WallTime now, std::string_view event, const std::string& text, const Fields& fields) {
    say(now, 2, event, text, fields);
  }
  // News is printed from verbosity 1 on, and is no transition.
  void news(WallTime now, std::string_view event, const std::string& text, const Fields& fields) {
    say(now, 1, event, text, fields);
  }
  void warn(WallTime now, const std::string& text) { say(now, 1, "warning", text, {}); }
  void detail(WallTime now, const std::string& text) { say(now, 2, "note", text, {}); }
  void error(WallTime now, const std::string& text) { say(now, 0, "error", text, {}); }

 private:
  void say(WallTime now, int from, std::string_view event, const std::string& text, const Fields& fields);

  int verbosity_;
  bool json_;
  std::string command_;
  Reader reader_;
  class Audit;
  std::unique_ptr<Audit> audit_;
};

}  // namespace bellwether
