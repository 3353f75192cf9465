#include "cluster/local_cluster/layout.h"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/runtime/epoll/processes.h"

namespace bellwether::local_cluster {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

// In JSON's notation, which is YAML's, too.
std::string quoted(const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string counted(unsigned n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

Status check_number(const char* what, unsigned n, unsigned least, unsigned most) {
  if (n >= least && n <= most) return {};
  return fail(Errc::kInvalid, "{} is {}; expected {} to {}", what, n, least, most);
}

std::string claim(const std::string& datacenter, wire::Role role, const std::string& name) {
  return fmt::format("URI:bellwether://{}/default/{}/role/{}/node/{}", kClusterName, datacenter, wire::to_string(role),
                     name);
}

// The common part of all settings files.
std::string common_settings(const Layout& layout, const std::string& name, const std::string& folder) {
  std::string seeds;
  for (const LocalNode& node : layout.nodes) {
    if (node.role == wire::Role::kManager) seeds += (seeds.empty() ? "" : ", ") + node.address();
  }
  std::string text = fmt::format("cluster: {}\nname: {}\nseeds: [{}]\nsecret:\n  file: {}\n", kClusterName, name, seeds,
                                 quoted(folder + "/secret"));
  if (layout.shape.tls) {
    text +=
        fmt::format("tls:\n  certificate: {}\n  key: {}\n  ca: {}\n", quoted(fmt::format("{}/{}.pem", folder, name)),
                    quoted(fmt::format("{}/{}-key.pem", folder, name)), quoted(folder + "/ca.pem"));
  }
  return text;
}

Json to_json(const LocalNode& node) {
  return {{"name", node.name},
          {"role", std::string(wire::to_string(node.role))},
          {"datacenter", node.datacenter},
          {"port", node.port},
          {"http_port", node.http_port},
          {"pid", node.process.pid},
          {"start_time", node.process.start_time},
          {"boot_id", node.process.boot_id},
          {"pid_namespace", node.process.pid_namespace}};
}

LocalNode node_from(const Json& json) {
  LocalNode node;
  node.name = json.at("name").get<std::string>();
  node.role = json.at("role").get<std::string>() == "worker" ? wire::Role::kWorker : wire::Role::kManager;
  node.datacenter = json.at("datacenter").get<std::string>();
  node.port = json.at("port").get<uint16_t>();
  node.http_port = json.at("http_port").get<uint16_t>();
  node.process = {json.at("pid").get<int64_t>(), json.at("start_time").get<uint64_t>(),
                  json.at("boot_id").get<std::string>(), json.at("pid_namespace").get<std::string>()};
  return node;
}

}  // namespace

using runtime::ProcessSight;

ProcessMark mark_of(int64_t pid) {
  const runtime::ProcessIdentity self = runtime::identify_self();
  return {pid, runtime::look_at_process(pid).start_time.value_or(0), self.boot_id, self.pid_namespace};
}

bool lives(const ProcessMark& mark) {
  if (mark.pid <= 0 || mark.start_time == 0) return false;
  const runtime::ProcessIdentity self = runtime::identify_self();
  if (mark.boot_id != self.boot_id || mark.pid_namespace != self.pid_namespace) return false;
  const ProcessSight sight = runtime::look_at_process(mark.pid);
  return sight.state == ProcessSight::State::kAlive && sight.start_time == mark.start_time;
}

Status signal_process(const ProcessMark& mark, int number) {
  // The descriptor stays with the process that has the id now: the inspected process gets the signal.
  const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(mark.pid), 0));
  if (fd < 0 && errno == ESRCH) return fail(Errc::kNotFound, "the process has ended");
  if (fd < 0) return fail_errno(errno, fmt::format("inspecting process {}", mark.pid));
  Status done;
  if (!lives(mark)) {
    done = fail(Errc::kNotFound, "the process has ended");
  } else if (::syscall(SYS_pidfd_send_signal, fd, number, nullptr, 0) != 0) {
    done = errno == ESRCH ? fail(Errc::kNotFound, "the process has ended")
                          : fail_errno(errno, fmt::format("signalling process {}", mark.pid));
  }
  ::close(fd);
  return done;
}

Status check_shape(const Shape& shape) {
  Status good = check_number("--managers", shape.managers, 1, kMaxManagers);
  if (good) good = check_number("--workers", shape.workers, 0, kMaxWorkers);
  if (good) good = check_number("--cores-per-worker", shape.cores, 0, 4096);
  if (good) good = check_number("--datacenters", shape.datacenters, 1, kMaxDatacenters);
  return good;
}

