#include "profiler/collectors/host/core_wait.h"

#include "profiler/collectors/host/numbers_in.h"

#include <array>

namespace shardscope::collectors {

std::optional<std::int64_t> CoreWait::read() const {
    std::array<char, 128> room;
    return coreWaitIn(m_file.read(room));
}

std::optional<std::int64_t> coreWaitIn(std::string_view text) {
    const auto facts = numbersIn<3>(text);
    const bool counted = facts && facts->back() > 0;
    return counted ? std::optional((*facts)[1]) : std::nullopt;
}

}  // namespace shardscope::collectors
