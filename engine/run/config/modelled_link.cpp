#include "engine/run/config/modelled_link.h"

#include <fmt/format.h>

namespace shardscope::run {

std::string modelledLink(const RunConfig& config) {
    if (config.linkGigabytesPerSecond <= 0) return {};
    return fmt::format("modelled: {} us, {} GB/s", config.linkLatencyMicroseconds,
                       config.linkGigabytesPerSecond);
}

}  // namespace shardscope::run
