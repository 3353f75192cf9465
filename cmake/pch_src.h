// The standard headers that most sources need, compiled once. Sources still include what they use: the header check
// compiles every header without this file.
#include <algorithm>
#include <array>
#include <coroutine>
#include <cstdint>
#include <cstring>
#include <fmt/core.h>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <variant>
#include <vector>
