// A node that makes one of the deliberate mistakes of a datacenter: it stands before the product's own service of a
// type of messages, and answers or changes some of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "cluster/net/message_router.h"
#include "core/runtime/runtime.h"
#include "jobs/dispatch/messages.h"
#include "sim/datacenter/datacenter_stage.h"

namespace bellwether::sim {

class CarelessService final : public cluster::Service {
 public:
  // The mistakes of a worker and a manager with messages about jobs, and of a replica of the jobs' registers.
  static bool is_worker(const DatacenterStage& stage) {
    return stage.is("forgets-denials") || stage.is("owner-does-not-wait");
  }
  static bool is_manager(const DatacenterStage& stage) { return stage.is("counts-twice"); }
  static bool is_replica(const DatacenterStage& stage) {
    return stage.is("offers-unkept") || stage.is("gives-up-unkept");
  }
  // Takes the place of `real` at the router, for messages of this type. All outlive it.
  CarelessService(runtime::Runtime& runtime, cluster::MessageRouter& router, uint16_t type, cluster::Service& real,
                  const DatacenterStage& stage);
  ~CarelessService() override;
  CarelessService(const CarelessService&) = delete;
  CarelessService& operator=(const CarelessService&) = delete;

  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  void on_message(link::Connection& connection, const wire::Inbound& message) override;
  void on_closed(link::Connection& connection) override { real_.on_closed(connection); }

 private:
  struct Noticed {
    uint64_t most = 0;  // assignments offered, or given up
    Instant keeps_again;
  };
  bool count_twice(dispatch::WindowMessage& message) const;
  bool keeps(const std::string& job, std::string_view value);

  runtime::Runtime& runtime_;
  cluster::MessageRouter& router_;
  uint16_t type_;
  cluster::Service& real_;
  const DatacenterStage& stage_;
  std::map<std::string, Noticed> noticed_;  // by job
};

}  // namespace bellwether::sim
