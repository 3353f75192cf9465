#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jobs/assignment/assignment_socket.h"

namespace bellwether::node {
namespace {

TEST(PermitPage, is_seen_by_who_has_its_descriptor) {
  auto page = PermitPage::create();
  ASSERT_TRUE(page);
  const auto seen = PermitPage::open(::dup(page->descriptor()));
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->until(), Instant::never().ns());
  EXPECT_EQ(seen->handed_over(), INT64_MAX);
  page->set(Instant::from_ns(77));
  page->hand_over(Duration::nanos(78));
  EXPECT_EQ(seen->until(), 77);
  EXPECT_EQ(seen->handed_over(), 78);
}

// Who shortens it would kill all that read it.
TEST(PermitPage, keeps_its_size) {
  const auto page = PermitPage::create();
  ASSERT_TRUE(page);
  EXPECT_EQ(::ftruncate(page->descriptor(), 0), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(PermitPage, what_is_none_is_refused) {
  EXPECT_EQ(PermitPage::open(STDERR_FILENO).error().code, Errc::kInvalid);
  EXPECT_EQ(PermitPage::open(9999).error().code, Errc::kInvalid);
  for (const int seals : {0, F_SEAL_SHRINK}) {
    const int fd = ::memfd_create("test", MFD_ALLOW_SEALING);
    ASSERT_EQ(::ftruncate(fd, seals == 0 ? 16 : 15), 0);
    ASSERT_EQ(::fcntl(fd, F_ADD_SEALS, seals), 0);
    EXPECT_EQ(PermitPage::open(fd).error().code, Errc::kInvalid) << seals;
    ::close(fd);
  }
}

}  // namespace
}  // namespace bellwether::node
