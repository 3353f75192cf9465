#include "dispatch/codec/finding_codec.h"

#include "proto/finding.pb.h"

namespace bellwether::dispatch {

void put(const plan::Finding& from, wire::Finding& to) {
  to.set_strain(static_cast<uint32_t>(from.strain));
  to.set_begin_ns(from.begin.ns());
  to.set_end_ns(from.end.ns());
  to.set_worst(from.worst);
}

bool read(const wire::Finding& from, plan::Finding& to) {
  if (from.strain() >= plan::kStrains) return false;
  to = {static_cast<plan::Strain>(from.strain()), Duration::nanos(from.begin_ns()), Duration::nanos(from.end_ns()),
        from.worst(), true};
  return plan::is_possible(to);
}

}  // namespace bellwether::dispatch