std::string to_string(const Shape& shape) {
  return fmt::format("{} and {}", counted(shape.managers, "manager"), counted(shape.workers, "worker"));
}

Layout make_layout(const Shape& shape, uint16_t base_port) {
  Layout layout;
  layout.shape = shape;
  const auto add = [&](const char* letter, wire::Role role, unsigned i) {
    LocalNode node;
    node.name = letter + std::to_string(i + 1);
    node.role = role;
    node.datacenter = fmt::format("dc{}", i % shape.datacenters + 1);
    node.port = static_cast<uint16_t>(base_port + layout.nodes.size() * kPortsOfNode);
    node.http_port = static_cast<uint16_t>(node.port + 1);
    layout.nodes.push_back(std::move(node));
  };
  for (unsigned i = 0; i < shape.managers; ++i) add("m", wire::Role::kManager, i);
  for (unsigned i = 0; i < shape.workers; ++i) add("w", wire::Role::kWorker, i);
  return layout;
}

std::string settings_of(const Layout& layout, const LocalNode& node, const std::string& folder) {
  std::string text = common_settings(layout, node.name, folder);
  text +=
      fmt::format("role: {}\ndatacenter: {}\nlisten: {}\nhttp: 127.0.0.1:{}\ndata: {}\n", wire::to_string(node.role),
                  node.datacenter, node.address(), node.http_port, quoted(fmt::format("{}/{}", folder, node.name)));
  if (node.role == wire::Role::kManager) {
    std::string voters;
    for (const LocalNode& one : layout.nodes) {
      if (one.role == wire::Role::kManager) voters += (voters.empty() ? "" : ", ") + one.name;
    }
    text += fmt::format("voters: [{}]\n", voters);
    return text;
  }
  if (layout.shape.cores > 0) text += fmt::format("cores: {}\n", layout.shape.cores);
  if (!layout.shape.trust_keys.empty()) text += fmt::format("trust_keys: {}\n", quoted(layout.shape.trust_keys));
  return text;
}

std::string client_settings(const Layout& layout, const std::string& folder) {
  return fmt::format(
      "# For clients and operators (`bellwether cluster members --cluster THIS`). No node runs with it.\n{}role: "
      "worker  # no voter\nlisten: {}  # the node to ask first\n",
      common_settings(layout, kClientName, folder), layout.nodes.front().address());
}

std::string certificate_names(const LocalNode& node) {
  return fmt::format("{},DNS:{},IP:127.0.0.1", claim(node.datacenter, node.role, node.name), node.name);
}

std::string client_certificate_names() {
  return fmt::format("{},{},DNS:{}", claim("*", wire::Role::kOperator, "*"), claim("*", wire::Role::kClient, "*"),
                     kClientName);
}

std::string encode_layout(const Layout& layout) {
  Json nodes = Json::array();
  for (const LocalNode& node : layout.nodes) nodes.push_back(to_json(node));
  const Json out = {{"format", kFormat},
                    {"managers", layout.shape.managers},
                    {"workers", layout.shape.workers},
                    {"cores", layout.shape.cores},
                    {"datacenters", layout.shape.datacenters},
                    {"tls", layout.shape.tls},
                    {"trust_keys", layout.shape.trust_keys},
                    {"formed", layout.formed},
                    {"nodes", std::move(nodes)}};
  return out.dump(2) + "\n";
}

Result<Layout> decode_layout(std::string_view text) {
  const Json in = Json::parse(text, nullptr, false);
  if (in.is_discarded()) return fail(Errc::kInvalid, "it is not JSON");
  try {
    if (in.at("format") != kFormat) {
      return fail(Errc::kUnsupported, "it has format {}, but this version knows only 1", in.at("format").dump());
    }
    Layout layout;
    layout.shape = {in.at("managers"),    in.at("workers"), in.at("cores"),
                    in.at("datacenters"), in.at("tls"),     in.value("trust_keys", std::string())};
    layout.formed = in.at("formed");
    for (const Json& node : in.at("nodes")) layout.nodes.push_back(node_from(node));
    BW_RETURN_IF_ERROR(check_shape(layout.shape));
    if (layout.nodes.size() != layout.shape.managers + layout.shape.workers) {
      return fail(Errc::kInvalid, "its number of nodes does not match its list");
    }
    for (const LocalNode& node : layout.nodes) {
      if (!wire::is_name(node.name)) return fail(Errc::kInvalid, "it has a node with an invalid name");
    }
    return layout;
  } catch (const Json::exception& wrong) {
    return fail(Errc::kInvalid, wrong.what());
  }
}

}  // namespace bellwether::local_cluster
