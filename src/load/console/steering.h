// The person's control of the screen: the shown workflow, help, and the question to stop. Pure: keys and time come in,
// wishes go out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "load/console/view.h"

namespace bellwether::console {

// The bytes of a terminal as keys of the screen. Pure.
enum class Key : uint8_t {
  kQuit,      // q
  kHelp,      // ? h
  kPause,     // p
  kNext,      // n, right, tab
  kPrevious,  // b, left
  kAuto,      // a
  kDown,      // j, down
  kUp,        // k, up
  kYes,       // y
  kEscape,
};

// Keeps the beginning of a sequence that a read has cut.
class KeyReader {
 public:
  // Leaves out unknown keys of any length.
  std::vector<Key> read(std::string_view bytes);
  // No byte came for a moment: a lone escape was the key of that name.
  std::vector<Key> rest();

 private:
  enum class State : uint8_t { kPlain, kEscaped, kSequence, kSingleShift };
  State state_ = State::kPlain;
};

// The commands of a screen to its run. On the thread that draws; none of them waits.
class Controls {
 public:
  virtual ~Controls() = default;
  virtual bool can_pause() const = 0;
  virtual bool paused() const = 0;
  virtual void pause() = 0;
  virtual void resume() = 0;
  // A Ctrl-C: the first time running iterations may finish, the second time the run ends at once.
  virtual void stop(const std::string& why) = 0;
  // The current effect of stopping, as a question: "Stop the run? Running iterations may finish."
  virtual const char* stop_question() const = 0;
};

// The part of the steps that a drawing has room for.
struct Shown {
  std::size_t steps = 0;  // of the workflow that is steered to
  std::size_t first_workflow = 0;
  std::size_t workflows = 0;  // whole, but for the first
};

// The state of the screen beside the figures.
struct Steering {
  enum class Dialog : uint8_t { kNone, kHelp, kStop };
  static constexpr Duration kTurnEvery = Duration::seconds(3);

  Dialog dialog = Dialog::kNone;
  const char* question = "";  // of kStop
  bool can_pause = false;
  bool paused = false;
  bool turns = true;           // goes on to the next workflow by itself
  std::size_t workflow = 0;    // that is shown
  std::size_t first_step = 0;  // of its steps, the first that is shown
  Shown shown;                 // in the last drawing
  uint32_t beat = 0;           // of the spinner
  Instant turned;              // the time of the last turn
};

// Carries out one key.
void press(Steering& steering, Key key, const View& view, Controls& controls);
// Time goes by: pages turn.
void turn(Steering& steering, const View& view, Instant now);

}  // namespace bellwether::console
