#include "core/base/result.h"

#include <cerrno>
#include <gtest/gtest.h>
#include <set>

namespace bellwether {
namespace {

TEST(Result, holds_a_value_or_an_error) {
  const Result<int> good = 7;
  const Result<int> bad = fail(Errc::kTimeout, "too late");
  EXPECT_TRUE(good);
  EXPECT_EQ(*good, 7);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Errc::kTimeout);
  EXPECT_EQ(bad.error().message, "too late");
  EXPECT_TRUE(Status());
}

TEST(Result, every_code_has_a_name_of_its_own) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(Errc::kUnsupported); ++code) {
    names.insert(to_string(static_cast<Errc>(code)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Errc::kUnsupported) + 1);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(to_string(static_cast<Errc>(200)), "unknown");
}

TEST(Result, errors_of_the_system_become_codes) {
  const std::pair<int, Errc> kPairs[] = {
      {0, Errc::kOk},
      {ECONNREFUSED, Errc::kRefused},
      {EACCES, Errc::kRefused},
      {ECONNRESET, Errc::kReset},
      {EPIPE, Errc::kReset},
      {ECONNABORTED, Errc::kReset},
      {ETIMEDOUT, Errc::kTimeout},
      {ENETUNREACH, Errc::kUnreachable},
      {EHOSTUNREACH, Errc::kUnreachable},
      {EAFNOSUPPORT, Errc::kUnreachable},
      {EADDRNOTAVAIL, Errc::kExhausted},
      {EMFILE, Errc::kExhausted},
      {ENOENT, Errc::kNotFound},
      {EEXIST, Errc::kExists},
      {EADDRINUSE, Errc::kExists},
      {ENOSPC, Errc::kNoSpace},
      {EDQUOT, Errc::kNoSpace},
      {EINVAL, Errc::kInvalid},
      {EOPNOTSUPP, Errc::kUnsupported},
      {EIO, Errc::kIo},
      {12345, Errc::kIo},
  };
  for (const auto& [number, code] : kPairs) EXPECT_EQ(errc_from_errno(number), code) << number;
}

TEST(Result, an_error_of_the_system_says_what_failed_and_why) {
  const Error error = error_from_errno(ENOENT, "opening 'x'");
  EXPECT_EQ(error.code, Errc::kNotFound);
  EXPECT_EQ(error.message, "opening 'x': No such file or directory");
  const Status status = fail_errno(EACCES, "listening");
  EXPECT_EQ(status.error().message, "listening: Permission denied");
}

}  // namespace
}  // namespace bellwether
