#include "profiler/questions/path_steps.h"

#include "profiler/analysis/device/device_ledger.h"
#include "profiler/analysis/findings.h"
#include "storage/model/lanes.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace shardscope::questions {
namespace {

using analysis::PathSpan;
using analysis::RankStep;
using analysis::SpanUse;

/// Collectives that run when a step begins are among the last so many before it.
constexpr std::ptrdiff_t kLookBack = 64;
/// Of a lane read at once, in lengths of the step that is asked for.
constexpr std::int64_t kStepsAhead = 16;

/// Of a lane whose spans count whatever they are called.
std::optional<SpanUse> useOf(const LaneFacts& lane, bool phases) {
    if (lane.role == LaneRole::kHost && !phases) return SpanUse::kOperator;
    if (!isStreamLane(lane.lane)) return std::nullopt;
    switch (lane.role) {
        case LaneRole::kCompute:
            return SpanUse::kKernel;
        case LaneRole::kCommunication:
            return SpanUse::kCommunication;
        case LaneRole::kCopy:
            return SpanUse::kCopy;
        default:
            return std::nullopt;
    }
}

bool isCalls(const LaneFacts& lane) {
    return lane.role == LaneRole::kRuntime && lanes::kCalls.contains(lane.lane) &&
           !isTracerOverhead(lane.lane, lane.name);
}

/// Returns only when the device is done.
bool waitsForDevice(std::string_view call) {
    if (call.find("ynchronize") != std::string_view::npos) return true;
    return call.find("Memcpy") != std::string_view::npos &&
           call.find("Async") == std::string_view::npos;
}

PathSpan spanOf(const SpanEvent& span, SpanUse use, std::uint32_t name) {
    return {span.range(), use, span.lane, name, span.correlation, span.layer};
}

}  // namespace

PathSteps::PathSteps(const Asked& asked, const std::vector<RankEvents>& ranks,
                     analysis::PathNames& names)
    : m_asked(asked), m_ranks(ranks), m_names(names) {
    for (const RankEvents& events : ranks)
        m_byStart[events.rank] = analysis::byStart(events.collectives);
    for (const StepFacts& step : asked.summary.steps)
        m_steps[{step.rank, step.step}] = step.range();
}

std::uint32_t PathSteps::nameOf(RankId rank, StringId name) {
    const auto [found, fresh] = m_known.try_emplace({rank, name});
    if (fresh) found->second = m_names.of(m_asked.reader.text(rank, name));
    return found->second;
}

Result<std::vector<SpanEvent>> PathSteps::spansOf(const LaneFacts& lane, TimeRange range) {
    Window& window = m_windows[{lane.rank, lane.lane}];
    if (range.begin < window.range.begin || window.range.end < range.end) {
        window.range = {range.begin, range.begin + Duration{kStepsAhead * range.duration().ns}};
        auto spans = m_asked.reader.spans(lane.rank, lane.lane, window.range);
        if (!spans) return failure(spans);
        window.spans = std::move(*spans);
    }
    std::vector<SpanEvent> spans;
    for (const SpanEvent& span : window.spans)
        if (span.range().intersects(range)) spans.push_back(span);
    return spans;
}

void PathSteps::takeEvents(const RankEvents& events, TimeRange range, RankStep& step) const {
    auto phase =
        std::lower_bound(events.phases.begin(), events.phases.end(), step.range.begin,
                         [](const SpanEvent& event, Timestamp time) { return event.start < time; });
    if (phase != events.phases.begin()) --phase;
    for (; phase != events.phases.end() && phase->start < step.range.end; ++phase)
        if (phase->range().intersects(step.range)) step.phases.push_back(*phase);
    const auto& byStart = m_byStart.at(events.rank);
    auto event = std::lower_bound(
        byStart.begin(), byStart.end(), range.begin,
        [](const CollectiveEvent* each, Timestamp time) { return each->start < time; });
    event -= std::min(kLookBack, event - byStart.begin());
    for (; event != byStart.end() && (*event)->start < range.end; ++event)
        if ((*event)->end > range.begin) step.collectives.push_back(*event);
}

Result<void> PathSteps::takeSpans(TimeRange range, RankStep& step) {
    for (const LaneFacts& lane : m_asked.summary.lanes) {
        const auto use = useOf(lane, !step.phases.empty());
        if (lane.rank != step.rank || !use) continue;
        const auto spans = spansOf(lane, range);
        if (!spans) return failure(spans);
        for (const SpanEvent& span : *spans)
            // Phases of a device are on a lane of the host.
            step.spans.push_back(spanOf(span, *use, nameOf(lane.rank, span.name)));
    }
    for (const LaneFacts& lane : m_asked.summary.lanes)
        if (lane.rank == step.rank && isCalls(lane))
            if (auto taken = takeCalls(lane, range, step); !taken) return taken;
    return {};
}

/// Only those that fed the device or waited for it.
Result<void> PathSteps::takeCalls(const LaneFacts& lane, TimeRange range, RankStep& step) {
    std::unordered_set<std::uint64_t> fed;
    for (const PathSpan& span : step.spans)
        if (span.use != SpanUse::kOperator && span.correlation != 0) fed.insert(span.correlation);
    const auto calls = spansOf(lane, range);
    if (!calls) return failure(calls);
    for (const SpanEvent& call : *calls) {
        const std::uint32_t name = nameOf(lane.rank, call.name);
        if (fed.contains(call.correlation)) {
            m_sawLaunch = true;
            step.spans.push_back(spanOf(call, SpanUse::kLaunch, name));
        }
        if (waitsForDevice(m_names.text(name)))
            step.spans.push_back(spanOf(call, SpanUse::kSync, name));
    }
    return {};
}

Result<std::vector<RankStep>> PathSteps::of(StepIndex step, TimeRange range) {
    std::vector<RankStep> ranks;
    for (const RankEvents& events : m_ranks) {
        const auto own = m_steps.find({events.rank, step});
        if (own == m_steps.end() || own->second.empty()) continue;
        RankStep& rank = ranks.emplace_back();
        rank.rank = events.rank;
        rank.range = own->second;
        takeEvents(events, range, rank);
        if (!analysis::ranKernels(events) && !rank.phases.empty()) continue;
        if (auto taken = takeSpans(range, rank); !taken) return failure(taken);
    }
    return ranks;
}

}  // namespace shardscope::questions
