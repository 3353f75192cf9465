// For tests: a source that is compiled in a separate folder.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>

#include "load/script/native/build.h"

namespace bellwether::script::native {

class Folder {
 public:
  Folder() {
    std::string path = "/tmp/bellwether-native-" + std::string(6, 'X');
    path_ = ::mkdtemp(path.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string put(const std::string& name, std::string_view text) const {
    std::ofstream(*this / name) << text;
    return *this / name;
  }
  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};

class Compiled {
 public:
  explicit Compiled(std::string_view source) {
    const auto built =
        build({.file = folder_.put("shop.cc", source), .compiler = {}, .cache = folder_ / "cache", .verbose = false});
    EXPECT_TRUE(built) << built.error().message;
    if (built) bytes_ = Folder::read(*built);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Folder folder_;
  std::string bytes_;
};

}  // namespace bellwether::script::native
