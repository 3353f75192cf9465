#include "cluster/wire/link/refusal_watch.h"

#include <gmock/gmock.h>
#include <string>
#include <vector>

namespace bellwether::link {
namespace {

using runtime::Endpoint;
using testing::ElementsAre;
using wire::Refusal;

struct Listening {
  std::vector<std::string> heard;
  void on_refused(Refusal refusal, const Endpoint&, std::string_view detail, uint64_t unheard) {
    heard.push_back(std::string(to_string(refusal)) + ":" + std::string(detail) + ":" + std::to_string(unheard));
  }
  std::vector<std::string> mismatches;
  void on_mismatch(Refusal refusal, const wire::Mismatch& names) {
    mismatches.push_back(std::string(to_string(refusal)) + ":" + names.expected + ":" + names.received);
  }
  RefusalListener listener() {
    return {callback_to<&Listening::on_refused>(*this), callback_to<&Listening::on_mismatch>(*this)};
  }
};

TEST(RefusalWatch, tells_of_each_reason_at_a_bounded_rate_and_counts_all) {
  Listening listening;
  RefusalWatch watch(listening.listener());
  const auto at = [](int64_t ms) { return Instant::from_ns(ms * 1'000'000); };
  for (int i = 0; i < 1000; ++i) watch.note(Refusal::kForged, {}, "bad", at(i));
  watch.note(Refusal::kGarbage, {}, "worse", at(999));
  watch.note(Refusal::kForged, {}, "bad again", at(1000));
  EXPECT_THAT(listening.heard, ElementsAre("forged:bad:0", "garbage:worse:0", "forged:bad again:999"));
  EXPECT_EQ(watch.counts().of(Refusal::kForged), 1001U);
  EXPECT_EQ(watch.counts().total(), 1002U);
}

TEST(RefusalWatch, tells_of_every_mismatch_of_names) {
  Listening listening;
  RefusalWatch watch(listening.listener());
  for (int i = 0; i < 3; ++i) watch.note({Refusal::kCluster, "strange", {"flock", "herd"}}, {}, Instant());
  watch.note({Refusal::kVersion, "old"}, {}, Instant());
  EXPECT_THAT(listening.mismatches, ElementsAre("cluster:flock:herd", "cluster:flock:herd", "cluster:flock:herd"));
  EXPECT_THAT(listening.heard, ElementsAre("cluster:strange:0", "version:old:0"));
  EXPECT_EQ(watch.counts().of(Refusal::kCluster), 3U);
}

}  // namespace
}  // namespace bellwether::link
