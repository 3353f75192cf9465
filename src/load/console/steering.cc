#include "load/console/steering.h"

#include <algorithm>
#include <optional>

namespace bellwether::console {

namespace {

std::optional<Key> plain(unsigned char byte) {
  switch (byte) {
    case 'q':
    case 'Q': return Key::kQuit;
    case '?':
    case 'h': return Key::kHelp;
    case 'p':
    case 'P': return Key::kPause;
    case 'n':
    case 'N':
    case '\t': return Key::kNext;
    case 'b': return Key::kPrevious;
    case 'a': return Key::kAuto;
    case 'j': return Key::kDown;
    case 'k': return Key::kUp;
    case 'y':
    case 'Y': return Key::kYes;
    default: return std::nullopt;
  }
}

std::optional<Key> arrow(unsigned char last) {
  switch (last) {
    case 'A': return Key::kUp;
    case 'B': return Key::kDown;
    case 'C': return Key::kNext;
    case 'D': return Key::kPrevious;
    default: return std::nullopt;
  }
}

std::size_t steps_of(const Steering& steering, const View& view) {
  return steering.workflow < view.workflows.size() ? view.workflows[steering.workflow].steps.size() : 0;
}

void show_workflow(Steering& steering, const View& view, bool forward) {
  const std::size_t count = view.workflows.size();
  if (count == 0) return;
  steering.workflow = (steering.workflow + (forward ? 1 : count - 1)) % count;
  steering.first_step = 0;
}

// To the last or the first workflow of the page: the next one is on another page. False: all are shown.
bool to_edge(Steering& steering, const View& view, bool last) {
  const Shown& page = steering.shown;
  const std::size_t count = view.workflows.size();
  if (page.workflows >= count) return false;
  if (page.workflows > 0) steering.workflow = (page.first_workflow + (last ? page.workflows - 1 : 0)) % count;
  return true;
}

// The next workflow with activity, if any.
void show_next_active(Steering& steering, const View& view) {
  const std::size_t before = steering.workflow;
  const bool any = std::ranges::any_of(view.workflows, [](const auto& one) { return one.active; });
  do {
    show_workflow(steering, view, true);
  } while (any && !view.workflows[steering.workflow].active && steering.workflow != before);
}

}  // namespace

std::vector<Key> KeyReader::read(std::string_view bytes) {
  std::vector<Key> keys;
  const auto add = [&](std::optional<Key> key) {
    if (key) keys.push_back(*key);
  };
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0x1B) {
      if (state_ == State::kEscaped) keys.push_back(Key::kEscape);
      state_ = State::kEscaped;
      continue;
    }
    switch (state_) {
      case State::kPlain: add(plain(byte)); break;
      case State::kEscaped:
        // With any other key it is one held with Alt.
        state_ = byte == '[' ? State::kSequence : (byte == 'O' ? State::kSingleShift : State::kPlain);
        break;
      case State::kSequence:
        if (byte < 0x40 || byte > 0x7E) break;  // parameters, as of an arrow held with Shift
        add(arrow(byte));
        state_ = State::kPlain;
        break;
      case State::kSingleShift:
        add(arrow(byte));
        state_ = State::kPlain;
        break;
    }
  }
  return keys;
}

std::vector<Key> KeyReader::rest() {
  const bool alone = state_ == State::kEscaped;
  state_ = State::kPlain;
  return alone ? std::vector<Key>{Key::kEscape} : std::vector<Key>{};
}

void press(Steering& steering, Key key, const View& view, Controls& controls) {
  if (steering.dialog == Steering::Dialog::kStop) {
    steering.dialog = Steering::Dialog::kNone;
    if (key == Key::kYes) controls.stop("the user (key q)");
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
      if (to_edge(steering, view, key == Key::kNext)) show_workflow(steering, view, key == Key::kNext);
      break;
    case Key::kAuto: steering.turns = !steering.turns; break;
    case Key::kDown:
      steering.turns = false;
      if (steering.first_step + steering.shown.steps < steps_of(steering, view)) ++steering.first_step;
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
  const std::size_t shown = std::max<std::size_t>(steering.shown.steps, 1);
  if (steering.first_step + shown < steps_of(steering, view)) {
    steering.first_step += shown;
    return;
  }
  steering.first_step = 0;
  if (to_edge(steering, view, true)) show_next_active(steering, view);
}

}  // namespace bellwether::console
