// Runs a fuzz target without libFuzzer, as part of the ordinary tests: every file of the corpus as it is, then a few
// hundred damaged copies of each (bits flipped, bytes changed, cut, repeated), drawn from a fixed seed, so that one
// build of one target always does the same. `./dev fuzz` searches further.
//
//   NAME_fuzz FILE|FOLDER…
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;
using Input = std::vector<uint8_t>;

constexpr int kDamagedBlobs = 300;
constexpr std::string_view kCrashFile = "fuzz-crash.bin";

Input current;  // what the target is looking at: the crash handler saves it

// Uses only calls that are safe in a signal handler.
void save_current(int signal_number) {
  constexpr std::string_view said = "the target crashed; its input is in fuzz-crash.bin of the current folder\n";
  (void)!write(STDERR_FILENO, said.data(), said.size());
  const int file = open(kCrashFile.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0) (void)!write(file, current.data(), current.size());
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

std::vector<fs::path> inputs_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Input read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void damage(Input& input, std::mt19937& random) {
  if (input.empty()) {
    input.push_back(static_cast<uint8_t>(random()));
    return;
  }
  const size_t at = random() % input.size();
  switch (random() % 5) {
    case 0: input[at] ^= static_cast<uint8_t>(1u << (random() % 8)); break;
    case 1: input[at] = static_cast<uint8_t>(random()); break;
    case 2: input.resize(at); break;
    case 3: input.erase(input.begin() + static_cast<std::ptrdiff_t>(at)); break;
    default: {
      const Input tail(input.begin() + static_cast<std::ptrdiff_t>(at), input.end());
      input.insert(input.end(), tail.begin(), tail.end());
    }
  }
}

void run(Input input) {
  current = std::move(input);
  LLVMFuzzerTestOneInput(current.data(), current.size());
}

}  // namespace

int main(int argc, char** argv) {
  for (const int number : {SIGSEGV, SIGABRT, SIGILL, SIGFPE, SIGBUS}) std::signal(number, save_current);
  std::mt19937 random(20);
  size_t files = 0;
  run({});
  for (int i = 1; i < argc; ++i) {
    if (!fs::exists(argv[i])) {
      std::fprintf(stderr, "%s: no such file or folder\n", argv[i]);
      return 1;
    }
    for (const fs::path& path : inputs_of(argv[i])) {
      const Input original = read(path);
      run(original);
      for (int copy = 0; copy < kDamagedBlobs; ++copy) {
        Input damaged = original;
        for (uint32_t times = 1 + random() % 4; times > 0; --times) damage(damaged, random);
        run(std::move(damaged));
      }
      ++files;
    }
  }
  if (files == 0) {
    std::fprintf(stderr, "no input to replay: a fuzz target needs at least one file in its corpus\n");
    return 1;
  }
  std::printf("%zu inputs and %zu damaged copies\n", files, files * kDamagedBlobs);
  return 0;
}
