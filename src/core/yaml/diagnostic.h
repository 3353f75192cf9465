// The faults of a YAML file, for quick repair by its author: the place, the text found, and the text expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace bellwether::yaml {

// A place in a file, counted from 1. Line 0: no place in the file (the command line, for example). Column 0:
// somewhere in the line.
struct Mark {
  int line = 0;
  int column = 0;
  uint16_t file = 0;  // of the files in Diagnostics; 0: the main one
};

struct Diagnostic {
  std::string file;
  int line = 0;
  int column = 0;
  std::string found;                   // as shown: "'ten'", "a list"; may be empty
  std::string expected;                // "a whole number from 1 to 65535"; may be empty
  std::string message;                 // the fault, as a full statement
  std::string hint;                    // the remedy, often "did you mean 'x'?"; may be empty
  std::vector<std::string> also = {};  // further places of the same fault: "shop.yaml:15:3"
};

// "shop.yaml:12:7: unknown key 'durration' in workflow 'browse'", then one indented line each for the text found
// (unless the message has it already), the expected form, the hint, and the first further places. No newline at the
// end.
std::string format(const Diagnostic& diagnostic);

// "'text'", shortened when long and with control characters made visible.
std::string in_quotes(std::string_view text);
// "a, b, c"
std::string join(std::span<const std::string_view> words);
// "one of a, b, c", or "a" alone; only the first thirty of many.
std::string one_of(std::span<const std::string_view> words);
// "did you mean 'x'?", or nothing when no candidate is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

// Collects the faults, so one reading of a file reports most of them. Keeps at most kMaxDiagnostics, and is full after
// kMaxReported reports, however few of them it keeps.
class Diagnostics {
 public:
  static constexpr std::size_t kMaxDiagnostics = 20;
  static constexpr std::size_t kMaxReported = 1'000;  // those that were merged or dropped included

  explicit Diagnostics(std::string file) : files_{std::move(file)} {}

  // Registers another file, for marks in it. At most UINT16_MAX files.
  uint16_t add_file(std::string name);
  // "shop.yaml:12:7"
  std::string place_of(Mark mark) const;

  struct Problem;
  // A function, which it owns, that fills in the slow parts of a problem. Copies share it.
  class Completion {
   public:
    Completion() = default;
    template <class F>
      requires(!std::is_same_v<F, Completion>)
    Completion(F function)  // NOLINT(google-explicit-constructor)
        : function_(std::make_shared<F>(std::move(function))),
          call_([](void* called, Problem& problem) { (*static_cast<F*>(called))(problem); }) {}
    void operator()(Problem& problem) const {
      if (call_ != nullptr) call_(function_.get(), problem);
    }

   private:
    std::shared_ptr<void> function_;
    void (*call_)(void*, Problem&) = nullptr;
  };

  // The parts that vary; the file is filled in.
  struct Problem {
    std::string message;
    std::string found = {};
    std::string expected = {};
    std::string hint = {};
    // Problems with one subject become one diagnostic: at the first place, with the others in `also`. Their message
    // must fit each place. Empty: the problem stands alone.
    std::string subject = {};
    // True: no other fault of the file can be its cause.
    bool is_independent = false;
    Completion complete = {};  // called once, and only for a problem that is kept
  };
  // Drops a problem with the place, message and found text of one that it has.
  void add(Mark mark, Problem problem);
  // While on, add() drops problems that are not independent. For reading a part that depends on a faulty one.
  void take_independent_only(bool on) { independent_only_ = on; }
  bool empty() const { return list_.empty(); }
  // True: add() drops everything from now on, so the reader may stop.
  bool full() const { return list_.size() == kMaxDiagnostics || reported_ >= kMaxReported; }
  // The number of calls of add(), dropped problems included. A part is sound if reading it does not change the number.
  std::size_t reported() const { return reported_; }
  // Empties it. In the order of the files, then by place.
  std::vector<Diagnostic> take();

 private:
  std::vector<std::string> files_;
  std::vector<Diagnostic> list_;
  std::vector<std::string> subjects_;      // of each of list_
  std::vector<std::vector<Mark>> places_;  // the same; at least one each
  std::size_t reported_ = 0;
  bool independent_only_ = false;
};

}  // namespace bellwether::yaml
