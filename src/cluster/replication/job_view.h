// What one node sees of the registers of all jobs without asking for any of them: enough to know which jobs there are,
// to answer people, and to notice that nobody has one. It may lack the newest, and is never a base for a change:
// whoever acts takes the job (job_store.h). One thread, that of its owner.
#pragma once

#include <string>

#include "cluster/register/acceptor.h"

namespace bellwether::jobs {

// Registers that are not of jobs have keys that begin so, which no id of a job does.
inline constexpr char kNotOfJobs = '@';

class JobView {
 public:
  virtual ~JobView() = default;
  // Whether it has seen anything yet. Before it has, there seem to be no jobs.
  virtual bool has_read() const = 0;
  // Of all jobs, the retired ones with them: visit(key). The visit must not lead to a change of the registers.
  template <class Visit>
  void for_each_key(Visit visit) const {
    visit_keys(
        [](void* context, const std::string& key) {
          if (!key.starts_with(kNotOfJobs)) (*static_cast<Visit*>(context))(key);
        },
        &visit);
  }
  // What is in the register of one (job_content.h says what its value is); nullptr: no such job is seen. Good until
  // the next turn of the loop.
  virtual const registers::JobRecord* find(const std::string& key) const = 0;
  // Somebody holds it under a lease, as far as is seen.
  virtual bool is_leased(const std::string& key) const = 0;

 protected:
  using VisitKey = void (*)(void* context, const std::string& key);
  virtual void visit_keys(VisitKey visit, void* context) const = 0;
};

}  // namespace bellwether::jobs
