// bellwether target: a server to try load tests on, with latency, stalls and errors on demand.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/run/machine_limits.h"
#include "cli/verb.h"
#include "core/base/units.h"
#include "target/server.h"

namespace bellwether::cli {
namespace {

struct TargetArguments {
  std::string listen = "127.0.0.1:18080";
  std::string latency, stall_every, stall_for, run_for, pin;
  std::string certificate, key, ca_out;
  double error_rate = 0;
  uint32_t cores = 0;
  uint64_t seed = 0;
  bool tls = false;
  bool quiet = false;
};

constexpr uint64_t kTargetDescriptors = 1'000'000;  // the clients are unknown: as many as possible

constexpr const char* kFooter =
    "Paths:\n"
    "  /  /json  /items  /items/ID  /cart (GET, POST)  /pay (POST)  /headers  /echo  /cookies  /gzip  /br\n"
    "  /login            POST {\"user\":…,\"pass\":…}: a token and a session cookie\n"
    "  /bytes/N          N bytes                    /stream/N    N lines, chunked\n"
    "  /status/CODE      this status                /delay/50ms  answers after 50 ms\n"
    "  /redirect/N       N redirects, then 200\n"
    "  /fault/NAME       reset, close, hang, truncate, garbage, long-header, bad-length, bad-chunk, bad-gzip";

// "20ms", or "20ms-80ms".
Status set_latency(const std::string& text, target::FaultOptions& faults) {
  const std::size_t dash = text.find('-');
  auto low = parse_duration(text.substr(0, dash));
  auto high = dash == std::string::npos ? low : parse_duration(text.substr(dash + 1));
  if (!low || !high) return fail(Errc::kInvalid, "--latency: " + (low ? high : low).error().message);
  if (*high < *low) return fail(Errc::kInvalid, "--latency '{}': the first time is longer than the second", text);
  faults.latency_low = *low;
  faults.latency_high = *high;
  return {};
}

Status set_duration(const char* option, const std::string& text, Duration& into) {
  if (text.empty()) return {};
  auto duration = parse_duration(text);
  if (!duration) return fail(Errc::kInvalid, "{}: {}", option, duration.error().message);
  into = *duration;
  return {};
}

Status set_faults(const TargetArguments& arguments, target::FaultOptions& faults) {
  if (!arguments.latency.empty()) {
    BW_RETURN_IF_ERROR(set_latency(arguments.latency, faults));
  }
  BW_RETURN_IF_ERROR(set_duration("--stall-every", arguments.stall_every, faults.stall_every));
  BW_RETURN_IF_ERROR(set_duration("--stall-for", arguments.stall_for, faults.stall_for));
  if (arguments.stall_every.empty() != arguments.stall_for.empty()) {
    return fail(Errc::kInvalid, "--stall-every and --stall-for belong together, for example 20s and 1s");
  }
  if (faults.stall_every < faults.stall_for) {
    return fail(Errc::kInvalid, fmt::format("--stall-for {} is longer than --stall-every {}", arguments.stall_for,
                                            arguments.stall_every));
  }
  if (!(arguments.error_rate >= 0 && arguments.error_rate <= 1)) {
    return fail(Errc::kInvalid, "--error-rate is a fraction of the requests: write a number from 0 to 1");
  }
  faults.error_rate = arguments.error_rate;
  return {};
}

Result<runtime::Endpoint> endpoint_of(std::string text) {
  if (text.starts_with("localhost:")) text.replace(0, 9, "127.0.0.1");
  auto endpoint = runtime::Endpoint::parse(text);
  if (!endpoint) return fail(Errc::kInvalid, "--listen: " + endpoint.error().message);
  return *endpoint;
}

Result<target::TargetOptions> options_of(const TargetArguments& arguments) {
  target::TargetOptions options;
  BW_TRY(options.listen, endpoint_of(arguments.listen));
  BW_RETURN_IF_ERROR(set_faults(arguments, options.faults));
  BW_RETURN_IF_ERROR(set_duration("--for", arguments.run_for, options.run_for));
  if (arguments.certificate.empty() != arguments.key.empty()) {
    return fail(Errc::kInvalid, "--cert and --key belong together");
  }
  options.tls = arguments.tls || !arguments.certificate.empty();
  if (!arguments.ca_out.empty() && (!options.tls || !arguments.certificate.empty())) {
    return fail(Errc::kInvalid, "--ca-out writes the certificate that --tls makes; it needs --tls, without --cert");
  }
  options.certificate_file = arguments.certificate;
  options.key_file = arguments.key;
  options.ca_file = arguments.ca_out;
  options.seed = arguments.seed;
  if (!arguments.pin.empty()) {
    BW_TRY(auto pin, parse_pin(arguments.pin));
    BW_RETURN_IF_ERROR(check_pin(pin));
    options.pin = std::move(pin);
  }
  const auto pinned = static_cast<uint32_t>(options.pin.size());
  options.threads = arguments.cores != 0 ? arguments.cores : (pinned != 0 ? pinned : usable_cpus());
  return options;
}

void say_listening(const std::string& url) {
  std::printf("listening on %s (Ctrl-C ends it)\n", url.c_str());
  std::fflush(stdout);
}

Result<int> run_command(const TargetArguments& arguments) {
  BW_TRY(auto options, options_of(arguments));
  raise_descriptors(kTargetDescriptors);
  BW_TRY(auto totals, target::run_target(options, arguments.quiet ? [](const std::string&) {} : &say_listening));
  if (!arguments.quiet) {
    std::printf("answered %s requests on %s connections\n", format_count(totals.requests).c_str(),
                format_count(totals.connections).c_str());
  }
  return kExitOk;
}

}  // namespace

void add_target(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<TargetArguments>();
  CLI::App* command = new_verb(app, "target");
  command->add_option("-l,--listen", arguments->listen, "Address and port; port 0 takes a free one")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  add_text(command, "--latency", arguments->latency, "TIME[-TIME]",
           "Delay of each response: 20ms, or uniformly 20ms-80ms");
  add_text(command, "--stall-every", arguments->stall_every, "TIME", "Period of stalls, for example 20s");
  add_text(command, "--stall-for", arguments->stall_for, "TIME", "Length of a stall, at the end of each period");
  command->add_option("--error-rate", arguments->error_rate, "Fraction of requests answered with 500, 0 to 1");
  command->add_flag("--tls", arguments->tls, "Serve HTTPS");
  add_text(command, "--cert", arguments->certificate, "FILE", "Serve HTTPS with this certificate chain (PEM)");
  add_text(command, "--key", arguments->key, "FILE", "Private key of the certificate (PEM)");
  add_text(command, "--ca-out", arguments->ca_out, "FILE",
           "With --tls: write the certificate that clients must trust to this file");
  command->add_option("--cores", arguments->cores, "Number of threads (default: all processors)")
      ->check(CLI::Range(1U, kMaxCores));
  add_text(command, "--pin", arguments->pin, "LIST", "Processors for the threads, for example 1 or 0,2-3");
  add_seed(command, arguments->seed, "Seed of latency and errors (default: random)");
  add_text(command, "--for", arguments->run_for, "TIME", "End after this time (default: at Ctrl-C)");
  command->add_flag("-q,--quiet", arguments->quiet, "Print errors only");
  command->footer(kFooter);
  command->callback([arguments, &exit_code] { exit_code = answer("target", run_command(*arguments)); });
}

}  // namespace bellwether::cli
