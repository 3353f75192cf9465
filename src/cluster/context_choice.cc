#include "cluster/context_choice.h"

#include "base/units.h"

namespace bellwether::cluster {

Status check_context(const ContextChoice& choice) {
  BW_RETURN_IF_ERROR(choice.settings.validate());
  for (const Duration one : {choice.job_timeout, choice.job_grace}) {
    if (one >= Duration::millis(1) && one <= kLongestJob) continue;
    return fail(Errc::kInvalid, "'job_timeout' is " + format_duration(choice.job_timeout) + " and 'job_grace' " +
                                    format_duration(choice.job_grace) + "; each has 1ms to 24h");
  }
  return {};
}

}  // namespace bellwether::cluster
