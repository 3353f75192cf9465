// The bodies of requests, and the steps in code with their programs.
#include <algorithm>
#include <fnmatch.h>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/overloaded.h"
#include "core/signature/signature.h"
#include "load/plan/compile/compile.h"
#include "load/plan/feeder.h"

namespace bellwether::plan {

namespace {

constexpr std::size_t kMaxPrograms = 100;

// Each file once, for all steps that call its functions.
uint16_t program_of(const scenario::Code& code, Compiling& compiling, Plan& plan) {
  const Program::Language language = code.language;
  const std::string path = path_of(code.file, compiling.reading);
  for (std::size_t i = 0; i < plan.programs.size(); ++i) {
    const Program& known = plan.programs[i];
    if (known.name == path && known.language == language) return static_cast<uint16_t>(i);
  }
  scenario::Diagnostics& diagnostics = compiling.reading.diagnostics;
  if (plan.programs.size() == kMaxPrograms) {
    diagnostics.add(code.file.mark, {.message = "the scenario is too large",
                                     .expected = fmt::format("at most {} programs", kMaxPrograms)});
    return 0;
  }
  auto text = compiling.sources.outside->read_file(path, signature::kMaxProgramBytes);
  std::vector<Module> modules;
  if (text && language == Program::Language::kLua) {
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    auto required = read_modules(*text, folder, *compiling.sources.outside);
    if (required) {
      modules = std::move(*required);
    } else {
      text = tl::unexpected(required.error());
    }
  }
  if (!text) {
    diagnostics.add(code.file.mark, {.message = fmt::format("the program {} cannot be read: {}",
                                                            scenario::in_quotes(code.file.text), text.error().message),
                                     .hint = "a relative path is relative to the folder of the scenario file"});
    text = std::string();  // reported once
  }
  plan.programs.push_back({language, path, std::make_shared<const std::string>(std::move(*text)), std::move(modules)});
  return static_cast<uint16_t>(plan.programs.size() - 1);
}

}  // namespace

using scenario::in_quotes;

namespace {

constexpr uint64_t kMaxBodyFileBytes = 16u << 20;
// Of one folder.
constexpr std::size_t kMaxBodyFiles = 10'000;
constexpr uint64_t kMaxBodyFilesBytes = 64u << 20;

void add_content_type(std::string_view type, HttpCall& call) {
  if (has_header(call, "Content-Type")) return;
  Header header{"Content-Type", {}};
  append_literal(header.value, type);
  call.headers.push_back(std::move(header));
}

Template make_form(const scenario::FormBody& form, TemplateMaker& templates) {
  Template out;
  for (std::size_t i = 0; i < form.fields.size(); ++i) {
    if (i > 0) append_literal(out, "&");
    templates.append(out, form.fields[i].name, Place::kQuery);
    append_literal(out, "=");
    templates.append(out, form.fields[i].value, Place::kQuery);
  }
  return out;
}

void append_template(Template& out, Template from) {
  for (Piece& piece : from.pieces) {
    if (piece.kind == Piece::Kind::kLiteral) {
      append_literal(out, piece.literal);
    } else {
      out.pieces.push_back(std::move(piece));
    }
  }
}

// The media type of a part, as a line.
Template make_type(const scenario::FormPart& part, TemplateMaker& templates, Compiling& compiling) {
  Template out;
  if (!part.type && !part.is_file) return out;
  append_literal(out, "\r\nContent-Type: ");
  if (!part.type) {
    append_literal(out, "application/octet-stream");
    return out;
  }
  Template type = templates.make(*part.type, Place::kHeader);
  for (const Piece& piece : type.pieces) {
    if (piece.literal.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos) continue;
    compiling.reading.diagnostics.add(part.type->mark, {.message = "a media type contains a line break or a NUL"});
  }
  append_template(out, std::move(type));
  return out;
}

// RFC 7578, with the names of parts and files as browsers write them. The boundary is a digest of all constant content,
// so no file contains it, and a plan is the same on all machines.
Template make_multipart(const scenario::MultipartBody& form, TemplateMaker& templates, Compiling& compiling,
                        HttpCall& call) {
  std::vector<Template> contents;
  std::string digests;
  for (const scenario::FormPart& part : form.parts) {
    Template& content = contents.emplace_back();
    if (part.is_file) {
      auto bytes = read_file(part.content, kMaxBodyFileBytes, compiling);
      if (!bytes) continue;
      const scenario::Text whole{std::move(*bytes), part.content.mark};
      content = part.is_template ? templates.make(whole, Place::kText) : templates.make_raw(whole);
    } else {
      content = templates.make(part.content, Place::kText);
    }
    for (const Piece& piece : content.pieces) digests += sha256_hex(piece.literal);
  }
  constexpr std::size_t kDigits = 32;
  const std::string boundary = "bellwether-" + sha256_hex(digests).substr(0, kDigits);
  Template out;
  for (std::size_t i = 0; i < form.parts.size(); ++i) {
    const scenario::FormPart& part = form.parts[i];
    append_literal(out, "--" + boundary + "\r\nContent-Disposition: form-data; name=\"");
    templates.append(out, part.name, Place::kFormName);
    if (part.filename || part.is_file) {
      append_literal(out, "\"; filename=\"");
      if (part.filename) {
        templates.append(out, *part.filename, Place::kFormName);
      } else {
        std::string name;
        append_form_name(part.content.text.substr(part.content.text.rfind('/') + 1), name);
        append_literal(out, name);
      }
    }
    append_literal(out, "\"");
    append_template(out, make_type(part, templates, compiling));
    append_literal(out, "\r\n\r\n");
    append_template(out, std::move(contents[i]));
    append_literal(out, "\r\n");
  }
  append_literal(out, "--" + boundary + "--\r\n");
  std::erase_if(call.headers, [](const Header& header) { return iequals(header.name, "Content-Type"); });
  add_content_type("multipart/form-data; boundary=" + boundary, call);
  return out;
}

// The folder of the files, with a slash at its end or empty, and the pattern of their names; empty: all.
struct Where {
  std::string folder;
  std::string pattern;
};

Where where_of(const scenario::FilesBody& files) {
  const std::string& path = files.path.text;
  if (!files.is_glob) return {path.ends_with('/') ? path : path + "/", {}};
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? Where{{}, path} : Where{path.substr(0, slash + 1), path.substr(slash + 1)};
}

// In the order of their bytes, on every machine.
std::vector<std::string> names_of(const scenario::FilesBody& files, const Where& where, Compiling& compiling) {
  const auto refuse = [&](std::string message, std::string expected) {
    compiling.reading.diagnostics.add(files.path.mark,
                                      {.message = std::move(message), .expected = std::move(expected)});
    return std::vector<std::string>();
  };
  if (files.path.text.empty()) return refuse("an empty path names no files", "payloads, or payloads/*.json");
  if (files.is_glob && where.folder.find_first_of("*?[") != std::string::npos) {
    return refuse(fmt::format("the pattern {} has wildcards in the name of a folder", in_quotes(files.path.text)),
                  "wildcards behind the last slash: payloads/*.json");
  }
  const scenario::Text folder{where.folder.empty() ? "." : where.folder, files.path.mark};
  const std::string place = path_of(folder, compiling.reading);
  auto names = compiling.sources.outside->list_folder(place, kMaxBodyFiles);
  if (!names) {
    const std::string& shown = files.is_glob ? folder.text : files.path.text;
    return refuse(fmt::format("the folder {} cannot be read: {}", in_quotes(shown), names.error().message),
                  fmt::format("a folder, relative to that of the scenario file, of at most {} files", kMaxBodyFiles));
  }
  if (!where.pattern.empty()) {
    std::erase_if(*names,
                  [&](const std::string& name) { return ::fnmatch(where.pattern.c_str(), name.c_str(), 0) != 0; });
  }
  if (names->empty()) {
    return refuse(files.is_glob ? "no file fits the pattern " + in_quotes(files.path.text)
                                : fmt::format("the folder {} has no files", in_quotes(files.path.text)),
                  "at least one, whose name does not begin with a dot");
  }
  std::sort(names->begin(), names->end());
  return std::move(*names);
}

std::shared_ptr<const BodyFiles> make_files(const scenario::FilesBody& files, TemplateMaker& templates,
                                            Compiling& compiling) {
  const Where where = where_of(files);
  auto made = std::make_shared<BodyFiles>();
  made->pick = files.random ? BodyFiles::Pick::kRandom : BodyFiles::Pick::kSequential;
  uint64_t bytes = 0;
  for (const std::string& name : names_of(files, where, compiling)) {
    auto content = read_file({where.folder + name, files.path.mark}, kMaxBodyFileBytes, compiling);
    if (!content) return nullptr;
    bytes += content->size();
    if (bytes > kMaxBodyFilesBytes) {
      compiling.reading.diagnostics.add(
          files.path.mark, {.message = fmt::format("the files of {} are too large", in_quotes(files.path.text)),
                            .expected = fmt::format("at most {} MiB together", kMaxBodyFilesBytes >> 20)});
      return nullptr;
    }
    const scenario::Text whole{std::move(*content), files.path.mark};
    made->bodies.push_back(files.is_template ? templates.make(whole, Place::kText) : templates.make_raw(whole));
  }
  if (made->bodies.empty()) return nullptr;
  return made;
}

}  // namespace

void add_body(const scenario::Body& body, TemplateMaker& templates, Compiling& compiling, HttpCall& call) {
  std::visit(
      Overloaded{
          [](std::monostate) {},
          [&](const scenario::TextBody& text) { call.body = templates.make(text.text, Place::kText); },
          [&](const scenario::JsonBody& json) {
            call.body = templates.make_json(json.value);
            add_content_type("application/json", call);
          },
          [&](const scenario::FormBody& form) {
            call.body = make_form(form, templates);
            add_content_type("application/x-www-form-urlencoded", call);
          },
          [&](const scenario::MultipartBody& form) { call.body = make_multipart(form, templates, compiling, call); },
          [&](const scenario::FileBody& file) {
            auto content = read_file(file.path, kMaxBodyFileBytes, compiling);
            if (!content) return;
            const scenario::Text whole{std::move(*content), file.path.mark};
            call.body = file.is_template ? templates.make(whole, Place::kText) : templates.make_raw(whole);
          },
          [&](const scenario::FilesBody& files) { call.files = make_files(files, templates, compiling); }},
      body);
}

CodeCall compile_code(const scenario::Code& code, const Scope& scope, std::size_t index, TemplateMaker& templates,
                      Compiling& compiling, Plan& plan) {
  CodeCall out;
  out.program = program_of(code, compiling, plan);
  out.function = code.function.text;
  out.sends = code.sends;
  out.base = compile_base_call(templates, compiling);
  for (const scenario::Pair& argument : code.arguments) {
    out.arguments.push_back({argument.name.text, templates.make(argument.value, Place::kText)});
  }
  for (const scenario::Text& name : code.sets) out.sets.push_back({name.text, scope.slot_of(index, name.text)});
  for (const scenario::Text& name : code.checks) out.checks.push_back(name.text);
  for (const scenario::Text& name : code.requests) out.requests.push_back(name.text);
  return out;
}

}  // namespace bellwether::plan
