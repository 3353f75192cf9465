#include "tests/sim/seeds.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <limits.h>
#include <optional>
#include <unistd.h>

#include "core/base/bytes.h"

namespace bellwether::sim {
namespace {

constexpr uint64_t kMaxSeeds = 10'000'000;

std::optional<uint64_t> number_in_environment(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  if (text == nullptr || *text == '\0') return std::nullopt;
  const auto number = parse_u64(text);
  if (!number) ADD_FAILURE() << name << " is no number: '" << text << "'";
  return number;
}

// The path of this program, relative to the working directory when it is below it.
std::string this_program() {
  char path[PATH_MAX];
  char folder[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size < 0 || ::getcwd(folder, sizeof folder) == nullptr) return "the same test";
  std::string program(path, static_cast<std::size_t>(size));
  const std::string below = std::string(folder) + "/";
  return program.starts_with(below) ? program.substr(below.size()) : program;
}

}  // namespace

std::vector<uint64_t> seeds(uint64_t usual) {
  if (const auto one = number_in_environment("BW_SIM_SEED")) return {*one};
  std::vector<uint64_t> all(std::min(number_in_environment("BW_SIM_SEEDS").value_or(usual), kMaxSeeds));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i + 1;
  return all;
}

bool seeds_are_asked_for() { return number_in_environment("BW_SIM_SEED") || number_in_environment("BW_SIM_SEEDS"); }

void expect_good(Judgement (*live)(uint64_t seed), uint64_t usual) {
  for (const uint64_t seed : seeds(usual)) {
    const Judgement judgement = live(seed);
    if (judgement.empty()) continue;
    ADD_FAILURE() << "seed " << seed << ": " << judgement << "\n  to repeat it: BW_SIM_SEED=" << seed << " "
                  << this_program()
                  << " --gtest_filter=" << testing::UnitTest::GetInstance()->current_test_info()->test_suite_name()
                  << "." << testing::UnitTest::GetInstance()->current_test_info()->name();
  }
}

}  // namespace bellwether::sim
