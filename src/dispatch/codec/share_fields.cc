#include "dispatch/codec/share_fields.h"

#include <algorithm>
#include <google/protobuf/io/coded_stream.h>

#include "dispatch/codec/bundle_codec.h"
#include "dispatch/codec/context_codec.h"
#include "dispatch/codec/finding_codec.h"
#include "proto/dispatch.pb.h"

namespace bellwether::dispatch {

void put(const ShareEnd& from, wire::DispatchEnd& to) {
  to.set_outcome(static_cast<uint32_t>(from.outcome));
  to.set_detail(fit_text(from.detail));
  to.set_last_number(from.last_number);
  to.set_ran_ns(from.ran.ns());
  for (const plan::Provided& one : from.provided) put(one, *to.add_provided());
  for (const std::string& one : from.notes) to.add_notes(fit_text(one));
  for (const plan::Finding& one : from.findings) put(one, *to.add_findings());
}

void put(const BundleLetter& from, wire::DispatchBundle& to) {
  to.set_job(from.job);
  to.set_hash(from.hash);
  to.set_bytes(from.bytes);
}

ShareEnd read_end(FieldReader& reader, const wire::DispatchEnd& from) {
  ShareEnd out;
  out.outcome = reader.one_of<ShareOutcome>(from.outcome(), kShareOutcomes);
  out.detail = reader.text(from.detail());
  out.last_number = reader.second(from.last_number());
  out.ran = reader.span(std::max<int64_t>(from.ran_ns(), 0));
  if (!reader.fits(from.provided_size(), plan::kMostTold)) return out;
  for (const auto& one : from.provided()) {
    if (!read(one, out.provided.emplace_back())) reader.refuse("a value for other workflows that cannot be");
  }
  if (!reader.fits(from.notes_size(), kMostNotes)) return out;
  for (const auto& one : from.notes()) out.notes.push_back(reader.text(one));
  if (!reader.fits(from.findings_size(), plan::kMostFindings)) return out;
  for (const auto& one : from.findings()) {
    if (!read(one, out.findings.emplace_back())) reader.refuse("a finding that cannot be");
  }
  return out;
}

BundleLetter read_bundle(FieldReader& reader, wire::DispatchBundle& from) {
  return {reader.job(from.job()), reader.hash(from.hash()), reader.bulk(from.mutable_bytes(), kMostBundleBytes)};
}

bool may_parse(std::string_view bytes, std::size_t most, std::initializer_list<uint32_t> bulk_fields) {
  if (bytes.size() > most) return false;
  if (bytes.size() <= kMostPlainBytes) return true;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  const uint32_t field = in.ReadTag() >> 3;
  uint32_t length = 0;
  return std::find(bulk_fields.begin(), bulk_fields.end(), field) != bulk_fields.end() && in.ReadVarint32(&length) &&
         length + kMostPlainBytes >= bytes.size();
}

void require_distinct(FieldReader& reader, std::vector<std::pair<std::string_view, ShareId>> shares) {
  std::sort(shares.begin(), shares.end());
  if (std::adjacent_find(shares.begin(), shares.end()) != shares.end()) reader.refuse("the same share twice");
}

}  // namespace bellwether::dispatch
