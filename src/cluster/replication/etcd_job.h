// One job of an EtcdJobStore, at work. Private to the store. It outlives its handle while a call to etcd is under way.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cluster/register/acceptor.h"
#include "cluster/replication/etcd_job_store.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/event.h"
#include "election/store/turns.h"

namespace bellwether::jobs {

class EtcdJob : public std::enable_shared_from_this<EtcdJob> {
 public:
  // The time that a call has: until its deadline, or until it is cancelled or the store is closed.
  class Time {
   public:
    Time(EtcdJob& job, Instant deadline, runtime::Cancellation* cancel)
        : job_(job),
          deadline_(deadline),
          until_(job.store_.runtime_, deadline, cancel),
          on_close_(
              &job.closing_, [](void* c) { static_cast<runtime::Cancellation*>(c)->cancel(); }, until_.cancellation()) {
    }
    Instant deadline() const { return deadline_; }
    runtime::Cancellation* cancellation() { return until_.cancellation(); }
    bool over() const { return until_.over(); }
    Errc why() const { return job_.closing_.cancelled() ? Errc::kClosed : until_.why(); }

   private:
    EtcdJob& job_;
    Instant deadline_;
    runtime::Until until_;
    runtime::CancelCallback on_close_;
  };

  EtcdJob(EtcdJobStore& store, std::string key, JobHandle::Listener& listener);

  static runtime::task<Result<TakenJob>> take(std::shared_ptr<EtcdJob> self, Instant deadline,
                                              runtime::Cancellation* cancel);
  static runtime::task<Written> write(std::shared_ptr<EtcdJob> self, std::string value, Instant deadline,
                                      runtime::Cancellation* cancel);
  static runtime::task<Written> retire(std::shared_ptr<EtcdJob> self, Instant deadline, runtime::Cancellation* cancel);
  static runtime::task<Result<std::optional<std::string>>> read(std::shared_ptr<EtcdJob> self, Instant deadline,
                                                                runtime::Cancellation* cancel);
  static runtime::task<Status> give_back(std::shared_ptr<EtcdJob> self, Instant deadline,
                                         runtime::Cancellation* cancel);
  // The handle ends; no listener is called any more.
  void close();
  // The store ends: all calls do, and the job is given back.
  void end();
  // Perhaps the job is free now.
  void wake() {
    ++news_;
    if (freed_ != nullptr) freed_->set();
  }

  const std::string& key() const { return key_; }
  Instant held_until() const { return ends_; }
  JobFence fence() const { return fence_; }

 private:
  struct Owner {
    std::string name;
    uint64_t created = 0;
    uint64_t lease = 0;
  };
  // The job as etcd shows it.
  struct View {
    bool succeeded = false;  // the transaction that showed it
    std::optional<Owner> owner;
    uint64_t modified = 0;  // revision of the state; 0: none
    registers::RegisterRecord record;
  };

  runtime::task<Result<std::string>> call(const char* path, std::string body, bool repeatable, Time& time);
  runtime::task<Result<View>> transact(store::EtcdTransaction transaction, bool repeatable, Time& time);
  runtime::task<Result<View>> look(Time& time) { return transact(transaction(), true, time); }
  Result<View> view_of(const std::string& body) const;
  store::EtcdTransaction transaction() const;
  std::string owner_name() const { return store_.owners_ + key_; }
  std::string state_name() const { return store_.states_ + key_; }
  Error late(const Time& time, const std::string& why) const;

  runtime::task<Result<TakenJob>> wait_and_claim(Time& time);
  // Until other news than `known` exists, or it is time to look again.
  runtime::task<void> wait_until_free(uint64_t known, Time& time);
  // Nothing: another node was faster, or the outcome is unknown.
  runtime::task<Result<std::optional<TakenJob>>> claim(View seen, Time& time);
  static runtime::task<Written> change(std::shared_ptr<EtcdJob> self, std::string content, bool retire,
                                       Instant deadline, runtime::Cancellation* cancel);
  runtime::task<Written> put(std::string content, uint64_t tombstone, Time& time);
  runtime::task<bool> pause(Time& time);

  static runtime::task<void> keep(std::shared_ptr<EtcdJob> self);
  runtime::task<void> renew();
  void move_end(Instant asked_at);
  bool mine(const View& view) const;
  void drop();
  void lose(const std::string& owner, const std::string& why);
  bool held() { return store_.runtime_.boot_now() < ends_; }

  EtcdJobStore& store_;
  std::string key_;
  JobHandle::Listener* listener_;
  runtime::Cancellation closing_;
  runtime::Cancellation* nap_ = nullptr;
  runtime::Event* freed_ = nullptr;
  uint64_t news_ = 0;
  bool taking_ = false;
  bool keeping_ = false;
  store::Turns turns_{1};  // writes and reads, one after the other

  uint64_t lease_ = 0;  // 0: not held
  uint64_t created_ = 0;
  uint64_t modified_ = 0;
  Instant ends_;
  Instant renew_at_;
  registers::Claim claim_;
  JobFence fence_;
  uint64_t last_write_ = 0;  // the highest number of a write that was used or seen
  bool unsure_ = false;      // the answer to a write was lost: it may take effect at any time
};

}  // namespace bellwether::jobs
