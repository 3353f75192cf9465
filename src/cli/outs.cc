#include "cli/outs.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>

#include "core/base/bytes.h"
#include "load/report/csv.h"
#include "load/report/hdr.h"
#include "load/report/html.h"
#include "load/report/junit.h"
#include "load/report/write_file.h"

namespace bellwether::cli {
namespace {

using Format = Out::Format;

constexpr std::array<std::string_view, 5> kFormats{"json", "csv", "junit", "html", "hdr"};  // in the order of Format

Result<Out> parse_out(const std::string& word, std::string_view option) {
  const std::string said = std::string(option) + " '" + word + "': ";
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals + 1 == word.size()) {
    return fail(Errc::kInvalid, said + "write FORMAT=FILE, for example html=report.html");
  }
  Out out;
  std::string format = word.substr(0, equals);
  if (format.starts_with("hdr:")) {
    out.step = format.substr(4);
    if (out.step.empty()) return fail(Errc::kInvalid, said + "write hdr:WORKFLOW.STEP=FILE, or hdr=FILE");
    format.resize(3);
  }
  const auto known = std::find(kFormats.begin(), kFormats.end(), format);
  if (known == kFormats.end()) {
    const std::string_view near = nearest(format, kFormats);
    return fail(Errc::kInvalid, said + "there are json, csv, junit, html and hdr" +
                                    (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?"));
  }
  out.format = static_cast<Format>(known - kFormats.begin());
  out.file = word.substr(equals + 1);
  return out;
}

Result<std::string> made(const std::string& json, const report::ResultFile& run, const Out& out) {
  switch (out.format) {
    case Format::kJson: return json;
    case Format::kCsv: return report::to_csv(run);
    case Format::kJunit: return report::to_junit(run);
    case Format::kHtml: return report::to_html(run);
    case Format::kHdr: break;
  }
  return report::to_hdr(run, out.step);
}

}  // namespace

void add_out_option(CLI::App* command, std::vector<std::string>& outs) {
  command->add_option("-o,--out", outs, std::string(kOutHelp))->take_all()->allow_extra_args(false);
}

Result<std::vector<Out>> parse_outs(const std::vector<std::string>& words, std::string_view option) {
  std::vector<Out> outs;
  for (const std::string& word : words) {
    BW_TRY(auto out, parse_out(word, option));
    for (const Out& other : outs) {
      if (other.file == out.file) {
        return fail(Errc::kInvalid, std::string(option) + " '" + word + "': another report goes to that file");
      }
    }
    outs.push_back(std::move(out));
  }
  return outs;
}

Status can_deliver(const std::vector<Out>& outs) {
  for (const Out& out : outs) {
    BW_RETURN_IF_ERROR(report::can_write_file(out.file));
  }
  return {};
}

Status has_steps(const std::vector<Out>& outs, std::span<const std::string_view> steps) {
  for (const Out& out : outs) {
    if (out.step.empty() || std::find(steps.begin(), steps.end(), out.step) != steps.end()) continue;
    const std::string_view near = nearest(out.step, steps);
    return fail(Errc::kNotFound, "there is no step '" + out.step + "' that makes requests" +
                                     (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?"));
  }
  return {};
}

bool write_outs(const std::string& json, const std::vector<Out>& outs, std::string_view verb) {
  if (outs.empty()) return true;
  bool all = true;
  const auto run = report::read_result(json);
  for (const Out& out : outs) {
    Result<std::string> text = fail(Errc::kInvalid, "");
    if (run) {
      text = made(json, *run, out);
    } else if (out.format == Format::kJson) {
      text = json;
    } else {
      text = tl::unexpected(run.error());
    }
    const Status written = text ? report::write_file(out.file, *text) : Status(tl::unexpected(text.error()));
    if (written) continue;
    all = false;
    const std::string which = text ? "" : out.file + ": ";
    std::fprintf(stderr, "bellwether %.*s: %s%s\n", static_cast<int>(verb.size()), verb.data(), which.c_str(),
                 written.error().message.c_str());
  }
  return all;
}

}  // namespace bellwether::cli
