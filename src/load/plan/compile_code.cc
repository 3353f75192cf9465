#include "core/signature/signature.h"
#include "load/plan/compile_step.h"

namespace bellwether::plan {
namespace {

constexpr std::size_t kProgramsMax = 100;

Program::Language language_of(scenario::Code::Language language) {
  return language == scenario::Code::Language::kLua ? Program::Language::kLua : Program::Language::kNative;
}

// Each file once, however many steps call its functions.
uint16_t program_of(const scenario::Code& code, Compiling& compiling, Plan& plan) {
  const Program::Language language = language_of(code.language);
  const std::string path = path_of(code.file, compiling.reading);
  for (std::size_t i = 0; i < plan.programs.size(); ++i) {
    const Program& known = plan.programs[i];
    if (known.name == path && known.language == language) return static_cast<uint16_t>(i);
  }
  scenario::Diagnostics& diagnostics = compiling.reading.diagnostics;
  if (plan.programs.size() == kProgramsMax) {
    diagnostics.add(code.file.mark, {.message = "the scenario is too large",
                                     .expected = "at most " + std::to_string(kProgramsMax) + " programs"});
    return 0;
  }
  auto text = compiling.sources.outside->read_file(path, signature::kProgramBytesMax);
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
    diagnostics.add(code.file.mark, {.message = "the program " + scenario::in_quotes(code.file.text) +
                                                " cannot be read: " + text.error().message,
                                     .hint = "a relative path is relative to the folder of the scenario file"});
    text = std::string();  // told once
  }
  plan.programs.push_back({language, path, std::make_shared<const std::string>(std::move(*text)), std::move(modules)});
  return static_cast<uint16_t>(plan.programs.size() - 1);
}

}  // namespace

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
  return out;
}

}  // namespace bellwether::plan
