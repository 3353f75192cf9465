#include "load/script/native/declarations.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/bytes.h"
#include "core/base/units.h"
#include "core/yaml/section.h"

namespace bellwether::script::native {
namespace {

constexpr const char* kTable = "bellwether_program_table";

Status write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_errno(errno, "no memory for a compiled program");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// The linker's words, without the path of a temporary file.
std::string linker_error(const std::string& path) {
  const char* text = ::dlerror();
  std::string_view message = text == nullptr ? "the linker gives no reason" : text;
  if (message.starts_with(path + ": ")) message.remove_prefix(path.size() + 2);
  return std::string(message);
}

// Whether the file has all parts that the linker maps. It maps them unseen, and a missing one ends this process with
// SIGBUS. Anything else that is wrong, the linker reports.
bool is_whole(std::string_view bytes) {
  Elf64_Ehdr head;
  if (bytes.size() < sizeof head) return true;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr)) return true;
  for (std::size_t p = 0; p < head.e_phnum; ++p) {
    Elf64_Phdr part;
    if (head.e_phoff > bytes.size() || bytes.size() - head.e_phoff < (p + 1) * sizeof part) return false;
    std::memcpy(&part, bytes.data() + head.e_phoff + p * sizeof part, sizeof part);
    if (part.p_type != PT_LOAD) continue;
    if (part.p_offset > bytes.size() || bytes.size() - part.p_offset < part.p_filesz) return false;
  }
  return true;
}

constexpr std::size_t kMaxBytes = 1u << 20;  // the limit of a scenario
constexpr std::size_t kMaxDeclared = 100'000;

struct Listener {
  std::vector<Declared> declared;
  std::size_t bytes = 0;
  bool too_much = false;
};

std::string text_of(bellwether_text text) {
  return text.data == nullptr ? std::string() : std::string(text.data, text.size);
}

void listen(void* to, uint32_t kind, uint32_t line, bellwether_text name, bellwether_text value) {
  auto& listener = *static_cast<Listener*>(to);
  if (listener.declared.size() == kMaxDeclared || name.size > kMaxBytes || value.size > kMaxBytes ||
      listener.bytes + name.size + value.size > kMaxBytes) {
    listener.too_much = true;
    return;
  }
  listener.bytes += name.size + value.size;
  listener.declared.push_back({kind, line, text_of(name), text_of(value)});
}

bool is_step(const Declared& one) { return one.kind == BELLWETHER_STEP || one.kind == BELLWETHER_ACTION; }

// Calls `each` with the full name of a declaration's step; empty outside of steps.
template <class Each>
void walk(const std::vector<Declared>& declared, const Each& each) {
  std::string workflow;
  std::string step;
  for (const Declared& one : declared) {
    if (one.kind == BELLWETHER_WORKFLOW) {
      workflow = one.name;
      step.clear();
    } else if (is_step(one)) {
      step = fmt::format("{}.{}", workflow, one.name);
    }
    each(step, one);
  }
}

}  // namespace

bool is_artifact(std::string_view bytes) { return bytes.starts_with("\x7f\x45LF") || bytes.starts_with("!<arch>\n"); }

Result<std::unique_ptr<Library>> Library::open(std::string_view bytes, const std::string& name) {
  if (!is_whole(bytes)) {
    return fail(Errc::kInvalid, "'{}' is cut off after {} bytes: copy or build it again", name,
                format_count(bytes.size()));
  }
  const int file = ::memfd_create("bellwether-program", MFD_CLOEXEC);
  if (file < 0) return fail_errno(errno, fmt::format("no memory for '{}'", name));
  std::unique_ptr<Library> library(new Library(file, fmt::format("/proc/self/fd/{}", file), nullptr));
  BW_RETURN_IF_ERROR(write_all(file, bytes));
  library->handle_ = ::dlopen(library->path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle_ == nullptr) {
    return fail(Errc::kInvalid,
                fmt::format("'{}' is no compiled workflow that can run here: {}", name, linker_error(library->path_)));
  }
  const auto* program = static_cast<const bellwether_program*>(::dlsym(library->handle_, kTable));
  if (program == nullptr) {
    return fail(Errc::kInvalid,
                fmt::format("'{}' exports no workflows: its source ends with BELLWETHER_WORKFLOWS(CLASS, …)", name));
  }
  if (program->version != BELLWETHER_ABI_VERSION || program->size < sizeof(bellwether_program)) {
    return fail(Errc::kUnsupported,
                "'{}' was built for version {} of the interface, and this bellwether has version {}: build it again "
                "with `bellwether build`",
                name, program->version, BELLWETHER_ABI_VERSION);
  }
  library->program_ = program;
  return library;
}

