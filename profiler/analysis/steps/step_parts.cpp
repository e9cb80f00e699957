#include "profiler/analysis/steps/step_parts.h"

#include "profiler/analysis/intervals.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>

namespace shardscope::analysis {
namespace {

/// Self time of each span: its own less that of the next inner ones.
std::vector<Duration> selfTimes(const std::vector<SpanEvent>& spans) {
    std::vector<Duration> self;
    self.reserve(spans.size());
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        const TimeRange range = spans[i].range();
        while (!open.empty() && spans[open.back()].end() <= range.begin) open.pop_back();
        self.push_back(range.duration());
        if (!open.empty()) {
            // Of one that reaches over the outer one's end, what lies inside.
            const TimeRange inside = range.intersection(spans[open.back()].range());
            if (!inside.empty()) self[open.back()] -= inside.duration();
        }
        open.push_back(i);
    }
    for (Duration& each : self) each = std::max(each, Duration{});
    return self;
}

}  // namespace

std::optional<StepPart> partOfName(std::string_view name) {
    std::string lower(name);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    const auto has = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
    if (has("zero_grad")) return std::nullopt;
    if (lower.starts_with("autograd::engine::evaluate_function") || has("backward"))
        return StepPart::kBackward;
    if (has("optimizer")) return StepPart::kOptimizer;
    if (has("forward")) return StepPart::kForward;
    return std::nullopt;
}

PartTimes partTimes(PartRanges ranges) {
    PartTimes times{};
    Intervals taken;
    for (const StepPart part :
         {StepPart::kBackward, StepPart::kOptimizer, StepPart::kForward, StepPart::kOther}) {
        const auto at = static_cast<std::size_t>(part);
        const Intervals own = unionOf(std::move(ranges[at]));
        const Intervals left = difference(own, taken);
        times[at] = total(left);
        std::vector<TimeRange> both = taken;
        both.insert(both.end(), left.begin(), left.end());
        taken = unionOf(std::move(both));
    }
    return times;
}

std::map<StepIndex, PartTimes> partTimesByStep(const RankEvents& events) {
    std::map<StepIndex, PartRanges> ranges;
    for (const SpanEvent& phase : events.phases)
        if (phase.step != kNoStep)
            ranges[phase.step][static_cast<std::size_t>(stepPartOf(phase.phase))].push_back(
                phase.range());
    std::map<StepIndex, PartTimes> times;
    for (auto& [step, parts] : ranges) times[step] = partTimes(std::move(parts));
    return times;
}

StepPart stepPartOf(Phase phase) {
    switch (phase) {
        case Phase::kForward:
        case Phase::kHead:
            return StepPart::kForward;
        case Phase::kBackward:
        case Phase::kRecompute:
            return StepPart::kBackward;
        case Phase::kOptimizer:
        case Phase::kClip:
            return StepPart::kOptimizer;
        default:
            return StepPart::kOther;
    }
}

double SpanTotal::meanNs() const {
    return count == 0 ? 0 : static_cast<double>(total.ns) / static_cast<double>(count);
}

double SpanTotal::deviationNs() const {
    if (count == 0) return 0;
    const double mean = meanNs();
    return std::sqrt(std::max(0.0, squares / static_cast<double>(count) - mean * mean));
}

void SpanTotals::add(const std::vector<SpanEvent>& spans, const Text& text) {
    const std::vector<Duration> self = selfTimes(spans);
    std::unordered_map<std::uint32_t, SpanTotal*> known;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        const SpanEvent& span = spans[i];
        SpanTotal*& total = known[span.name.value];
        if (total == nullptr) {
            const std::string name(text(span.name));
            total = &m_byName[name];
            total->name = name;
        }
        if (total->count == 0) total->shortest = span.duration;
        ++total->count;
        total->total += span.duration;
        total->self += self[i];
        total->shortest = std::min(total->shortest, span.duration);
        total->longest = std::max(total->longest, span.duration);
        total->selfByPart[static_cast<std::size_t>(stepPartOf(span.phase))] += self[i];
        LayerTotal& layer = m_byLayer[span.layer];
        layer.layer = span.layer;
        ++layer.count;
        layer.self += self[i];
        layer.selfByPart[static_cast<std::size_t>(stepPartOf(span.phase))] += self[i];
        const auto ns = static_cast<double>(span.duration.ns);
        total->squares += ns * ns;
    }
}

std::vector<SpanTotal> SpanTotals::sorted() const {
    std::vector<SpanTotal> all;
    all.reserve(m_byName.size());
    for (const auto& [name, total] : m_byName) all.push_back(total);
    std::stable_sort(all.begin(), all.end(),
                     [](const SpanTotal& a, const SpanTotal& b) { return a.self > b.self; });
    return all;
}

std::vector<LayerTotal> SpanTotals::byLayer() const {
    std::vector<LayerTotal> all;
    all.reserve(m_byLayer.size());
    for (const auto& [layer, total] : m_byLayer) all.push_back(total);
    const auto place = [](const LayerTotal& each) {
        return each.layer == kRootLayer ? -1 : each.layer == kNoLayer ? 1 : 0;
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const LayerTotal& a, const LayerTotal& b) { return place(a) < place(b); });
    return all;
}

}  // namespace shardscope::analysis
