// What an engine shows of single requests, beside its counts: rows for a writer, and texts for people.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/callback.h"
#include "core/http1/client.h"
#include "core/http1/error_kind.h"
#include "core/runtime/thread.h"
#include "load/plan/plan.h"

namespace bellwether::vuser {

// Times in nanoseconds. Without initial values: pages that no row has reached take no memory.
struct RequestRow {
  int64_t began;  // on the clock of the runtime
  int64_t response;
  int64_t service;  // -1: there was no response
  uint64_t bytes_sent;
  uint64_t bytes_received;
  uint64_t iteration;
  uint32_t vu;
  uint16_t status;  // 0: there was no response
  plan::StepId step;
  http1::ErrorKind error;
  bool failed;
};

// `due`: the time at which the request should have begun, `now`: the present.
inline RequestRow row_of(plan::StepId step, const http1::Response& response, bool failed, Instant due, uint32_t vu,
                         uint64_t iteration, Instant now) {
  const bool answered = response.error == http1::ErrorKind::kNone;
  const bool begun = response.started != Instant{};  // the exchange was
  return {.began = (begun ? response.started : now).ns(),
          .response = ((answered ? response.done : now) - due).ns(),
          .service = answered ? (response.done - response.sent).ns() : -1,
          .bytes_sent = response.bytes_sent,
          .bytes_received = response.bytes_received,
          .iteration = iteration,
          .vu = vu,
          .status = static_cast<uint16_t>(answered ? response.status : 0),
          .step = step,
          .error = response.error,
          .failed = failed};
}

// The measured requests of a load thread, one by one, on their way to a writer: pages of rows that go to and fro. When
// the writer is too slow, rows are left out and counted; the load never waits.
class RequestPages {
 public:
  static constexpr std::size_t kRows = 8192;  // of a page
  static constexpr std::size_t kPages = 32;
  struct Page {
    std::size_t count = 0;
    std::unique_ptr<RequestRow[]> rows = std::make_unique_for_overwrite<RequestRow[]>(kRows);
  };

  // `ready` counts the pages that wait for the writer, and wakes it; it must outlive this object.
  explicit RequestPages(std::atomic<uint32_t>& ready) : ready_(ready) {
    for (Page& page : pages_) empty_.push(&page);
    page_ = empty_.pop();
  }

  // --- on the load thread

  void add(const RequestRow& row) {
    if (page_->count == kRows && !flush()) {
      left_out_.store(left_out_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return;
    }
    page_->rows[page_->count++] = row;
  }
  // Hands over the rows so far; false when there is no other page to go on with, or nothing to hand over.
  bool flush() {
    Page* const next = page_->count == 0 ? nullptr : empty_.pop();
    if (next == nullptr) return false;
    hand_over(next);
    return true;
  }
  // Hands over the last rows. Nothing may follow.
  void close() {
    if (page_->count > 0) hand_over(nullptr);
  }

  // --- on the writer's thread

  Page* next_full() { return full_.pop(); }
  void release(Page* page) {
    page->count = 0;
    empty_.push(page);
  }

  // From any thread.
  uint64_t left_out() const { return left_out_.load(std::memory_order_relaxed); }

 private:
  void hand_over(Page* next) {
    full_.push(page_);
    page_ = next;
    ready_.fetch_add(1, std::memory_order_release);
    ready_.notify_one();
  }

  std::array<Page, kPages> pages_;
  runtime::Handover<Page, kPages> full_;
  runtime::Handover<Page, kPages> empty_;
  Page* page_;  // that is being filled
  std::atomic<uint64_t> left_out_{0};
  std::atomic<uint32_t>& ready_;
};

// The requests and responses of a run as text, marked with their virtual user and its iteration.
class HttpDebug {
 public:
  static constexpr uint32_t kMaxVus = 10;  // beyond them nobody can read it
  struct Options {
    bool bodies = false;
    bool credentials = false;  // else the values of fields that carry them are hidden
  };
  // `print` gets whole blocks of lines, on any load thread.
  HttpDebug(Options options, Callback<void(const std::string& block)> print);

  // Of all load threads. This object must outlive the run, and stay in its place.
  const http1::ExchangeWatch* watch() const { return &watch_; }

 private:
  void sent(const http1::Session& session, const http1::Origin& origin, std::string_view request) const;
  void received(const http1::Session& session, const http1::Response& response) const;

  Options options_;
  Callback<void(const std::string& block)> print_;
  http1::ExchangeWatch watch_;
};

// Those of one engine. All must outlive it.
struct Instruments {
  RequestPages* requests = nullptr;             // nullptr: they are not recorded
  const http1::ExchangeWatch* watch = nullptr;  // nullptr: nobody watches
};

}  // namespace bellwether::vuser
