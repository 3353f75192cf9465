#include "cli/epoch_history.h"

#include <nlohmann/json.hpp>
#include <optional>

namespace bellwether::cli {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "bellwether.epochs/1";
constexpr std::size_t kSamplesMax = 20'000;

// One sample is [seconds since 1970, key, epoch].
class Note final : public lead::FileChange {
 public:
  Note(int64_t now_s, std::string key, uint64_t epoch) : now_s_(now_s), key_(std::move(key)), epoch_(epoch) {}

  Result<std::string> apply(const std::optional<std::string>& text) override {
    json document = text ? json::parse(*text, nullptr, false) : json{{"format", kFormat}, {"samples", json::array()}};
    if (!document.is_object() || document.value("format", json()) != kFormat || !document["samples"].is_array()) {
      return fail(Errc::kProtocol, "this is no history of epochs");
    }
    json kept = json::array();
    uint64_t lowest = epoch_;
    for (const json& sample : document["samples"]) {
      if (!sample.is_array() || sample.size() != 3 || !sample[0].is_number_integer() || !sample[1].is_string() ||
          !sample[2].is_number_unsigned()) {
        return fail(Errc::kProtocol, "this is no history of epochs");
      }
      const int64_t age = now_s_ - sample[0].get<int64_t>();
      if (age < 0 || age > 3600) continue;
      if (sample[1] == key_) lowest = std::min(lowest, sample[2].get<uint64_t>());
      kept.push_back(sample);
    }
    if (kept.size() >= kSamplesMax) kept.erase(kept.begin());
    kept.push_back({now_s_, key_, epoch_});
    grown = epoch_ - lowest;
    document["samples"] = std::move(kept);
    return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }

  uint64_t grown = 0;

 private:
  int64_t now_s_;
  std::string key_;
  uint64_t epoch_;
};

}  // namespace

runtime::task<Result<uint64_t>> EpochHistory::note(std::string key, election::Epoch epoch) {
  Note note(runtime_.wall_now().unix_ns / 1'000'000'000, std::move(key), epoch.value());
  BW_CO_RETURN_IF_ERROR(co_await file_.change(note, runtime_.now() + Duration::seconds(5)));
  co_return note.grown;
}

}  // namespace bellwether::cli
