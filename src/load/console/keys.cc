#include "load/console/keys.h"

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

}  // namespace bellwether::console
