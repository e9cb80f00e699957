#include "profiler/planning/parameter_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

namespace shardscope::planning {
namespace {

constexpr double kMostParameters = 1e15;
constexpr std::pair<char, double> kSuffixes[] = {{'k', 1e3}, {'K', 1e3}, {'M', 1e6},
                                                 {'B', 1e9}, {'G', 1e9}, {'T', 1e12}};

double factorOf(char suffix) {
    for (const auto& [letter, factor] : kSuffixes)
        if (letter == suffix) return factor;
    return 0;
}

double room(const ParameterPlanInput& input) {
    return kStateShare * static_cast<double>(input.memory->count);
}

bool fitsOver(Sharding sharding, const ParameterPlanInput& input, std::int64_t ranks) {
    return stateBytesPerRank(sharding, input.state, input.parameters, ranks) <= room(input);
}

std::string whyNot(const StrategyPlan& plan, Sharding sharding, const ParameterPlanInput& input) {
    const auto fewest = fewestRanks(sharding, input);
    return fmt::format("Its state alone is {:.0f} % of the device; {}",
                       100 * plan.stateBytesPerRank / static_cast<double>(input.memory->count),
                       fewest ? fmt::format("it fits from {} ranks on.", *fewest)
                              : "more ranks do not help: what every rank keeps is too much.");
}

/// More than this a parameter is a mistake, not an optimizer.
constexpr double kMostBytes = 1024;

tl::unexpected<Error> notThree(std::string_view text) {
    return failure(ErrorCode::kUsage,
                   fmt::format("'{}' is not the bytes of a parameter: write parameters + gradients "
                               "+ optimizer, as in 2+2+12",
                               text));
}

}  // namespace

Result<double> parseParameters(std::string_view text) {
    std::string digits;
    std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
                 [](char c) { return c != ',' && c != '_'; });
    double number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [behind, error] = std::from_chars(digits.data(), end, number);
    const double factor = behind == end ? 1 : end - behind == 1 ? factorOf(*behind) : 0;
    number *= factor;
    if (error != std::errc() || !std::isfinite(number) || number < 1 || number > kMostParameters)
        return failure(
            ErrorCode::kUsage,
            fmt::format("'{}' is not a number of parameters: write 7e9, 7B or 124M, from 1 "
                        "to 1e15",
                        text));
    return number;
}

std::vector<StrategyPlan> planStrategies(const ParameterPlanInput& input) {
    std::vector<StrategyPlan> plans;
    for (const Sharding sharding : kAll<Sharding>) {
        StrategyPlan plan;
        plan.word = toWord(sharding);
        plan.name = entryOf(sharding)->name;
        plan.stateBytesPerRank =
            stateBytesPerRank(sharding, input.state, input.parameters, input.ranks);
        plan.communicationBytesPerStep =
            trafficPerStep(sharding, input.state, input.parameters, input.ranks);
        if (input.memory) plan.fits = fitsOver(sharding, input, input.ranks);
        if (!plan.fits.value_or(true)) plan.reason = whyNot(plan, sharding, input);
        plans.push_back(std::move(plan));
    }
    recommend(plans);
    return plans;
}

std::optional<std::int64_t> fewestRanks(Sharding sharding, const ParameterPlanInput& input) {
    if (!input.memory || !fitsOver(sharding, input, kMostRanks)) return std::nullopt;
    std::int64_t low = 1, high = kMostRanks;
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        fitsOver(sharding, input, middle) ? high = middle : low = middle + 1;
    }
    return low;
}

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
