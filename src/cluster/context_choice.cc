#include "cluster/context_choice.h"

#include <variant>

#include "base/units.h"

namespace bellwether::cluster {

ContextChoice context_choice(const Settings& settings) {
  ContextChoice choice;
  choice.manager = settings.texts("context.manager");
  choice.serves = settings.flag("context.serve") || !choice.manager.empty();
  choice.jobs = static_cast<uint32_t>(settings.number("context.jobs"));
  choice.job_timeout = settings.duration("context.job_timeout");
  choice.job_grace = settings.duration("context.job_grace");
  struct Take {
    const Settings& from;
    std::string name;
    context_lead::ContextSettings& into;
    void operator()(bool context_lead::ContextSettings::*member) const { into.*member = from.flag(name); }
    void operator()(uint64_t context_lead::ContextSettings::*member) const { into.*member = from.number(name); }
    void operator()(double context_lead::ContextSettings::*member) const { into.*member = from.share(name); }
    void operator()(Duration context_lead::ContextSettings::*member) const { into.*member = from.duration(name); }
  };
  for (const context_lead::ContextSetting& one : context_lead::context_settings()) {
    std::visit(Take{settings, "context." + std::string(one.name), choice.settings}, one.member);
  }
  return choice;
}

Status check_context(const ContextChoice& choice) {
  if (const Status good = choice.settings.validate(); !good) return good;
  for (const Duration one : {choice.job_timeout, choice.job_grace}) {
    if (one >= Duration::millis(1) && one <= kLongestJob) continue;
    return fail(Errc::kInvalid, "'job_timeout' is " + format_duration(choice.job_timeout) + " and 'job_grace' " +
                                    format_duration(choice.job_grace) + "; each has 1ms to 24h");
  }
  return {};
}

}  // namespace bellwether::cluster
