#include "core/runtime/scope.h"

#include <utility>

namespace bellwether::runtime {

struct Scope::Child {
  task<void> watcher;
  Child* prev = nullptr;
  Child* next = nullptr;
};

// A child cannot free its own frame while it runs, so it moves to the list of the ended, which the next spawn, the
// join or the destructor frees.
task<void> Scope::watch(Scope* scope, Child* child, task<void> work) {
  {
    // The child's resources (a connection, say) end with it, not when the scope next looks.
    task<void> ending = std::move(work);
    co_await ending;
  }
  --scope->running_;
  if (child->prev != nullptr) child->prev->next = child->next;
  if (child->next != nullptr) child->next->prev = child->prev;
  if (scope->children_ == child) scope->children_ = child->next;
  child->prev = nullptr;
  child->next = scope->ended_;
  scope->ended_ = child;
  if (scope->running_ == 0 && scope->joiner_ != nullptr) {
    RunQueue::local().push(*std::exchange(scope->joiner_, nullptr));
  }
}

void Scope::spawn(task<void> work) {
  reap();
  auto* child = new Child;
  child->next = children_;
  if (children_ != nullptr) children_->prev = child;
  children_ = child;
  ++running_;
  child->watcher = watch(this, child, std::move(work));
}

// A child whose watcher has just moved itself to the list may still be inside its last step; it stays for the next
// time.
void Scope::reap() {
  Child** link = &ended_;
  while (*link != nullptr) {
    Child* child = *link;
    if (child->watcher.done()) {
      *link = child->next;
      delete child;
    } else {
      link = &child->next;
    }
  }
}

Scope::~Scope() {
  while (children_ != nullptr) delete std::exchange(children_, children_->next);
  while (ended_ != nullptr) delete std::exchange(ended_, ended_->next);
}

}  // namespace bellwether::runtime
