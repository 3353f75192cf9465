#include "election/store/file/lease_file_store.h"

#include <utility>

#include "core/base/probe.h"
#include "core/base/units.h"
#include "election/store/disk/small_file.h"

namespace bellwether::store {
namespace {

using election::Epoch;
using election::Observation;

void describe_foreign(const DiskClaim& claim, Epoch highest, Observation& seen) {
  seen.foreign = true;
  seen.record.epoch = highest;
  seen.evidence = "the lease was written by another program";
  if (claim.record.epoch < highest) {
    BW_PROBE("store: a foreign program went back in epochs");
    seen.evidence += fmt::format(", under epoch {} although epoch {} was used before: its acts are out of order",
                                 claim.record.epoch.value(), highest.value());
  }
}

// The file is there and makes no sense. Its writer may hold the key, unless the file was the claim that we know.
void describe_unreadable(const Found& found, Epoch highest, Observation& seen) {
  BW_PROBE("store: a lease file cannot be read");
  seen.evidence = fmt::format("the lease file cannot be read ({}); it will be set aside", found.trouble);
  if (found.ledger && found.ledger->last.record.held()) {
    seen.record = found.ledger->last.record;
    return;
  }
  seen.record.holder = "unknown";
  seen.record.epoch = highest;
  seen.foreign = true;
}

using election::WriteRequest;
using runtime::Runtime;
using runtime::task;

constexpr std::string_view kDefaultKey = "default";
constexpr std::string_view kEnding = ".json";
constexpr uint32_t kMode = 0644;
constexpr uint32_t kFolderMode = 0755;

class LeaseFileRules final : public RegisterRules {
 public:
  LeaseFileRules(Runtime& runtime, LeaseFileRulesOptions options) : runtime_(runtime), options_(options) {}

  ClaimForm form() const override { return ClaimForm::kLeaseFile; }

  Result<election::Observation> understand(const RegisterFiles& files, const Found& found) const override {
    LeaseFileView view{runtime_.self(), {}};
    const DiskClaim* claim = claim_in_question(found);
    if (claim != nullptr && claim->process.pid != 0) view.holder = runtime_.look_at_process(claim->process.pid);
    return understand_lease_file(files, found, options_, view);
  }

  Status may_show(const RegisterFiles& files, const Found& found) const override {
    return check_clock(files, found, options_.skew, runtime_.wall_now());
  }

  // A holder whose own clock was set back continues; no other candidate touches a lease from the future.
  Status may_write(const RegisterFiles& files, const Found& found, const WriteRequest& request) const override {
    if (request.kind == WriteRequest::Kind::kRenew || request.kind == WriteRequest::Kind::kRelease) return {};
    const bool foreign = found.claim && found.claim->foreign;
    if (request.kind == WriteRequest::Kind::kAmend && request.record.held() && foreign) {
      return fail(Errc::kUnsupported,
                  "the program that holds the key cannot hand it over on request; the key can only be stolen");
    }
    return may_show(files, found);
  }

  task<Status> put(const RegisterFiles& files, runtime::File&, const Found& found, DiskClaim claim) const override {
    const DiskClaim written = as_written(std::move(claim));
    Status done = co_await write_beside(runtime_, files.claim, write_claim(ClaimForm::kLeaseFile, written), kMode);
    if (!done) co_return done;
    // Programs that take no lock may have written since: as late as possible, this is noticed.
    BW_CO_TRY(const auto now, co_await read_text(runtime_, files.claim));
    if (now.present != found.text.present || now.text != found.text.text) {
      BW_PROBE("store: another program wrote the lease file at the same time");
      co_return fail(Errc::kReset, "another program wrote '{}' at the same time", files.claim);
    }
    if (found.text.present && !found.claim) {
      done = co_await put_aside(runtime_, files.claim);
      if (!done) co_return done;
    }
    done = co_await put_in_place(runtime_, files.claim);
    co_return done;
  }

 private:
  Runtime& runtime_;
  LeaseFileRulesOptions options_;
};

class LeaseFileStore final : public LeaseStore {
 public:
  LeaseFileStore(Runtime& runtime, LeaseFileOptions options)
      : runtime_(runtime), options_(std::move(options)), rules_(runtime, options_.rules) {}

  const election::StoreTraits& traits() const override { return traits_; }
  std::string describe() const override { return fmt::format("file:{}{}", options_.path, options_.folder ? "/" : ""); }

  Result<std::unique_ptr<StoreKey>> open(std::string key) override {
    std::string path = options_.path;
    if (options_.folder) {
      BW_TRY(const auto name, file_name_of_key(key));
      path += fmt::format("/{}{}", name, kEnding);
    } else if (key == kDefaultKey || key == path.substr(path.rfind('/') + 1)) {
      key = kDefaultKey;
    } else {
      return fail(
          Errc::kInvalid,
          "'{}' is one lease file and stores one key, '{}', not '{}'; for a file per key, name a folder: file:FOLDER/",
          path, kDefaultKey, key);
    }
    RegisterFiles files{path, path + ".lock", path + ".epoch", path + ".held", kMode, kFolderMode};
    return std::make_unique<DiskKey>(background_,
                                     RegisterState{runtime_, rules_, std::move(files), std::move(key), nullptr, {}});
  }

