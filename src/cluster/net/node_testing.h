// A node's tools in tests of code that talks to its peers: a disk in memory, a server, and links.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/net/kv.h"
#include "cluster/net/peer_links.h"
#include "cluster/wire/link/link_testing.h"
#include "core/base/check.h"
#include "core/runtime/scope.h"

namespace bellwether::cluster {

class MemoryKv final : public Kv {
 public:
  runtime::task<Result<std::optional<std::string>>> get(std::string key) override {
    const auto found = kept.find(key);
    co_return found == kept.end() ? std::nullopt : std::optional<std::string>(found->second);
  }
  runtime::task<Result<std::vector<std::pair<std::string, std::string>>>> list(std::string prefix) override {
    std::vector<std::pair<std::string, std::string>> out;
    for (const auto& one : kept) {
      if (one.first.starts_with(prefix)) out.emplace_back(one);
    }
    co_return out;
  }
  runtime::task<Status> put(std::vector<KvChange> changes) override {
    for (const KvChange& one : changes) {
      kept.erase(one.key);
      if (one.value) kept[one.key] = *one.value;
    }
    co_return Status();
  }

  std::map<std::string, std::string> kept;
};

// A node that others reach.
struct TestNode {
  TestNode(runtime::Runtime& on, const std::string& called, wire::Role role = wire::Role::kManager,
           runtime::Endpoint at = {runtime::IpAddress::loopback(), 0}, MessageClasses classes = MessageClasses())
      : runtime(on), name(called), router(classes) {
    dialling.handshake = link::test_node(name, role);
    dialling.connect_timeout = Duration::seconds(1);
    link::ServerSettings serving;
    serving.handshake = dialling.handshake;
    auto made = link::Server::listen(runtime, at, std::move(serving), keys, router, refusals);
    check(made.has_value(), "the port of a node is free");
    server = std::move(*made);
    links = std::make_unique<PeerLinks>(runtime, dialling, keys, router, refusals);
    scope.spawn(server->serve(scope.cancellation()));
  }
  PeerAddress address() const { return {name, server->local()}; }
  runtime::task<void> close() {
    co_await links->close(Duration::millis(1));
    scope.cancel();
    co_await scope.join();
  }

  runtime::Runtime& runtime;
  std::string name;
  wire::Keyring keys = link::test_keyring();
  link::RefusalWatch refusals;
  link::DialSettings dialling;
  MessageRouter router;
  std::unique_ptr<link::Server> server;
  std::unique_ptr<PeerLinks> links;
  runtime::Scope scope;
};

}  // namespace bellwether::cluster