Library::~Library() {
  if (handle_ != nullptr) {
    ::dlclose(handle_);
    // The linker knows libraries by their path. A library that could not be unloaded keeps its path, so that no other
    // gets it.
    if (void* stays = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_NOLOAD); stays != nullptr) {
      ::dlclose(stays);
      return;
    }
  }
  ::close(file_);
}

Result<std::vector<Declared>> declarations_of(const Library& library, const std::string& name) {
  Listener listener;
  const std::string why = text_of(library.program().describe(listen, &listener));
  if (!why.empty()) return fail(Errc::kInvalid, "'{}' cannot say what its workflows are: {}", name, why);
  if (listener.too_much) return fail(Errc::kInvalid, "'{}' declares more than a scenario may have", name);
  return std::move(listener.declared);
}

StepNames names_of(const std::vector<Declared>& declared, std::string_view wanted) {
  StepNames out;
  walk(declared, [&](const std::string& step, const Declared& one) {
    if (step != wanted) return;
    if (one.kind == BELLWETHER_CHECK) out.checks.push_back(one.name);
    if (one.kind == BELLWETHER_SET) out.sets.push_back(one.name);
    if (one.kind == BELLWETHER_ARGUMENT) out.arguments.push_back(one.name);
    if (one.kind == BELLWETHER_REQUEST) out.requests.push_back(one.name);
  });
  return out;
}

Error no_such_step(const std::vector<Declared>& declared, std::string_view wanted, const std::string& name) {
  std::vector<std::string> steps;
  walk(declared, [&](const std::string& step, const Declared& one) {
    if (is_step(one)) steps.push_back(step);
  });
  std::string message = fmt::format("'{}' has no step '{}'", name, wanted);
  const std::vector<std::string_view> candidates(steps.begin(), steps.end());
  const std::string_view near = nearest(wanted, candidates);
  if (!near.empty()) message += fmt::format(": did you mean '{}'?", near);
  return {Errc::kNotFound, std::move(message)};
}

using yaml::flow_text;

namespace {

// The block without the indentation that all its lines have.
std::string outdented(std::string_view text) {
  std::size_t most = std::string_view::npos;
  for (std::string_view rest = text; !rest.empty();) {
    most = std::min(most, take_until(rest, '\n').find_first_not_of(' '));
  }
  std::string out;
  while (!text.empty()) {
    const std::string_view line = take_until(text, '\n');
    if (line.find_first_not_of(' ') != std::string_view::npos) out += line.substr(most);
    out += '\n';
  }
  return out;
}

// Writes the settings of the scenario unchanged, and the workflows as flow YAML, with the line ends that keep both
// beside the source.
class Writer {
 public:
  Writer(const std::vector<Declared>& declared, const std::string& file) : declared_(declared), file_(file) {}

  std::string write() {
    const auto scenario =
        std::ranges::find_if(declared_, [](const Declared& one) { return one.kind == BELLWETHER_SCENARIO; });
    const auto workflow =
        std::ranges::find_if(declared_, [](const Declared& one) { return one.kind == BELLWETHER_WORKFLOW; });
    const bool has_scenario = scenario != declared_.end();
    const bool first = has_scenario && (workflow == declared_.end() || scenario->line <= workflow->line);
    if (first) write_scenario(*scenario);
    write_workflows();
    if (has_scenario && !first) write_scenario(*scenario);
    return std::move(out_);
  }

 private:
  void write_scenario(const Declared& scenario) {
    for (; line_ < scenario.line; ++line_) out_ += '\n';
    put(outdented(scenario.value));
  }

