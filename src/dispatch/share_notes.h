// The texts that a share tells with its end (ShareEnd::notes) are of two kinds: what its scripts said, and what its
// generator found out about itself. The second kind begins with a word of its own, which no script's text does: those
// begin with the name of a step.
#pragma once

#include <string>
#include <string_view>

namespace bellwether::dispatch {

inline constexpr std::string_view kGeneratorNote = "generator: ";

inline std::string generator_note(std::string_view text) { return std::string(kGeneratorNote).append(text); }
inline bool is_generator_note(std::string_view note) { return note.starts_with(kGeneratorNote); }
// REQUIRES is_generator_note(note).
inline std::string_view generator_text(std::string_view note) { return note.substr(kGeneratorNote.size()); }

}  // namespace bellwether::dispatch
