// Made-up people, places and things: from lists of our own (fake_words.h), so that nobody is meant and nobody is
// reached: domains, telephone numbers and addresses are of ranges that are kept free for examples.
#pragma once

#include <string>

#include "base/prng.h"
#include "plan/plan.h"

namespace bellwether::vuser {

// REQUIRES a built-in value whose name begins with "fake.".
void append_fake(const plan::Piece& piece, Prng& prng, std::string& out);

}  // namespace bellwether::vuser
