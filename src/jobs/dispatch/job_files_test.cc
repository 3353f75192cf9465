// Assignments whose workers fetch data files before they can prepare them.
#include <algorithm>

#include "jobs/dispatch/job_kernel.h"
#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

class JobFiles : public testing::Test {
 protected:
  // A job of two parts, offered to two workers.
  JobFiles() {
    JobRecord record;
    record.id = "job";
    record.revision = 1;
    JobSpec spec{load_spec("browse", Duration::seconds(10))};
    record.workflows = JobKernel::new_workflows(spec);
    job_ = std::make_unique<JobKernel>(std::move(spec), JobRules(), std::move(record), Prng(1));
    JobEffects out;
    job_->begin(now_, out);
    job_->workers_changed(now_, {worker("w1"), worker("w2")}, out);
    job_->kept(now_, job_->record().revision, out);
  }
  WorkerSight worker(const std::string& name) const {
    WorkerSight sight;
    sight.name = name;
    sight.life = 1;
    sight.cores = sight.free = 1;
    sight.takes_work = sight.healthy = true;
    sight.heard = now_;
    return sight;
  }
  void pass(Duration span, const std::vector<AssignmentId>& preparing) {
    const Instant end = now_ + span;
    while (now_ < end) {
      now_ = now_ + Duration::seconds(1);
      JobEffects out;
      ++report_;
      for (const char* name : {"w1", "w2"}) job_->permit(now_, name, 1, {}, report_, report_ - 1);
      for (const AssignmentId id : preparing) job_->preparing(now_, id);
      job_->tick(now_, out);
      job_->kept(now_, job_->record().revision, out);
    }
  }
  AssignmentState state(uint32_t id) const { return job_->find(AssignmentId(id))->state; }

  uint64_t report_ = 0;
  Instant now_ = Instant::from_ns(1'000'000'000);
  std::unique_ptr<JobKernel> job_;
};

TEST_F(JobFiles, an_offer_waits_as_long_as_its_worker_fetches) {
  ASSERT_EQ(state(1), AssignmentState::kOffered);
  ASSERT_EQ(state(2), AssignmentState::kOffered);
  pass(Duration::minutes(10), {AssignmentId(1), AssignmentId(2)});
  EXPECT_EQ(state(1), AssignmentState::kOffered);
  pass(Duration::seconds(16), {AssignmentId(2)});
  EXPECT_EQ(state(1), AssignmentState::kGone) << "its worker says nothing any more";
}

TEST_F(JobFiles, a_ready_assignment_waits_for_one_whose_worker_fetches) {
  JobEffects out;
  job_->offered(now_, AssignmentId(1), OfferAnswer::kReady, {}, out);
  pass(Duration::minutes(10), {AssignmentId(1), AssignmentId(2)});
  EXPECT_EQ(state(1), AssignmentState::kReady);
  EXPECT_EQ(state(2), AssignmentState::kOffered);
}

TEST(ReadingTime, grows_with_the_bytes) {
  EXPECT_EQ(reading_time({}), Duration::zero());
  EXPECT_EQ(reading_time({{"a", uint64_t{100} << 20}, {"b", uint64_t{400} << 20}}), Duration::seconds(10));
}

}  // namespace
}  // namespace bellwether::dispatch
