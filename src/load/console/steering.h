// What a person steers on the screen: which workflow is shown, help, and whether to stop. Pure: keys and time come in,
// wishes go out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/time.h"
#include "load/console/keys.h"
#include "load/console/view.h"

namespace bellwether::console {

// What a run can be told from its screen. On the thread that draws; none of it waits.
class Controls {
 public:
  virtual ~Controls() = default;
  virtual bool can_pause() const = 0;
  virtual bool paused() const = 0;
  virtual void pause() = 0;
  virtual void resume() = 0;
  // What a Ctrl-C does: the first time iterations that run may finish, the second time it ends at once.
  virtual void stop() = 0;
  // What stopping means at the moment, as a question: "Stop the run? Iterations that run may finish."
  virtual const char* stop_question() const = 0;
};

// How the screen stands beside what is measured.
struct Steering {
  enum class Dialog : uint8_t { kNone, kHelp, kStop };
  static constexpr Duration kTurnEvery = Duration::seconds(3);

  Dialog dialog = Dialog::kNone;
  const char* question = "";  // of kStop
  bool can_pause = false;
  bool paused = false;
  bool turns = true;            // goes on to the next workflow by itself
  std::size_t workflow = 0;     // that is shown
  std::size_t first_step = 0;   // of its steps, the first that is shown
  std::size_t steps_shown = 0;  // as many as fitted when it was drawn last
  uint32_t beat = 0;            // of the spinner
  Instant turned;               // when the page was turned last
};

// Carries out one key.
void press(Steering& steering, Key key, const View& view, Controls& controls);
// Time goes by: pages turn.
void turn(Steering& steering, const View& view, Instant now);

}  // namespace bellwether::console
