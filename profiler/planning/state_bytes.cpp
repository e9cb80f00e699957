#include "profiler/planning/state_bytes.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace shardscope::planning {
namespace {

/// More than this a parameter is a mistake, not an optimizer.
constexpr double kMostBytes = 1024;

tl::unexpected<Error> notThree(std::string_view text) {
    return failure(ErrorCode::kUsage,
                   fmt::format("'{}' is not the bytes of a parameter: write parameters + gradients "
                               "+ optimizer, as in 2+2+12",
                               text));
}

}  // namespace

Result<StateBytes> parseStateBytes(std::string_view text) {
    std::array<double, 3> numbers{};
    const char* at = text.data();
    const char* const end = at + text.size();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (i > 0 && (at == end || *at++ != '+')) return notThree(text);
        const auto [behind, error] = std::from_chars(at, end, numbers[i], std::chars_format::fixed);
        if (error != std::errc() || !std::isfinite(numbers[i]) || numbers[i] < 0 ||
            numbers[i] > kMostBytes)
            return notThree(text);
        at = behind;
    }
    if (at != end || numbers[0] <= 0) return notThree(text);
    return StateBytes{numbers[0], numbers[1], numbers[2]};
}

std::string textOf(const StateBytes& bytes) {
    return fmt::format("{}+{}+{}", bytes.parameters, bytes.gradients, bytes.optimizer);
}

double stateBytesPerRank(Sharding sharding, const StateBytes& bytes, double parameters,
                         std::int64_t ranks) {
    const auto divided = [&](double each, Sharding from) {
        return sharding >= from ? each / static_cast<double>(ranks) : each;
    };
    return parameters * (divided(bytes.parameters, Sharding::kParameters) +
                         divided(bytes.gradients, Sharding::kGradients) +
                         divided(bytes.optimizer, Sharding::kOptimizer));
}

double trafficPerStep(Sharding sharding, const StateBytes& bytes, double parameters,
                      std::int64_t ranks) {
    const double ring = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
    // A reduce-scatter of gradients; then they are gathered, or the parameters, once or twice.
    const double gathered = sharding == Sharding::kNone         ? bytes.gradients
                            : sharding == Sharding::kParameters ? 2 * bytes.parameters
                                                                : bytes.parameters;
    return parameters * (bytes.gradients + gathered) * ring;
}

}  // namespace shardscope::planning
