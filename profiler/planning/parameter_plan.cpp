#include "profiler/planning/parameter_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
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

}  // namespace shardscope::planning
