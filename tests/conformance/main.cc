// The behaviours that every store must show, against the store of a URL:
//
//   store_conformance --url URL [--control] [--gtest_filter=…]
//   store_conformance --url URL --probe KEY        what a look and a take come to, for tests of trouble
//
// With --control, what the tests need done to the server is asked for on standard output, a line "@pause", "@restart" …
// each, and waited for on standard input: "ok", or anything else when it cannot be done.
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <string>

#include "election/store/conformance_testing.h"

namespace bellwether::store {
namespace {

bool ask(const std::string& command) {
  std::printf("@%s\n", command.c_str());
  std::fflush(stdout);
  char line[64] = "";
  return std::fgets(line, sizeof line, stdin) != nullptr && std::strcmp(line, "ok\n") == 0;
}

void print(const char* what, const Error& error) {
  std::printf("%s: %s: %s\n", what, std::string(to_string(error.code)).c_str(), error.message.c_str());
}

void print(const char* what, const election::Observation& seen) {
  std::printf("%s: ok holder=%s epoch=%llu floor=%llu foreign=%d doubt=%d ahead=%d %s\n", what,
              seen.record.holder.c_str(), static_cast<unsigned long long>(seen.record.epoch.value()),
              static_cast<unsigned long long>(seen.floor.value()), seen.foreign, seen.may_have_lost_data,
              seen.place.joined ? static_cast<int>(seen.place.ahead) : -1, seen.evidence.c_str());
}

int probe(const std::string& name) {
  auto runtime = std::move(*runtime::EpollRuntime::create({}));
  auto store = runtime->run(open_store(*runtime, conformance_settings().url));
  if (!store) {
    print("open", store.error());
    return 1;
  }
  const auto key = (*store)->open(name);
  if (!key) {
    print("open", key.error());
    return 1;
  }
  const auto soon = [&] { return runtime->read_clock() + Duration::seconds(10); };
  const auto seen = runtime->run((*key)->look(soon(), nullptr));
  if (!seen) {
    print("look", seen.error());
    return 1;
  }
  print("look", *seen);
  election::WriteRequest take;
  take.expected = seen->version;
  take.record.holder = "prober";
  take.record.token = take.token = election::make_token(runtime->prng());
  take.record.lease = Duration::seconds(15);
  if (!(*store)->traits().chooses_epoch) {
    take.record.epoch = std::max(election::next_epoch(seen->record.epoch, election::Epoch()), seen->floor);
  }
  const auto taken = runtime->run((*key)->act(std::move(take), soon(), nullptr));
  if (!taken) {
    print("take", taken.error());
    return 1;
  }
  print(taken->applied ? "take" : "refused", taken->after);
  return 0;
}

int run(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string key;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--url" && i + 1 < argc) {
      conformance_settings().url = argv[++i];
    } else if (argument == "--probe" && i + 1 < argc) {
      key = argv[++i];
    } else if (argument == "--control") {
      conformance_settings().control = &ask;
    } else {
      std::fprintf(stderr, "unknown argument %s\n", argv[i]);
      return 2;
    }
  }
  return key.empty() ? RUN_ALL_TESTS() : probe(key);
}

}  // namespace
}  // namespace bellwether::store

int main(int argc, char** argv) { return bellwether::store::run(argc, argv); }
