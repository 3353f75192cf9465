#include "lead/epoch_memory.h"

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "election/store/disk/small_file.h"
#include "election/store/environment.h"

namespace bellwether::lead {
namespace {

constexpr std::string_view kEpochMemoryFirstWord = "epoch ";

// "epoch 12 <hash of that>": short enough to be read by people, and torn never.
std::string text_of(election::Epoch epoch) {
  const std::string line = std::string(kEpochMemoryFirstWord) + std::to_string(epoch.value());
  return line + " " + sha256_hex(line).substr(0, 16) + "\n";
}

}  // namespace

EpochMemory::EpochMemory(runtime::Runtime& runtime, std::string folder, const std::string& store,
                         const std::string& key)
    : runtime_(runtime), folder_(std::move(folder)) {
  path_ = folder_ + "/" + sha256_hex(store + std::string(1, '\0') + key).substr(0, 32);
}

runtime::task<Result<election::Epoch>> EpochMemory::load() {
  BW_CO_TRY(const auto file, co_await store::read_text(runtime_, path_));
  if (!file.present) co_return election::Epoch();
  std::string_view text = file.text;
  if (text.starts_with(kEpochMemoryFirstWord)) {
    const auto number = parse_u64(text.substr(
        kEpochMemoryFirstWord.size(), text.find(' ', kEpochMemoryFirstWord.size()) - kEpochMemoryFirstWord.size()));
    if (number && text == text_of(election::Epoch(*number))) co_return election::Epoch(*number);
  }
  co_return fail(Errc::kInvalid, path_ +
                                     ": this is not an epoch that was kept here; remove the file (`bellwether lease "
                                     "repair --forget`) when you are sure that nobody has held the key under a higher "
                                     "epoch than the store knows");
}

runtime::task<Status> EpochMemory::save(election::Epoch epoch) {
  BW_CO_RETURN_IF_ERROR(co_await runtime_.make_directory(folder_, 0700));
  // Others on this machine may keep the same key: the highest stays.
  const runtime::OpenOptions options{.create = true, .write = true, .no_follow = true, .mode = 0600};
  const Instant deadline = runtime_.read_clock() + Duration::seconds(5);
  BW_CO_RETURN_IF_ERROR(co_await store::open_locked(runtime_, path_ + ".lock", options, deadline));
  const auto kept = co_await load();
  if (kept && *kept >= epoch) co_return Status();
  std::string text = text_of(epoch);
  BW_CO_RETURN_IF_ERROR(co_await store::write_beside(runtime_, path_, std::move(text), 0600));
  const auto placed = co_await store::put_in_place(runtime_, path_);
  co_return placed;
}

runtime::task<Status> EpochMemory::forget() {
  Status done = co_await runtime_.remove(path_);
  if (!done && done.error().code == Errc::kNotFound) co_return Status();
  if (done) done = co_await runtime_.sync_directory(folder_);
  co_return done;
}

std::string default_epoch_folder() {
  const std::string state = store::state_folder(&store::own_environment);
  return state.empty() ? state : state + "/epochs";
}

}  // namespace bellwether::lead
