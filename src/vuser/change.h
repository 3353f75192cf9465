// What may change at any moment, for those who wait for that among other things.
#pragma once

#include <memory>
#include <utility>

#include "runtime/cancellation.h"

namespace bellwether::vuser {

// Who waits sleeps with now(), which is cancelled with the next change, and is for that one wait only.
class Change {
 public:
  explicit Change(runtime::Cancellation* parent)
      : parent_(parent), now_(std::make_unique<runtime::Cancellation>(parent)) {}
  runtime::Cancellation* now() const { return now_.get(); }
  void tell() {
    const auto before = std::exchange(now_, std::make_unique<runtime::Cancellation>(parent_));
    before->cancel();
  }

 private:
  runtime::Cancellation* parent_;  // the end of all waiting
  std::unique_ptr<runtime::Cancellation> now_;
};

}  // namespace bellwether::vuser
