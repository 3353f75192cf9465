#include "election/context/failover_state.h"

#include <algorithm>
#include <utility>

#include "election/context/failover_fields.h"

namespace bellwether::context_lead {
namespace {

constexpr std::string_view kStateMagic = "BWCF";

std::string text_of(const Digest& digest) { return std::string(as_text(digest)); }

// Reads one field, judges nothing. Not as this program writes it: `state` is as before, and the answer says so.
std::string read_field(const FieldRow& row, std::string_view bytes, FailoverState& state) {
  FailoverState scratch;
  CanonicalReader in(bytes);
  row.get(in, scratch);
  if (!in.ok() || !in.at_end()) return "malformed: cut short, too long, or with a value out of bounds";
  row.copy(scratch, state);
  return {};
}

// Those of `fields` that are judged to be wrong get an issue and are emptied.
void judge_fields(ReadState& read, const std::vector<StateField>& fields, WallTime now) {
  const FailoverState as_read = read.state;
  for (const FieldRow& row : field_rows()) {
    if (std::find(fields.begin(), fields.end(), row.field) == fields.end()) continue;
    std::string wrong = row.judge(as_read, now);
    if (wrong.empty()) continue;
    read.validation.issues.push_back({row.field, std::move(wrong)});
    row.copy(FailoverState{}, read.state);
  }
}

// One field of the bytes. False: the rest cannot be read.
bool read_next(CanonicalReader& in, DigestOf digest, ReadState& read, std::vector<StateField>& found) {
  const auto field = static_cast<StateField>(in.u8());
  const std::string_view bytes = in.raw(in.u32());
  const std::string_view mark = in.raw(Digest().size());
  if (!in.ok()) return false;
  const auto issue = [&](std::string text) { read.validation.issues.push_back({field, std::move(text)}); };
  const auto rows = field_rows();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const FieldRow& one) { return one.field == field; });
  if (row == rows.end()) {
    const std::string number = std::to_string(static_cast<int>(field));
    read.validation.issues.push_back({StateField::kForm, "field " + number + " is not known to this program"});
    return true;
  }
  if (!found.empty() && found.back() >= field) {
    issue("there twice, or out of its order");
    return true;
  }
  found.push_back(field);
  if (text_of(digest(as_bytes(bytes))) != mark) {
    issue("damaged: its bytes are not those that its digest was made of");
  } else if (std::string wrong = read_field(*row, bytes, read.state); !wrong.empty()) {
    issue(std::move(wrong));
  }
  return true;
}

}  // namespace

std::string_view to_string(StateField field) {
  if (field == StateField::kChecksum) return "checksum";
  if (field == StateField::kForm) return "form";
  for (const FieldRow& row : field_rows()) {
    if (row.field == field) return row.name;
  }
  return "unknown";
}

std::vector<std::string> StateValidation::recovery_steps() const {
  if (valid()) return {};
  return {"look at the issues: " + std::to_string(issues.size()) + " of the state were found",
          "take over what is sound; the rest begins with defaults",
          "go on with the requests of the register, which do not depend on this state"};
}

Result<std::string> encode(const FailoverState& state, DigestOf digest) {
  CanonicalWriter out;
  out.raw(kStateMagic);
  out.u32(kStateFormat);
  for (const FieldRow& row : field_rows()) {
    CanonicalWriter field;
    row.put(field, state);
    FailoverState scratch;
    if (!read_field(row, field.bytes(), scratch).empty()) {
      return fail(Errc::kTooLarge, "the field " + std::string(row.name) +
                                       " of the failover state is beyond what another node would take: lists have at "
                                       "most 1,000 elements, texts 200 bytes");
    }
    out.u8(static_cast<uint8_t>(row.field));
    out.text(field.bytes());
    out.raw(text_of(digest(as_bytes(field.bytes()))));
  }
  out.raw(text_of(digest(as_bytes(out.bytes()))));
  if (out.bytes().size() > kMostStateBytes) {
    return fail(Errc::kTooLarge, "the failover state has " + std::to_string(out.bytes().size()) +
                                     " bytes; at most 1 MiB. Assign less to nodes, or in shorter names");
  }
  return out.take();
}

ReadState read_state(std::string_view bytes, DigestOf digest, WallTime now, NodeId self) {
  ReadState read;
  read.validation = {now, self, false, {}};
  std::vector<StateIssue>& issues = read.validation.issues;
  constexpr std::size_t kMark = Digest().size();
  if (bytes.size() > kMostStateBytes || bytes.size() < kStateMagic.size() + 4 + kMark ||
      !bytes.starts_with(kStateMagic)) {
    issues.push_back({StateField::kForm, "not a failover state: expected 1 MiB at most, which begin with BWCF"});
    return read;
  }
  const std::string_view content = bytes.substr(0, bytes.size() - kMark);
  read.validation.checksum_valid = text_of(digest(as_bytes(content))) == bytes.substr(content.size());
  if (!read.validation.checksum_valid) {
    issues.push_back({StateField::kChecksum, "not that of the state; each field is judged by its own digest"});
  }
  CanonicalReader in(content.substr(kStateMagic.size()));
  if (const uint32_t format = in.u32(); format != kStateFormat) {
    issues.push_back({StateField::kForm, "version " + std::to_string(format) + "; this program knows version " +
                                             std::to_string(kStateFormat) + " and takes the fields that it knows"});
  }
  std::vector<StateField> found;
  while (!in.at_end() && in.ok()) {
    if (!read_next(in, digest, read, found)) issues.push_back({StateField::kForm, "cut short within a field"});
  }
  for (const FieldRow& row : field_rows()) {
    if (std::find(found.begin(), found.end(), row.field) == found.end()) issues.push_back({row.field, "missing"});
    const bool sound =
        std::none_of(issues.begin(), issues.end(), [&](const StateIssue& one) { return one.field == row.field; });
    if (sound) continue;
    std::erase(found, row.field);
    row.copy(FailoverState{}, read.state);
  }
  judge_fields(read, found, now);
  return read;
}

StateValidation validate(const FailoverState& state, WallTime now, NodeId self) {
  ReadState read;
  read.state = state;
  read.validation = {now, self, true, {}};
  std::vector<StateField> all;
  for (const FieldRow& row : field_rows()) all.push_back(row.field);
  judge_fields(read, all, now);
  return read.validation;
}

Result<RecoveredState> recover(ReadState read) {
  for (const StateIssue& issue : read.validation.issues) {
    if (issue.field != StateField::kLeader && issue.field != StateField::kTerm) continue;
    return fail(Errc::kInvalid, "a failover state whose " + std::string(to_string(issue.field)) + " is " + issue.text +
                                    ": nobody can tell whose it is. Ask the leader to hand over again");
  }
  if (read.state.leader == NodeId() || read.state.term == Epoch()) {
    return fail(Errc::kInvalid,
                "no failover state: " + (read.validation.issues.empty() ? std::string("it names no leader")
                                                                        : read.validation.issues.front().text));
  }
  return RecoveredState{std::move(read.state), std::move(read.validation.issues)};
}

}  // namespace bellwether::context_lead
