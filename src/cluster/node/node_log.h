// What a node tells of itself: lines of its journal, each with its name.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/journal/journal.h"
#include "core/runtime/runtime.h"

namespace bellwether::node {

class NodeLog {
 public:
  // `runtime` and `journal` must outlive it.
  NodeLog(runtime::Runtime& runtime, Journal& journal, std::string name)
      : runtime_(runtime), journal_(journal), name_(std::move(name)) {}

  // A transition, `event` in one word.
  void say(std::string_view event, const std::string& text, Journal::Fields more = {}) {
    more.insert(more.begin(), {"node", name_});
    journal_.transition(runtime_.wall_now(), event, text, more);
  }
  void note(bool warning, const std::string& text) {
    if (warning) {
      journal_.warn(runtime_.wall_now(), text);
    } else {
      journal_.detail(runtime_.wall_now(), text);
    }
  }
  void error(const std::string& text) { journal_.error(runtime_.wall_now(), text); }

 private:
  runtime::Runtime& runtime_;
  Journal& journal_;
  std::string name_;
};

}  // namespace bellwether::node
