// The behaviours of every store of jobs (src/cluster/replication/conformance_test.cc), against the etcd of a URL:
//
//   job_conformance --url URL [--control] [--gtest_filter=…]
//
// With --control, what the tests need done to the servers is asked for on standard output, a line "@majority-down" …
// each, and waited for on standard input: "ok", or anything else when it cannot be done.
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <string>

#include "cluster/replication/job_world_testing.h"

namespace bellwether::jobs {
namespace {

bool ask(const std::string& command) {
  std::printf("@%s\n", command.c_str());
  std::fflush(stdout);
  char line[64] = "";
  return std::fgets(line, sizeof line, stdin) != nullptr && std::strcmp(line, "ok\n") == 0;
}

int run(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--url" && i + 1 < argc) {
      job_conformance_settings().url = argv[++i];
    } else if (argument == "--control") {
      job_conformance_settings().control = &ask;
    } else {
      std::fprintf(stderr, "unknown argument %s\n", argv[i]);
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace bellwether::jobs

int main(int argc, char** argv) { return bellwether::jobs::run(argc, argv); }
