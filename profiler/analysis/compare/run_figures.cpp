#include "profiler/analysis/compare/run_figures.h"

#include "profiler/analysis/findings.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace shardscope::analysis {
namespace {

constexpr double kNanoseconds = 1e9;

/// By step, of those of which each rank's is known.
std::map<StepIndex, double> runningSeconds(const SteadySteps& steady, const Report& report) {
    std::map<StepIndex, std::pair<Duration, std::int32_t>> most;
    for (const LedgerRow& row : report.ledger) {
        if (!steady.steps.contains(row.step)) continue;
        auto& [longest, ranks] = most[row.step];
        longest = std::max(longest,
                           row.wall - row.parts[at(LedgerPart::kWaiting)] - takenFrom(row.parts));
        ++ranks;
    }
    std::map<StepIndex, double> seconds;
    for (const auto& [step, time] : most)
        if (time.second == steady.steps.at(step).ranks && time.first.ns > 0)
            seconds[step] = time.first.seconds();
    return seconds;
}

void addSteps(const SteadySteps& steady, const Report& report, std::vector<RunFigure>& figures) {
    RunFigure time{"step.time_ns", "ns", Better::kLower, {}, {}};
    RunFigure tokens{"throughput.tokens_per_s", "tokens/s", Better::kHigher, {}, {}};
    for (const auto& [index, step] : steady.steps) {
        const double seconds = step.range.duration().seconds();
        time.samples.push_back(seconds * kNanoseconds);
        if (step.tokens > 0 && seconds > 0)
            tokens.samples.push_back(static_cast<double>(step.tokens) / seconds);
    }
    for (const auto& [index, seconds] : runningSeconds(steady, report)) {
        const std::int64_t count = steady.steps.at(index).tokens;
        time.running.push_back(seconds * kNanoseconds);
        if (count > 0) tokens.running.push_back(static_cast<double>(count) / seconds);
    }
    if (!time.samples.empty()) figures.push_back(std::move(time));
    if (!tokens.samples.empty()) figures.push_back(std::move(tokens));
}

void addOverlap(const SteadySteps& steady, const Report& report, std::vector<RunFigure>& figures) {
    RunFigure all{"communication.time_ns", "ns", Better::kLower, {}, {}};
    RunFigure exposed{"communication.exposed_ns", "ns", Better::kLower, {}, {}};
    const auto ranks = static_cast<double>(std::max<std::size_t>(report.overlapByRank.size(), 1));
    for (const StepOverlap& step : report.overlapByStep) {
        if (!steady.steps.contains(step.step)) continue;
        all.samples.push_back(static_cast<double>(step.communication.ns) / ranks);
        if (step.computeKnown)
            exposed.samples.push_back(static_cast<double>((step.communication - step.hidden).ns) /
                                      ranks);
    }
    if (all.samples.empty()) return;
    figures.push_back(std::move(all));
    if (!exposed.samples.empty()) figures.push_back(std::move(exposed));
}

void addLedger(const SteadySteps& steady, const Report& report, std::vector<RunFigure>& figures) {
    std::map<StepIndex, std::pair<LedgerParts, double>> bySteps;
    for (const LedgerRow& row : report.ledger) {
        if (!steady.steps.contains(row.step)) continue;
        auto& [sum, ranks] = bySteps[row.step];
        for (std::size_t part = 0; part < sum.size(); ++part) sum[part] += row.parts[part];
        ++ranks;
    }
    for (const LedgerPart part : kAll<LedgerPart>) {
        RunFigure figure{std::string("ledger.") + toKey(part), "ns", Better::kLower, {}, {}};
        for (const auto& [step, sum] : bySteps)
            figure.samples.push_back(static_cast<double>(sum.first[at(part)].ns) / sum.second);
        const bool any = std::any_of(figure.samples.begin(), figure.samples.end(),
                                     [](double sample) { return sample > 0; });
        // Time without a core is out of these already.
        if (part == LedgerPart::kCompute || part == LedgerPart::kOptimizer)
            figure.running = figure.samples;
        if (any) figures.push_back(std::move(figure));
    }
    RunFigure reductions{std::string("ledger.") + kReductionKey, "ns", Better::kLower, {}, {}};
    for (const auto& [step, sum] : bySteps)
        reductions.samples.push_back(static_cast<double>(blockedInReductions(sum.first).ns) /
                                     sum.second);
    const bool any = std::any_of(reductions.samples.begin(), reductions.samples.end(),
                                 [](double sample) { return sample > 0; });
    if (any) figures.push_back(std::move(reductions));
}

void addLoss(const RecordingSummary& summary, std::vector<RunFigure>& figures) {
    std::vector<double> losses;
    for (const MetricPoint& metric : summary.metrics)
        if (metric.name == "loss" && std::isfinite(metric.value)) losses.push_back(metric.value);
    if (losses.empty()) return;
    const auto quarter = static_cast<std::ptrdiff_t>((losses.size() + 3) / 4);
    figures.push_back(
        {"loss.last_quarter", "", Better::kLower, {losses.end() - quarter, losses.end()}, {}});
}

void addMemory(const Report& report, std::vector<RunFigure>& figures) {
    const RankMemory* worst = report.worstMemory();
    if (worst == nullptr) return;
    figures.push_back(
        {"memory.peak_bytes", "bytes", Better::kLower, {}, static_cast<double>(worst->peak.count)});
    for (const MemoryCategory category : kAll<MemoryCategory>) {
        const Bytes bytes = worst->byCategory[static_cast<std::size_t>(category)];
        std::string key = std::string("memory.") + toWord(category);
        std::replace(key.begin(), key.end(), ' ', '_');
        if (bytes.count > 0)
            figures.push_back(
                {key + "_bytes", "bytes", Better::kLower, {}, static_cast<double>(bytes.count)});
    }
}

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

/// Of a bound for the run's own value. Without cores what breaks it may be the machine's doing, and
/// what keeps it does so all the more.
GateState absoluteState(const GateRule& rule, const RunFigure* run, double value,
                        const Grounds& alone) {
    if (!breaks(rule, value)) return GateState::kKept;
    const bool founded = !run->isTime() || alone.time == TimeBasis::kAsRecorded;
    return founded ? GateState::kBroken : GateState::kUnknown;
}

GateState relativeState(const GateRule& rule, Difference difference) {
    // Without grounds there is none.
    if (difference.isUnfounded()) return GateState::kUnknown;
    if (difference.judged) {
        difference.change = difference.judged->change;
        difference.low = difference.judged->low;
        difference.high = difference.judged->high;
    }
    if (!difference.change) {
        const bool same = difference.verdict == Verdict::kNoChange;
        return same && !breaks(rule, 0) ? GateState::kKept : GateState::kUnknown;
    }
    if (!breaks(rule, *difference.change)) return GateState::kKept;
    const bool sure =
        difference.low && difference.high && (*difference.low > 0 || *difference.high < 0);
    if (sure) return GateState::kBroken;
    // Within noise: broken for certain only if all that it may be is.
    const bool all = difference.low && difference.high && breaks(rule, *difference.low) &&
                     breaks(rule, *difference.high);
    return all ? GateState::kBroken : GateState::kUnknown;
}

}  // namespace