  task<Result<std::vector<ListedKey>>> list(std::string prefix, std::size_t most, Instant deadline,
                                            runtime::Cancellation* cancel) override {
    if (options_.folder) {
      const FolderOfKeys folder{options_.path, kEnding, ".json.epoch"};
      auto listed = co_await list_keys(runtime_, *this, folder, std::move(prefix), most, deadline, cancel);
      co_return listed;
    }
    std::vector<ListedKey> listed;
    if (most == 0 || !kDefaultKey.starts_with(prefix)) co_return listed;
    const auto key = open(std::string(kDefaultKey));
    BW_CO_TRY(auto seen, co_await (*key)->look(deadline, cancel));
    if (seen.present) listed.push_back({std::string(kDefaultKey), std::move(seen)});
    co_return listed;
  }

 private:
  Runtime& runtime_;
  LeaseFileOptions options_;
  LeaseFileRules rules_;
  election::StoreTraits traits_;
  runtime::Scope background_;  // last: what is on its way uses the rules
};

}  // namespace

const DiskClaim* claim_in_question(const Found& found) {
  if (found.claim) return &*found.claim;
  return found.ledger && !found.text.present ? &found.ledger->last : nullptr;
}

Result<Observation> understand_lease_file(const RegisterFiles& files, const Found& found,
                                          const LeaseFileRulesOptions& options, const LeaseFileView& view) {
  BW_RETURN_IF_ERROR(check_ledger(files, found, options.accept_epoch_loss));
  Observation seen;
  seen.version = version_of(ClaimForm::kLeaseFile, found);
  const Epoch highest = highest_epoch(found);
  if (highest > Epoch()) seen.floor = Epoch(highest.value() + 1);
  seen.present = found.text.present || found.ledger;
  seen.may_have_lost_data = !seen.present && found.ledger_present;
  const DiskClaim* claim = claim_in_question(found);
  if (claim == nullptr) {
    if (found.text.present) describe_unreadable(found, highest, seen);
    return seen;
  }
  seen.record = claim->record;
  if (claim->foreign) {
    describe_foreign(*claim, highest, seen);
    return seen;
  }
  if (!claim->record.held()) {
    if (found.ledger) seen.record = found.ledger->last.record;
    seen.record.holder.clear();
    seen.record.epoch = highest;
    return seen;
  }
  const Proof proof = judge_process(claim->process, view.self, view.holder, options.one_machine);
  seen.sight = proof.sight;
  seen.evidence = proof.why;
  if (!found.text.present && proof.why.empty()) {
    seen.evidence =
        fmt::format("the lease file was removed although {} had not released the key", claim->record.holder);
  }
  return seen;
}

Status check_clock(const RegisterFiles& files, const Found& found, Duration skew, WallTime now) {
  if (!found.claim || !found.claim->record.held()) return {};
  const WallTime beat = found.claim->record.renewed_at;
  const Duration ahead = Duration::nanos(beat.unix_ns - now.unix_ns);
  if (ahead <= skew) return {};
  BW_PROBE("store: a lease is from the future");
  const std::string& host = found.claim->process.host;
  return fail(Errc::kInvalid,
              "the lease of '{}' in '{}' was renewed {} in the future: at {}, but the time of this host is {}. The "
              "clocks of the hosts that share the file disagree, or this one was set back; compare `date` on this host "
              "and on {}, and correct the wrong clock (?skew= permits more than {})",
              found.claim->record.holder, files.claim, format_duration(ahead), format_wall(beat), format_wall(now),
              host.empty() ? std::string("the other hosts") : host, format_duration(skew));
}

DiskClaim as_written(DiskClaim claim) {
  if (claim.record.held()) return claim;
  claim.record.renewed_at = {};
  claim.record.lease = {};
  return claim;
}

Result<LeaseFileOptions> lease_file_options(StoreUrl url) {
  LeaseFileOptions options;
  BW_TRY(const auto skew, url.take_duration("skew"));
  options.rules.skew = skew.value_or(options.rules.skew);
  BW_TRY(const auto loss, url.take_bool("accept_epoch_loss"));
  options.rules.accept_epoch_loss = loss.value_or(false);
  BW_RETURN_IF_ERROR(url.nothing_left("skew, accept_epoch_loss"));
  if (url.path.empty()) return fail(Errc::kInvalid, url.text + ": name the lease file, or a folder: file:FOLDER/");
  options.path = url.path;
  while (options.path.size() > 1 && options.path.ends_with('/')) {
    options.path.pop_back();
    options.folder = true;
  }
  return options;
}

task<Result<std::unique_ptr<LeaseStore>>> open_lease_file_store(Runtime& runtime, LeaseFileOptions options) {
  BW_CO_TRY(const auto kind, co_await network_file_system_of(runtime, options.path));
  options.rules.one_machine = kind.empty();
  co_return std::unique_ptr<LeaseStore>(std::make_unique<LeaseFileStore>(runtime, std::move(options)));
}

}  // namespace bellwether::store
