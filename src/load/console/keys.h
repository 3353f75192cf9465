// Bytes that a terminal sends, as the keys that the screen knows. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace bellwether::console {

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

// Keeps the beginning of a sequence that was cut by a read.
class KeyReader {
 public:
  // Keys that it does not know are left out, whatever their length.
  std::vector<Key> read(std::string_view bytes);
  // Nothing came for a moment: an escape that stands alone was the key of that name.
  std::vector<Key> rest();

 private:
  enum class State : uint8_t { kPlain, kEscaped, kSequence, kSingleShift };
  State state_ = State::kPlain;
};

}  // namespace bellwether::console
