#include "election/store/host/host_store.h"

#include <utility>

#include "core/base/probe.h"
#include "core/base/units.h"
#include "election/store/disk/small_file.h"

namespace bellwether::store {
namespace {

using election::Epoch;
using election::HolderSight;
using election::Observation;

// The lock file has a claim.
void describe_claim(const DiskClaim& claim, const HostRulesOptions& options, const HostView& view, Observation& seen) {
  seen.record = claim.record;
  seen.foreign = claim.foreign;
  Proof proof;
  if (options.nip_le) {
    if (claim.foreign) seen.record.lease = options.stale_after();
    proof = judge_nip_le(claim, options, view);
  } else {
    proof = judge_process(claim.process, view.self, view.holder, options.one_machine);
  }
  if (claim.foreign) {
    seen.record.acquired_at = {};
    seen.evidence = "the claim was written by another program";
  }
  seen.sight = proof.sight;
  if (!proof.why.empty()) seen.evidence = proof.why;
}

// The lock file has no readable claim: the ledger counts.
void describe_blank(const Found& found, const HostRulesOptions& options, const HostView& view, Observation& seen) {
  const election::LeaseRecord& last = found.ledger->last.record;
  seen.record = last;
  if (!last.held()) return;
  const std::string what = found.text.present ? fmt::format("the lock file cannot be read ({})", found.trouble)
                                              : std::string("the lock file was removed");
  if (options.nip_le) {
    seen.record = {};
    seen.record.cause = what;
    return;
  }
  BW_PROBE("store: a lock file was emptied under its holder");
  const Proof proof = judge_process(found.ledger->last.process, view.self, view.holder, options.one_machine);
  seen.sight = proof.sight;
  seen.evidence = fmt::format("{} although {} had not released the key", what, last.holder);
  if (!proof.why.empty()) seen.evidence = proof.why;
}

bool is_own(const DiskClaim& claim, const HostRulesOptions& options, const HostView& view) {
  if (options.own_id.empty() || claim.record.holder != options.own_id) return false;
  // Two living processes of ours with one id would take the key from each other for ever.
  const Proof proof = judge_process(claim.process, view.self, view.holder, options.one_machine);
  return claim.foreign || proof.sight != HolderSight::kAlive || claim.process.pid == view.self.pid;
}

using election::WriteRequest;
using runtime::Runtime;
using runtime::task;

constexpr std::string_view kLockEnding = ".lock";
constexpr const char* kKnownOptions = "profile, refresh, id, allow_network_fs, accept_epoch_loss";

class HostRules final : public RegisterRules {
 public:
  HostRules(Runtime& runtime, HostRulesOptions options) : runtime_(runtime), options_(std::move(options)) {}

  ClaimForm form() const override { return ClaimForm::kLockFile; }

  Result<election::Observation> understand(const RegisterFiles& files, const Found& found) const override {
    HostView view{runtime_.self(), {}, runtime_.wall_now()};
    const int64_t pid = process_in_question(found, options_.nip_le).pid;
    if (found.claim || pid != 0) view.holder = runtime_.look_at_process(pid);
    return understand_host(files, found, options_, view);
  }

  Status may_write(const RegisterFiles&, const Found& found, const WriteRequest& request) const override {
    if (request.kind == WriteRequest::Kind::kAmend && request.record.held() && found.claim && found.claim->foreign) {
      return fail(Errc::kUnsupported,
                  "the program that holds the key cannot hand it over on request; the key can only be stolen");
    }
    if (options_.nip_le && request.record.held() && request.record.lease > options_.stale_after()) {
      return fail(Errc::kInvalid,
                  "in the profile nip-le, other programs take a key without a renewal for {}; a lease of {} is longer",
                  format_duration(options_.stale_after()), format_duration(request.record.lease));
    }
    return {};
  }

  Status may_show(const RegisterFiles&, const Found&) const override { return {}; }

  // A free key is an empty file: only that is free to every program that knows the format. The file is never removed or
  // replaced, because others lock this very file.
  task<Status> put(const RegisterFiles&, runtime::File& locked, const Found&, DiskClaim claim) const override {
    std::string text = claim.record.held() ? write_claim(ClaimForm::kLockFile, claim) : std::string();
    Status done = co_await overwrite_text(locked, std::move(text));
    co_return done;
  }

 private:
  Runtime& runtime_;
  HostRulesOptions options_;
};

class HostStore final : public LeaseStore {
 public:
  HostStore(Runtime& runtime, HostStoreOptions options)
      : runtime_(runtime), options_(std::move(options)), rules_(runtime, options_.rules) {}

  const election::StoreTraits& traits() const override { return traits_; }
  std::string describe() const override {
    return fmt::format("flock:{}{}", options_.folder, options_.rules.nip_le ? "?profile=nip-le" : "");
  }

  Result<std::unique_ptr<StoreKey>> open(std::string key) override {
    BW_TRY(const auto name, file_name_of_key(key));
    const std::string base = fmt::format("{}/{}", options_.folder, name);
    const std::string lock = base + std::string(kLockEnding);
    RegisterFiles files{.claim = lock, .lock = lock, .ledger = base + ".epoch", .hold = {}};
    // By the rules of NIP-LE nothing but the process counts.
    if (!options_.rules.nip_le) files.hold = base + ".held";
    return std::make_unique<DiskKey>(background_,
                                     RegisterState{runtime_, rules_, std::move(files), std::move(key), nullptr, {}});
  }

  task<Result<std::vector<ListedKey>>> list(std::string prefix, std::size_t most, Instant deadline,
                                            runtime::Cancellation* cancel) override {
    const FolderOfKeys folder{options_.folder, kLockEnding, ".epoch"};
    auto listed = co_await list_keys(runtime_, *this, folder, std::move(prefix), most, deadline, cancel);
    co_return listed;
  }

