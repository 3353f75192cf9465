#include "load/script/native/build.h"

#include <gmock/gmock.h>

#include "load/script/native/native_testing.h"

namespace bellwether::script::native {
namespace {

// A compiler that is none: it notes that it was called, and what it was called for.
std::string fake_compiler(const Folder& folder) {
  const std::string path =
      folder.put("compiler", "#!/bin/sh\necho call >> " + (folder / "calls") +
                                 "\nwhile [ $# -gt 0 ]; do case $1 in -o) out=$2;; -MF) deps=$2;; esac; "
                                 "last=$1; shift; done\n"
                                 "echo \"x: $last \\\\\" > $deps; echo ' " +
                                 (folder / "own.h") + "' >> $deps; echo program > $out\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(Build, is_done_again_only_when_a_text_has_changed) {
  const Folder folder;
  BuildOptions options{.file = folder.put("shop.cc", "1"),
                       .compiler = fake_compiler(folder),
                       .cache = folder / "cache",
                       .verbose = false};
  folder.put("own.h", "a");
  const auto first = build(options);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(Folder::read(*first), "program\n");
  ASSERT_TRUE(build(options));
  EXPECT_EQ(Folder::read(folder / "calls"), "call\n");
  folder.put("own.h", "b");
  ASSERT_TRUE(build(options));
  EXPECT_EQ(Folder::read(folder / "calls"), "call\ncall\n") << "what the source includes counts too";
  folder.put("shop.cc", "2");
  ASSERT_TRUE(build(options));
  ASSERT_TRUE(build(options));
  EXPECT_EQ(Folder::read(folder / "calls"), "call\ncall\ncall\n");
}

TEST(Build, the_compiler_that_is_not_there_is_named) {
  const Folder folder;
  const auto built = build({.file = folder.put("shop.cc", "1"),
                            .compiler = "no-such-compiler",
                            .cache = folder / "cache",
                            .verbose = false});
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, Errc::kNotFound);
  EXPECT_THAT(built.error().message, testing::HasSubstr("no-such-compiler"));
}

TEST(Build, sources_are_known_by_their_names) {
  EXPECT_TRUE(is_source("a/shop.cc"));
  EXPECT_TRUE(is_source("shop.cpp"));
  EXPECT_FALSE(is_source("shop.yaml"));
  EXPECT_FALSE(is_source("shop.bw"));
}

}  // namespace
}  // namespace bellwether::script::native
