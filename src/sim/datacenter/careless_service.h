// A worker that makes one of the deliberate mistakes of a datacenter: it stands before the product's own service of
// jobs, and answers or changes some of its messages.
#pragma once

#include "cluster/net/message_router.h"
#include "sim/datacenter/datacenter_stage.h"

namespace bellwether::sim {

class CarelessService final : public cluster::Service {
 public:
  static bool is_needed(const DatacenterStage& stage) {
    return stage.is("forgets-denials") || stage.is("owner-does-not-wait") || stage.is("follower-starts-unconfirmed");
  }
  // Takes the place of `real` at the router. All outlive it.
  CarelessService(cluster::MessageRouter& router, cluster::Service& real, const DatacenterStage& stage);
  ~CarelessService() override;
  CarelessService(const CarelessService&) = delete;
  CarelessService& operator=(const CarelessService&) = delete;

  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  void on_message(link::Connection& connection, const wire::Inbound& message) override {
    real_.on_message(connection, message);
  }
  void on_closed(link::Connection& connection) override { real_.on_closed(connection); }

 private:
  cluster::MessageRouter& router_;
  cluster::Service& real_;
  const DatacenterStage& stage_;
};

}  // namespace bellwether::sim