std::vector<RunFigure> runFigures(const RecordingSummary& summary,
                                  const std::vector<RankEvents>& ranks, const Report& report) {
    const SteadySteps steady = steadySteps(summary, ranks);
    std::vector<RunFigure> figures;
    addSteps(steady, report, figures);
    addOverlap(steady, report, figures);
    addLedger(steady, report, figures);
    addLoss(summary, figures);
    addMemory(report, figures);
    return figures;
}

namespace {

struct FigureTitle {
    std::string_view key, title, brief;
};
constexpr FigureTitle kTitles[] = {
    {"step.time_ns", "step time", "step time"},
    {"throughput.tokens_per_s", "throughput", "throughput"},
    {"communication.time_ns", "communication", "communication"},
    {"communication.exposed_ns", "exposed communication", "exposed comm."},
    {"loss.last_quarter", "loss, last quarter of the steps", "last losses"},
    {"memory.peak_bytes", "peak memory", "peak memory"}};

}  // namespace

std::string briefFigureTitle(std::string_view key) {
    for (const FigureTitle& each : kTitles)
        if (key == each.key) return std::string(each.brief);
    return figureTitle(key);
}

std::string figureTitle(std::string_view key) {
    for (const FigureTitle& each : kTitles)
        if (key == each.key) return std::string(each.title);
    constexpr std::string_view kLedger = "ledger.", kMemory = "memory.", kBytes = "_bytes";
    if (key.starts_with(kLedger)) {
        const std::string_view part = key.substr(kLedger.size());
        if (part == kReductionKey) return "ledger: blocked in reductions";
        for (const LedgerPart each : kAll<LedgerPart>)
            if (part == toKey(each)) return std::string("ledger: ") + toWord(each);
    }
    if (key.starts_with(kMemory) && key.ends_with(kBytes)) {
        std::string category(key.substr(kMemory.size()));
        category.resize(category.size() - kBytes.size());
        std::replace(category.begin(), category.end(), '_', ' ');
        return "memory at the peak: " + category;
    }
    return std::string(key);
}

