#include "profiler/analysis/gate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <optional>

namespace shardscope::analysis {
namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t";
    const auto begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

std::optional<double> number(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
    if (!whole || !std::isfinite(value)) return std::nullopt;
    return value;
}

bool breaks(const GateRule& rule, double value) {
    return rule.atLeast ? value < rule.bound : value > rule.bound;
}

GateState stateOf(const GateRule& rule, const Difference& difference) {
    if (!rule.relative) {
        if (!difference.second) return GateState::kCannotTell;
        return breaks(rule, *difference.second) ? GateState::kBroken : GateState::kKept;
    }
    if (!difference.change) {
        const bool same = difference.verdict == Verdict::kNoChange;
        return same && !breaks(rule, 0) ? GateState::kKept : GateState::kCannotTell;
    }
    if (!breaks(rule, *difference.change)) return GateState::kKept;
    const bool sure =
        difference.low && difference.high && (*difference.low > 0 || *difference.high < 0);
    if (sure) return GateState::kBroken;
    // Within noise: broken for certain only if all that it may be is.
    const bool all = difference.low && difference.high && breaks(rule, *difference.low) &&
                     breaks(rule, *difference.high);
    return all ? GateState::kBroken : GateState::kCannotTell;
}

}  // namespace

Result<GateRule> parseGateRule(std::string_view text) {
    GateRule rule;
    rule.text = trimmed(text);
    const std::size_t sign = text.find_first_of("<>");
    const bool two = sign != std::string_view::npos && text.substr(sign + 1, 1) == "=";
    std::string_view bound = two ? trimmed(text.substr(sign + 2)) : std::string_view();
    rule.relative = bound.ends_with('%');
    if (rule.relative) bound = trimmed(bound.substr(0, bound.size() - 1));
    const auto value = number(bound);
    rule.key = two ? trimmed(text.substr(0, sign)) : std::string_view();
    if (rule.key.empty() || !value)
        return failure(ErrorCode::kUsage,
                       fmt::format("'{}' is no rule: write FIGURE >= -2%, FIGURE <= +1% or "
                                   "FIGURE <= 3e9",
                                   rule.text));
    rule.atLeast = text[sign] == '>';
    rule.bound = rule.relative ? *value / 100 : *value;
    return rule;
}

Result<std::vector<GateResult>> checkGate(const std::vector<GateRule>& rules,
                                          const std::vector<RunFigure>& baseline,
                                          const std::vector<RunFigure>& run) {
    std::vector<GateResult> results;
    for (const GateRule& rule : rules) {
        const RunFigure* first = findFigure(baseline, rule.key);
        const RunFigure* second = findFigure(run, rule.key);
        if (first == nullptr && second == nullptr)
            return failure(ErrorCode::kUsage,
                           fmt::format("there is no figure '{}' to keep; there is {}", rule.key,
                                       fmt::join(keysOf(baseline, run), ", ")));
        const RunFigure nothing;
        const Difference difference = differenceOf(first != nullptr ? *first : nothing,
                                                   second != nullptr ? *second : nothing);
        results.push_back({rule, stateOf(rule, difference), difference});
    }
    return results;
}

}  // namespace shardscope::analysis
