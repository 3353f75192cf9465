// One key on a disk as a register with compare-and-act: the common part of lock files and lease files. The claim is in
// a file that other programs know; our ledger beside it keeps the data that must not be lost (disk_claim.h). Reading
// takes no lock, unless the content makes no sense. Changing is read, compare and write under one exclusive lock, in an
// order that a crash may interrupt anywhere: first the ledger, then the claim.
//
// If the disk hangs, an operation that misses its deadline continues: a cancelled write could still reach the disk
// after the lock was released. The operation keeps the lock; the caller gets kTimeout, and the next call waits until it
// is over.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/runtime/event.h"
#include "core/runtime/scope.h"
#include "election/store/disk/disk_claim.h"
#include "election/store/disk/small_file.h"
#include "election/store/lease_store.h"

namespace bellwether::store {

// Notices that another process has changed or created a file, and that a process has ended, for candidates that wait
// for a key on this host. One descriptor becomes readable; no event is lost between two waits. Events are only hints:
// the waiting candidate also polls the key, because a network file system, or a machine out of watches, reports
// nothing.
class DiskWatch {
 public:
  // Watches the file `name` in `folder`, which must exist. Nothing when the system cannot.
  static std::optional<DiskWatch> of(const std::string& folder, const std::string& name);
  DiskWatch(DiskWatch&& other) noexcept;
  DiskWatch& operator=(DiskWatch&&) = delete;
  ~DiskWatch();

  // Watches this process too, in place of the previous one; 0: none. A process that has ended already counts as ended
  // since the last call of take().
  void watch_process(int64_t pid);
  // Makes the descriptor readable once, without an event: the waiting candidate looks at the key.
  void nudge();
  // Readable when take() has an event.
  int descriptor() const { return epoll_fd_; }
  // True when the file has changed or the process has ended since the last call. Does not wait.
  bool take();

 private:
  DiskWatch(int epoll_fd, int notify_fd, int nudge_fd, std::string name)
      : epoll_fd_(epoll_fd), notify_fd_(notify_fd), nudge_fd_(nudge_fd), name_(std::move(name)) {}
  int epoll_fd_;
  int notify_fd_;
  int nudge_fd_;
  int process_fd_ = -1;
  bool ended_already_ = false;
  int64_t process_ = 0;
  std::string name_;
};

struct RegisterFiles {
  std::string claim;
  std::string lock;  // the locked file; may be the file of the claim itself
  std::string ledger;
  std::string hold;             // held by the holder's work while it runs; empty: none
  uint32_t mode = 0600;         // of files that are made, before the umask
  uint32_t folder_mode = 0700;  // of the folder
};

// The files of a key, as found.
struct Found {
  FileText text;                   // the file of the claim
  std::optional<DiskClaim> claim;  // its content, if readable
  std::string trouble;             // why it cannot be read
  bool ledger_present = false;
  std::optional<KeyLedger> ledger;  // when it can be read
  std::string ledger_trouble;
};

// The differences between the two kinds of files. Belongs to the store, which outlives its keys.
class RegisterRules {
 public:
  virtual ~RegisterRules() = default;
  virtual ClaimForm form() const = 0;
  virtual Result<election::Observation> understand(const RegisterFiles& files, const Found& found) const = 0;
  // Refuses a claim that must not be believed, even if it is readable.
  virtual Status may_show(const RegisterFiles& files, const Found& found) const = 0;
  // Writes the claim, durably, after the ledger. `locked` is the locked file.
  virtual runtime::task<Status> put(const RegisterFiles& files, runtime::File& locked, const Found& found,
                                    DiskClaim claim) const = 0;
  // Refuses a request that this state does not allow; the version fits already.
  virtual Status may_write(const RegisterFiles& files, const Found& found,
                           const election::WriteRequest& request) const = 0;
};

// Names the state that was found.
election::Version version_of(ClaimForm form, const Found& found);
// Reports a loss to the operator: an error when the ledger is gone although epochs were given out here. `accept_loss`:
// continue from the claim.
Status check_ledger(const RegisterFiles& files, const Found& found, bool accept_loss);
// The highest epoch in the files; 0: none given out.
election::Epoch highest_epoch(const Found& found);

// Shared with operations that outlast their callers.
struct RegisterState {
  runtime::Runtime& runtime;
  const RegisterRules& rules;
  RegisterFiles files;
  std::string key;
  // A process may die before the work that it started. So the claim's holder holds a separate file (File::try_hold),
  // which that work inherits (StoreKey::claim_descriptor). A holder without a process counts as dead only when no
  // process holds the file. Candidates do not wait for it: they take a key whose lease has expired, even if the file is
  // held.
  std::unique_ptr<runtime::File> hold = nullptr;
  std::string hold_token = {};
  // Of the last seen claim, for candidates that wait for a change.
  int64_t holder_pid = 0;
  bool work_lingers = false;  // its process is gone, its work is not
};

class DiskKey final : public StoreKey {
 public:
  // `background` takes over operations that outlast their callers; it and the rules must outlive the key.
  DiskKey(runtime::Scope& background, RegisterState state)
      : background_(background), state_(std::make_shared<RegisterState>(std::move(state))) {}

  runtime::task<Status> prepare() override;
  runtime::task<Result<election::Observation>> look(Instant deadline, runtime::Cancellation* cancel) override;
  runtime::task<Result<election::WriteOutcome>> act(election::WriteRequest request, Instant deadline,
                                                    runtime::Cancellation* cancel) override;
  runtime::task<bool> changed(runtime::Cancellation* cancel) override;
  int claim_descriptor() const override { return state_->hold == nullptr ? -1 : state_->hold->descriptor(); }

 private:
  template <class T>
  struct Call;
  template <class T>
  static runtime::task<void> finish(runtime::task<Result<T>> work, std::shared_ptr<Call<T>> call);
  template <class T, class Begin>
  runtime::task<Result<T>> run(Begin begin, Instant deadline, runtime::Cancellation* cancel);

  runtime::Scope& background_;
  std::shared_ptr<RegisterState> state_;
  std::shared_ptr<runtime::Event> unfinished_;  // the end of the last piece of work
  std::optional<DiskWatch> watch_;
  Duration linger_ = Duration::millis(1);  // until the next look at work that its leader has left behind
};

}  // namespace bellwether::store