const RunFigure* findFigure(const std::vector<RunFigure>& figures, std::string_view key) {
    const auto found = std::find_if(figures.begin(), figures.end(),
                                    [&](const RunFigure& each) { return each.key == key; });
    return found == figures.end() ? nullptr : &*found;
}

std::vector<std::string> keysOf(const std::vector<RunFigure>& first,
                                const std::vector<RunFigure>& second) {
    std::vector<std::string> keys;
    for (const RunFigure& figure : first) keys.push_back(figure.key);
    for (const RunFigure& figure : second)
        if (findFigure(first, figure.key) == nullptr) keys.push_back(figure.key);
    return keys;
}

bool RunFigure::isTime() const {
    const std::string_view of = unit;
    return of == "ns" || of == "tokens/s";
}

bool RunFigure::isMemory() const {
    return std::string_view(unit) == "bytes";
}

Difference differenceOf(const RunFigure& first, const RunFigure& second, const Grounds& grounds) {
    Difference difference = first.whole || second.whole
                                ? exactDifference(first.whole, second.whole, first.better)
                                : differenceOf(first.samples, second.samples, first.better);
    const RunFigure& either = first.key.empty() ? second : first;
    if (either.isMemory() && !grounds.memory && difference.verdict != Verdict::kNoChange) {
        difference.verdict = Verdict::kUnknown;
        difference.reason = grounds.memoryReason;
    }
    if (!either.isTime() || grounds.time == TimeBasis::kAsRecorded) return difference;
    difference.reason = grounds.timeReason;
    difference.verdict = Verdict::kUnknown;
    if (grounds.time == TimeBasis::kNone) return difference;
    const Difference running = differenceOf(first.running, second.running, either.better);
    if (!running.change || !running.low || !running.high) return difference;
    difference.verdict = running.verdict;
    difference.judged = {{*running.change, *running.low, *running.high}};
    return difference;
}

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
                       fmt::format("'{}' is not a rule: write FIGURE >= -2%, FIGURE <= +1% or "
                                   "FIGURE <= 3e9",
                                   rule.text));
    rule.atLeast = text[sign] == '>';
    rule.bound = rule.relative ? *value / 100 : *value;
    return rule;
}

Result<std::vector<GateResult>> checkGate(const std::vector<GateRule>& rules,
                                          const std::vector<RunFigure>& baseline,
                                          const std::vector<RunFigure>& run, const Grounds& grounds,
                                          const Grounds& alone) {
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
                                                   second != nullptr ? *second : nothing, grounds);
        GateState state = GateState::kUnknown;
        if (rule.relative)
            state = relativeState(rule, difference);
        else if (difference.second)
            state = absoluteState(rule, second, *difference.second, alone);
        results.push_back({rule, state, difference});
    }
    return results;
}

}  // namespace shardscope::analysis
