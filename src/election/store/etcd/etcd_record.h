// A claim's value in etcd: the record of its candidate, as JSON that people can read. Claims of other programs, such as
// `etcdctl elect`, have values of their own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "election/lease_record.h"

namespace bellwether::store {

// Bytes that are no UTF-8 are replaced: the value is for people as much as for programs.
std::string etcd_value_of(const election::LeaseRecord& record);
// The record without its epoch; nothing when another program wrote the value.
std::optional<election::LeaseRecord> parse_etcd_value(std::string_view value);

}  // namespace bellwether::store
