#include "app/cli/record/part_words.h"

#include "storage/model/capture_schedule.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace shardscope::cli {
namespace {

/// "1.5", "1.5s", "20ms", "7us", "9ns"; seconds without a unit.
std::optional<Timestamp> timeOf(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    const std::pair<std::string_view, double> units[] = {
        {"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    for (const auto& [name, scale] : units)
        if (unit == name && std::abs(value * scale) < 1e18)
            return Timestamp{std::llround(value * scale)};
    return std::nullopt;
}

}  // namespace

Result<TimeRange> parseTimeRange(const std::string& text) {
    const std::size_t colon = text.find(':');
    const std::string_view all(text);
    const auto begin = timeOf(all.substr(0, colon));
    const auto end = colon == std::string::npos ? std::nullopt : timeOf(all.substr(colon + 1));
    if (!begin || !end || *end <= *begin)
        return failure(
            ErrorCode::kUsage,
            fmt::format("--range {} is not a range of time: write BEGIN:END in seconds of the "
                        "recording, like 1.5:2 or 200ms:350ms",
                        text));
    return TimeRange{*begin, *end};
}

Result<Duration> parseDuration(const std::string& text, const std::string& flag) {
    const auto time = timeOf(text);
    constexpr std::int64_t kLongestNs = 86'400'000'000'000;
    if (time && time->ns >= 0 && time->ns <= kLongestNs) return Duration{time->ns};
    return failure(ErrorCode::kUsage,
                   fmt::format("{} {} is not a time of at most a day: write it like 500ms or 10s",
                               flag, text));
}

Result<questions::Selection> parseSelection(const std::string& range, const std::string& steps,
                                            const std::vector<std::uint32_t>& ranks) {
    questions::Selection selection;
    for (const std::uint32_t rank : ranks) selection.ranks.push_back({rank});
    if (!range.empty()) {
        const auto parsed = parseTimeRange(range);
        if (!parsed) return failure(parsed);
        selection.range = *parsed;
    }
    if (!steps.empty()) {
        const auto spans = parseStepSpans(steps);
        if (!spans) return failure(spans, "--steps");
        for (const StepSpan& span : *spans) selection.steps.push_back({{span.first}, {span.last}});
    }
    return selection;
}

Result<std::vector<questions::SpeedUp>> parseSpeedUps(const std::vector<std::string>& texts) {
    constexpr double kMost = 1e6;
    std::vector<questions::SpeedUp> all;
    for (const std::string& text : texts) {
        // A kernel's name may hold such signs itself.
        const std::size_t sign = text.rfind('=');
        double times = 0;
        const char* const end = text.data() + text.size();
        const char* const begin = sign == std::string::npos ? end : text.data() + sign + 1;
        const auto [behind, error] = std::from_chars(begin, end, times);
        if (error != std::errc{} || behind != end || sign == 0 || !(times >= 1 / kMost) ||
            times > kMost)
            return failure(ErrorCode::kUsage,
                           fmt::format("--faster '{}': write WHAT=X, like link=2, 'rank 1=1.5' or "
                                       "backward=1.2, X from {:g} to {:g}",
                                       text, 1 / kMost, kMost));
        all.push_back({text.substr(0, sign), times});
    }
    return all;
}

}  // namespace shardscope::cli
