// Runs a simulated world for many seeds. BW_SIM_SEEDS says how many (they count from 1), BW_SIM_SEED asks for exactly
// one; without them a test has its usual number. A failure prints one line with the command that repeats it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bellwether::sim {

inline constexpr uint64_t kUsualSeeds = 100;

std::vector<uint64_t> seeds(uint64_t usual = kUsualSeeds);
// False in `./dev test`, which takes the usual number.
bool seeds_are_asked_for();

// What a world is judged to be: empty when everything holds, else what does not.
using Judgement = std::string;

// Fails the present test for each seed whose world is judged bad.
void expect_good(Judgement (*live)(uint64_t seed), uint64_t usual = kUsualSeeds);

}  // namespace bellwether::sim
