// The coroutines of one thread that are ready to go on. The code that makes a coroutine ready pushes its entry here;
// the loop resumes entries one by one. No coroutine is ever resumed from inside another one, so stacks stay flat and a
// callee can never re-enter its caller.
#pragma once

#include <coroutine>
#include <cstddef>

#include "core/base/check.h"

namespace bellwether::runtime {

class RunQueue {
 public:
  // Lives in the frame of the coroutine that waits, so that destroying a suspended coroutine also takes it off the
  // queue.
  class Entry {
   public:
    Entry() = default;
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() { unlink(); }
    std::coroutine_handle<> handle;
    bool queued() const { return next_ != nullptr; }

   private:
    friend class RunQueue;
    void unlink() {
      if (next_ == nullptr) return;
      prev_->next_ = next_;
      next_->prev_ = prev_;
      prev_ = next_ = nullptr;
    }
    Entry* prev_ = nullptr;
    Entry* next_ = nullptr;
  };

  RunQueue() {
    ends_.prev_ = ends_.next_ = &ends_;
    later_.prev_ = later_.next_ = &later_;
  }
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;
  ~RunQueue() {
    admit_later();
    while (!empty()) ends_.next_->unlink();
    ends_.prev_ = ends_.next_ = nullptr;
    later_.prev_ = later_.next_ = nullptr;
  }

  // The queue of this thread: a thread drives one runtime at a time.
  static RunQueue& local() { return local_ != nullptr ? *local_ : make_local(); }

  bool empty() const { return ends_.next_ == &ends_ && later_.next_ == &later_; }

  // REQUIRES that the entry is not queued and that its handle is a suspended coroutine.
  void push(Entry& entry) { append(ends_, entry); }
  // The same for a coroutine that could go on and on: its turn comes only after the loop has looked at timers and
  // network again.
  void push_later(Entry& entry) { append(later_, entry); }

  // Resumes the oldest entry. REQUIRES !empty().
  void run_one() {
    if (ends_.next_ == &ends_) admit_later();
    Entry* entry = ends_.next_;
    entry->unlink();
    entry->handle.resume();
  }

  // One turn: resumes entries until none is left or `most` were resumed; returns the number. Entries pushed for later
  // meanwhile stay for the next turn.
  std::size_t drain(std::size_t most) {
    admit_later();
    std::size_t count = 0;
    while (count < most && ends_.next_ != &ends_) {
      run_one();
      ++count;
    }
    return count;
  }

  // Hands over everything, in order. For runtimes that share a thread and take turns.
  void move_to(RunQueue& other) {
    admit_later();
    while (!empty()) {
      Entry* entry = ends_.next_;
      entry->unlink();
      other.push(*entry);
    }
  }

 private:
  static void append(Entry& ends, Entry& entry) {
    check(!entry.queued());
    entry.prev_ = ends.prev_;
    entry.next_ = &ends;
    ends.prev_->next_ = &entry;
    ends.prev_ = &entry;
  }
  // Puts later entries behind the ready ones.
  void admit_later() {
    while (later_.next_ != &later_) {
      Entry* entry = later_.next_;
      entry->unlink();
      append(ends_, *entry);
    }
  }

  static RunQueue& make_local();
  static constinit thread_local RunQueue* local_;
  Entry ends_;
  Entry later_;
};

}  // namespace bellwether::runtime