 private:
  Runtime& runtime_;
  HostStoreOptions options_;
  HostRules rules_;
  election::StoreTraits traits_;
  runtime::Scope background_;  // last: what is on its way uses the rules
};

Result<std::string> folder_from(const StoreUrl& url, bool nip_le, Environment environment) {
  const std::string home = variable(environment, "HOME");
  std::string folder = url.path;
  if (folder == "~" || folder.starts_with("~/")) folder = home + folder.substr(1);
  if (folder.empty() && nip_le) folder = home + "/.buzz/leader-locks";
  if (folder.empty()) {
    const std::string state = state_folder(environment);
    if (!state.empty()) folder = state + "/locks";
  }
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  const bool beside_home = url.path.starts_with('~') || (url.path.empty() && nip_le);
  if (folder.empty() || (beside_home && home.empty())) {
    return fail(Errc::kInvalid, url.text + ": the variable HOME is not set, so name the folder: flock:DIRECTORY");
  }
  return folder;
}

}  // namespace

runtime::ProcessIdentity process_in_question(const Found& found, bool nip_le) {
  if (found.claim) return found.claim->process;
  if (nip_le || !found.ledger || !found.ledger->last.record.held()) return {};
  return found.ledger->last.process;
}

Proof judge_nip_le(const DiskClaim& claim, const HostRulesOptions& options, const HostView& view) {
  if (is_own(claim, options, view)) return {HolderSight::kDead, "the claim carries our own instance id"};
  const Proof proof = judge_process(claim.process, view.self, view.holder, options.one_machine);
  if (proof.sight == HolderSight::kDead) return proof;
  if (view.holder.state == runtime::ProcessSight::State::kDead) {
    return {HolderSight::kDead, fmt::format("its process {} is gone", claim.process.pid)};
  }
  const Duration age = Duration::nanos(view.now.unix_ns - claim.record.renewed_at.unix_ns);
  if (age > options.stale_after()) {
    BW_PROBE("store: a NIP-LE claim is stale");
    return {HolderSight::kDead, "it was not renewed for " + format_duration(age)};
  }
  if (-age > options.stale_after()) {
    return {HolderSight::kDead, fmt::format("it is dated {} in the future", format_duration(-age))};
  }
  return {HolderSight::kAlive, {}};
}

Result<Observation> understand_host(const RegisterFiles& files, const Found& found, const HostRulesOptions& options,
                                    const HostView& view) {
  BW_RETURN_IF_ERROR(check_ledger(files, found, options.accept_epoch_loss));
  Observation seen;
  seen.version = version_of(ClaimForm::kLockFile, found);
  const Epoch highest = highest_epoch(found);
  if (highest > Epoch()) seen.floor = Epoch(highest.value() + 1);
  if (found.claim) {
    seen.present = true;
    describe_claim(*found.claim, options, view, seen);
    if (found.claim->foreign) seen.record.epoch = highest;
  } else if (found.ledger) {
    seen.present = true;
    describe_blank(found, options, view, seen);
    if (!seen.record.held()) seen.record.epoch = highest;
  } else {
    seen.may_have_lost_data = found.ledger_present;
    if (!found.text.text.empty()) seen.evidence = fmt::format("the lock file cannot be read ({})", found.trouble);
  }
  return seen;
}

Result<HostStoreOptions> host_store_options(StoreUrl url, Environment environment) {
  HostStoreOptions options;
  const std::string profile = url.take("profile").value_or("");
  if (!profile.empty() && profile != "nip-le") {
    return fail(Errc::kInvalid, "{}: there is no profile '{}'; known: nip-le", url.text, profile);
  }
  options.rules.nip_le = profile == "nip-le";
  BW_TRY(const auto refresh, url.take_duration("refresh"));
  if (refresh) options.rules.refresh = *refresh;
  if (refresh && (!options.rules.nip_le || *refresh <= Duration::zero())) {
    return fail(Errc::kInvalid, url.text + ": refresh belongs to the profile nip-le and must be longer than 0");
  }
  BW_TRY(const auto network, url.take_bool("allow_network_fs"));
  options.allow_network = network.value_or(false);
  BW_TRY(const auto loss, url.take_bool("accept_epoch_loss"));
  options.rules.accept_epoch_loss = loss.value_or(false);
  const auto id = url.take("id");
  if (options.rules.nip_le) options.rules.own_id = id.value_or(given_instance_id(environment));
  BW_RETURN_IF_ERROR(url.nothing_left(kKnownOptions));
  BW_TRY(options.folder, folder_from(url, options.rules.nip_le, environment));
  return options;
}

bool is_nip_le(std::string_view url) {
  auto parsed = parse_store_url(url);
  return parsed && parsed->scheme == "flock" && parsed->take("profile") == "nip-le";
}

task<Result<std::unique_ptr<LeaseStore>>> open_host_store(Runtime& runtime, HostStoreOptions options) {
  BW_CO_TRY(const auto kind, co_await network_file_system_of(runtime, options.folder));
  if (!kind.empty() && !options.allow_network) {
    co_return fail(Errc::kUnsupported,
                   fmt::format("the folder '{}' is on a network file system ({}), where a lock may be valid on one "
                               "machine only and a process id may belong to another machine. Use a folder on a disk of "
                               "this host, or a store for several hosts; ?allow_network_fs=true accepts the risk",
                               options.folder, kind));
  }
  options.rules.one_machine = kind.empty();
  co_return std::unique_ptr<LeaseStore>(std::make_unique<HostStore>(runtime, std::move(options)));
}

}  // namespace bellwether::store