  void write_workflows() {
    put("workflows: {");
    for (const Declared& one : declared_) {
      if (one.kind == BELLWETHER_SCENARIO) continue;
      if (one.kind == BELLWETHER_WORKFLOW) end_workflow();
      if (one.kind == BELLWETHER_STEP || one.kind == BELLWETHER_ACTION) end_step();
      // A line within braces begins with a blank: it continues the one above.
      for (; line_ < one.line; ++line_) out_ += "\n ";
      write(one);
    }
    end_workflow();
    put("}\n");
  }

  void write(const Declared& one) {
    switch (one.kind) {
      case BELLWETHER_WORKFLOW:
        workflow_ = one.name;
        put_text(one.name);
        put(": {");
        in_workflow_ = true;
        break;
      case BELLWETHER_STEP:
      case BELLWETHER_ACTION:
        if (!in_steps_) put("steps: {");
        in_steps_ = true;
        in_step_ = true;
        step_ = one.name;
        action_ = one.kind == BELLWETHER_ACTION;
        put_text(one.name);
        put(": {");
        break;
      case BELLWETHER_SETTING:
        put_text(one.name);
        put(fmt::format(": {}, ", one.value));
        break;
      case BELLWETHER_MORE: put(one.value + ", "); break;
      case BELLWETHER_AFTER: add(after_, one.name); break;
      case BELLWETHER_CHECK: add(checks_, one.name); break;
      case BELLWETHER_SET: add(sets_, one.name); break;
      case BELLWETHER_REQUEST: add(requests_, one.name); break;
      case BELLWETHER_ARGUMENT:
        arguments_ +=
            fmt::format("{}{}: {}", arguments_.empty() ? "" : ", ", flow_text(one.name), flow_text(one.value));
        break;
      default: break;  // of a later version, which may be ignored
    }
  }

  void end_step() {
    if (!in_step_) return;
    if (!after_.empty()) put(fmt::format("after: [{}], ", after_));
    put(action_ ? "action: {native: {file: " : "native: {file: ");
    put_text(file_);
    put(", call: ");
    put_text(fmt::format("{}.{}", workflow_, step_));
    if (!arguments_.empty()) put(fmt::format(", args: {{{}}}", arguments_));
    if (!sets_.empty()) put(fmt::format(", sets: [{}]", sets_));
    if (!checks_.empty()) put(fmt::format(", checks: [{}]", checks_));
    if (!requests_.empty()) put(fmt::format(", requests: [{}]", requests_));
    put(action_ ? "}}}, " : "}}, ");
    for (std::string* list : {&after_, &checks_, &sets_, &arguments_, &requests_}) list->clear();
    in_step_ = false;
  }

  void end_workflow() {
    end_step();
    if (!in_workflow_) return;
    put(in_steps_ ? "}}, " : "}, ");
    in_workflow_ = in_steps_ = false;
  }

  static void add(std::string& list, const std::string& name) { list += (list.empty() ? "" : ", ") + flow_text(name); }
  void put_text(std::string_view text) { out_ += flow_text(text); }
  void put(std::string_view text) {
    line_ += static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n'));
    out_ += text;
  }

  const std::vector<Declared>& declared_;
  const std::string& file_;
  std::string out_;
  uint32_t line_ = 1;
  std::string workflow_, step_;
  std::string after_, checks_, sets_, arguments_, requests_;  // of the step, in their final form
  bool action_ = false;
  bool in_workflow_ = false, in_steps_ = false, in_step_ = false;
};

}  // namespace

Result<Described> describe(std::string_view artifact, const std::string& file) {
  const std::string name = file.substr(file.rfind('/') + 1);
  BW_TRY(auto library, Library::open(artifact, name));
  BW_TRY(const auto declared, declarations_of(*library, name));
  const char* const known = library->program().source;
  std::string source = known == nullptr ? file : known;
  for (const Declared& one : declared) {
    const std::size_t first = one.value.find_first_not_of(" \t\r\n");
    if (one.kind != BELLWETHER_SCENARIO || first == std::string::npos || one.value[first] != '{') continue;
    return fail(Errc::kInvalid,
                "{}:{}: the text of BELLWETHER_SCENARIO is a map in braces, and the workflows cannot follow it: leave "
                "out the outer braces, as in \"defaults: {{http: {{timeout: 1s}}}}\", with one key a line",
                source, one.line);
  }
  return Described{Writer(declared, file).write(), std::move(source)};
}

}  // namespace bellwether::script::native
