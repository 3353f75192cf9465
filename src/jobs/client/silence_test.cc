#include <array>
#include <gtest/gtest.h>

#include "core/base/time_testing.h"
#include "jobs/client/client_following.h"

namespace bellwether::client::detail {
namespace {

constexpr Duration kWait = Duration::seconds(60);

TEST(Silence, is_told_after_ten_seconds_and_again_each_minute) {
  Silence silence(at_ms(0), kWait);
  EXPECT_FALSE(silence.heard(at_ms(1'000), Duration::zero()));
  std::vector<int64_t> told;
  for (int64_t second = 1; second <= 200; ++second) {
    if (silence.tells(at_ms(second * 1'000))) told.push_back(second);
  }
  EXPECT_EQ(told, (std::vector<int64_t>{11, 71, 131, 191}));
  EXPECT_EQ(silence.lasted(at_ms(200'000)), Duration::seconds(199));
  EXPECT_TRUE(silence.heard(at_ms(201'000), Duration::zero())) << "so its end is told too";
  EXPECT_FALSE(silence.heard(at_ms(202'000), Duration::zero()));
  EXPECT_FALSE(silence.tells(at_ms(211'000)));
  EXPECT_TRUE(silence.tells(at_ms(212'000))) << "at once in the next silence";
}

TEST(Silence, ends_after_the_planned_end_of_the_job_or_after_the_last_answer_if_that_is_later) {
  Silence silence(at_ms(5'000), kWait);
  EXPECT_EQ(silence.end(), at_ms(65'000));
  silence.heard(at_ms(10'000), Duration::seconds(100));
  EXPECT_EQ(silence.end(), at_ms(170'000));
  silence.heard(at_ms(40'000), Duration::seconds(70));
  EXPECT_EQ(silence.end(), at_ms(170'000)) << "an answer does not move it while the job keeps to its plan";
  silence.heard(at_ms(120'000), Duration::zero());
  EXPECT_EQ(silence.end(), at_ms(180'000));
}

dispatch::JobRecord with_events(std::size_t from, std::size_t to, std::string_view kind, dispatch::JobRecord out = {}) {
  for (std::size_t i = from; i < to; ++i) {
    out.events.push_back({Duration::seconds(static_cast<int64_t>(i)), std::string(kind), "x"});
  }
  return out;
}

TEST(ToldEvents, are_told_once_also_after_a_flood_that_displaced_only_some) {
  ToldEvents told;
  dispatch::JobRecord record = with_events(100, 150, "lost", with_events(0, 100, "scaled"));
  EXPECT_EQ(told.fresh(record), 150u);
  EXPECT_EQ(told.fresh(record), 0u);
  record = with_events(150, 200, "scaled", std::move(record));
  EXPECT_EQ(told.fresh(record), 50u);
  // A flood of one kind: it leaves the 50 of the other one.
  record.events.resize(150);
  record = with_events(400, 450, "scaled", std::move(record));
  record.events_dropped = 250;
  EXPECT_EQ(told.fresh(record), 50u) << "300 came, and 50 of them are left";
  // And one of the other kind.
  record.events.erase(record.events.begin() + 100, record.events.begin() + 150);
  record = with_events(500, 550, "lost", std::move(record));
  record.events_dropped += 50;
  EXPECT_EQ(told.fresh(record), 50u) << "those between are known";
  dispatch::JobRecord older = record;
  older.events.pop_back();
  EXPECT_EQ(told.fresh(older), 0u) << "of a manager that is behind";
  EXPECT_EQ(told.fresh(record), 0u);
}

TEST(SilentManagers, have_names_times_and_reasons_and_a_remedy_once_a_majority_is_missing) {
  const std::array silent{node::SilentManager{"m2:1", "Connection refused", at_ms(1'000)},
                          node::SilentManager{"m3:1", "timed out", at_ms(4'000)},
                          node::SilentManager{"m1:1", "timed out", at_ms(5'000)}};
  const auto text = [&](std::size_t count, std::size_t all) {
    return node::text_of(std::span(silent).first(count), all, at_ms(6'000));
  };
  EXPECT_EQ(text(0, 3), "");
  EXPECT_EQ(text(1, 3), "no answer from m2:1 (for 5s: Connection refused)");
  EXPECT_EQ(text(2, 3),
            "no answer from m2:1 (for 5s: Connection refused), m3:1 (for 2s: timed out); a job needs a majority of the "
            "managers: start these again");
  EXPECT_EQ(text(3, 3),
            "no answer from m2:1 (for 5s: Connection refused), m3:1 (for 2s: timed out), m1:1 (for 1s: timed out); a "
            "job needs a majority of the managers: start these again, or correct their addresses or the secret");
}

}  // namespace
}  // namespace bellwether::client::detail
