#include "sim/udp.h"

#include <algorithm>
#include <utility>

#include "core/runtime/event.h"
#include "sim/node.h"
#include "sim/sim_runtime.h"
#include "sim/sockets.h"

namespace bellwether::sim {
namespace {

using runtime::Cancellation;
using runtime::Endpoint;
using runtime::task;

constexpr std::size_t kLargestDatagram = 65'507;

class SimUdpSocket final : public runtime::UdpSocket, public Source {
 public:
  SimUdpSocket(SimRuntime& runtime, std::unique_ptr<Mailbox> mailbox) : Source(runtime), mailbox_(std::move(mailbox)) {
    mailbox_->user = this;
  }
  ~SimUdpSocket() override { runtime().node().sockets().close(*mailbox_); }
  Endpoint local() const override { return mailbox_->at; }
  void on_ready() override { ready_.set(); }

  Status send(Endpoint to, Bytes bytes) override {
    if (bytes.size() > kLargestDatagram) return fail(Errc::kIo, "sending a datagram to " + to.to_string());
    runtime().node().sockets().send(*mailbox_, to, bytes);
    return {};
  }

  task<Result<Datagram>> receive(MutableBytes into, Cancellation* cancel) override {
    runtime::CancelCallback on_cancel(
        cancel, [](void* self) { static_cast<SimUdpSocket*>(self)->ready_.set(); }, this);
    while (mailbox_->waiting.empty()) {
      if (cancel != nullptr && cancel->cancelled()) co_return fail(Errc::kCancelled, "receiving was cancelled");
      ready_.reset();
      co_await ready_.wait();
    }
    const Mailbox::Datagram datagram = std::move(mailbox_->waiting.front());
    mailbox_->waiting.pop_front();
    const std::size_t size = std::min(into.size(), datagram.bytes.size());
    std::copy_n(datagram.bytes.begin(), size, into.begin());
    co_return Datagram{datagram.from, size};
  }

 private:
  std::unique_ptr<Mailbox> mailbox_;
  runtime::Event ready_;
};

}  // namespace

Result<std::unique_ptr<runtime::UdpSocket>> bind_udp(SimRuntime& runtime, Endpoint at) {
  BW_TRY(auto mailbox, runtime.node().sockets().bind(at));
  return std::unique_ptr<runtime::UdpSocket>(std::make_unique<SimUdpSocket>(runtime, std::move(mailbox)));
}

}  // namespace bellwether::sim
