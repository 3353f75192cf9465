#include "load/console/steering.h"

#include <algorithm>

namespace bellwether::console {
namespace {

std::size_t steps_of(const Steering& steering, const View& view) {
  return steering.workflow < view.workflows.size() ? view.workflows[steering.workflow].steps.size() : 0;
}

void show_workflow(Steering& steering, const View& view, bool forward) {
  const std::size_t count = view.workflows.size();
  if (count == 0) return;
  steering.workflow = (steering.workflow + (forward ? 1 : count - 1)) % count;
  steering.first_step = 0;
}

// The next one in which something happens, if there is one.
void show_next_active(Steering& steering, const View& view) {
  const std::size_t before = steering.workflow;
  const bool any =
      std::any_of(view.workflows.begin(), view.workflows.end(), [](const auto& one) { return one.active; });
  do {
    show_workflow(steering, view, true);
  } while (any && !view.workflows[steering.workflow].active && steering.workflow != before);
}

}  // namespace

void press(Steering& steering, Key key, const View& view, Controls& controls) {
  if (steering.dialog == Steering::Dialog::kStop) {
    steering.dialog = Steering::Dialog::kNone;
    if (key == Key::kYes) controls.stop();
    return;
  }
  if (steering.dialog == Steering::Dialog::kHelp) {
    steering.dialog = Steering::Dialog::kNone;
    if (key != Key::kQuit) return;
  }
  switch (key) {
    case Key::kQuit:
      steering.dialog = Steering::Dialog::kStop;
      steering.question = controls.stop_question();
      break;
    case Key::kHelp: steering.dialog = Steering::Dialog::kHelp; break;
    case Key::kPause:
      if (!controls.can_pause()) break;
      if (controls.paused()) {
        controls.resume();
      } else {
        controls.pause();
      }
      break;
    case Key::kNext:
    case Key::kPrevious:
      steering.turns = false;
      show_workflow(steering, view, key == Key::kNext);
      break;
    case Key::kAuto: steering.turns = !steering.turns; break;
    case Key::kDown:
      steering.turns = false;
      if (steering.first_step + steering.steps_shown < steps_of(steering, view)) ++steering.first_step;
      break;
    case Key::kUp:
      steering.turns = false;
      if (steering.first_step > 0) --steering.first_step;
      break;
    case Key::kYes:
    case Key::kEscape: break;
  }
}

void turn(Steering& steering, const View& view, Instant now) {
  if (!steering.turns || steering.dialog != Steering::Dialog::kNone) {
    steering.turned = now;
    return;
  }
  if (now - steering.turned < Steering::kTurnEvery) return;
  steering.turned = now;
  const std::size_t shown = std::max<std::size_t>(steering.steps_shown, 1);
  if (steering.first_step + shown < steps_of(steering, view)) {
    steering.first_step += shown;
    return;
  }
  steering.first_step = 0;
  if (view.workflows.size() > 1) show_next_active(steering, view);
}

}  // namespace bellwether::console
