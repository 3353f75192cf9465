#include "load/script/native/declarations.h"

#include "core/base/bytes.h"

namespace bellwether::script::native {
namespace {

constexpr std::size_t kBytesMost = 1u << 20;  // what a scenario may have
constexpr std::size_t kDeclaredMost = 100'000;

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
  if (listener.declared.size() == kDeclaredMost || name.size > kBytesMost || value.size > kBytesMost ||
      listener.bytes + name.size + value.size > kBytesMost) {
    listener.too_much = true;
    return;
  }
  listener.bytes += name.size + value.size;
  listener.declared.push_back({kind, line, text_of(name), text_of(value)});
}

bool is_step(const Declared& one) { return one.kind == BELLWETHER_STEP || one.kind == BELLWETHER_ACTION; }

// Calls `each` with the full name of the step that a declaration belongs to; empty outside of steps.
template <class Each>
void walk(const std::vector<Declared>& declared, const Each& each) {
  std::string workflow;
  std::string step;
  for (const Declared& one : declared) {
    if (one.kind == BELLWETHER_WORKFLOW) {
      workflow = one.name;
      step.clear();
    } else if (is_step(one)) {
      step = workflow + "." + one.name;
    }
    each(step, one);
  }
}

}  // namespace

Result<std::vector<Declared>> declarations_of(const Library& library, const std::string& name) {
  Listener listener;
  const std::string why = text_of(library.program().describe(listen, &listener));
  if (!why.empty()) return fail(Errc::kInvalid, "'" + name + "' cannot say what its workflows are: " + why);
  if (listener.too_much) return fail(Errc::kInvalid, "'" + name + "' declares more than a scenario may have");
  return std::move(listener.declared);
}

StepNames names_of(const std::vector<Declared>& declared, std::string_view wanted) {
  StepNames out;
  walk(declared, [&](const std::string& step, const Declared& one) {
    if (step != wanted) return;
    if (one.kind == BELLWETHER_CHECK) out.checks.push_back(one.name);
    if (one.kind == BELLWETHER_SET) out.sets.push_back(one.name);
    if (one.kind == BELLWETHER_ARGUMENT) out.arguments.push_back(one.name);
  });
  return out;
}

Error no_such_step(const std::vector<Declared>& declared, std::string_view wanted, const std::string& name) {
  std::vector<std::string> steps;
  walk(declared, [&](const std::string& step, const Declared& one) {
    if (is_step(one)) steps.push_back(step);
  });
  std::string message = "'" + name + "' has no step '" + std::string(wanted) + "'";
  const std::vector<std::string_view> candidates(steps.begin(), steps.end());
  const std::string_view near = nearest(wanted, candidates);
  if (!near.empty()) message += ": did you mean '" + std::string(near) + "'?";
  return {Errc::kNotFound, std::move(message)};
}

}  // namespace bellwether::script::native
