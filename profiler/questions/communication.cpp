#include "profiler/questions/communication.h"

#include "profiler/analysis/communication/last_arrivals.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/intervals.h"
#include "storage/model/lanes.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace shardscope::questions {

Result<Communication> readCommunication(const Asked& asked) {
    const analysis::DetailedPart part = analysis::detailedPart(asked.summary);
    const RecordingSummary& summary = part.of(asked.summary);
    analysis::ExposureSums sums;
    std::vector<RankEvents> outlines;
    for (const RankFacts& rank : asked.summary.ranks) {
        const auto events = asked.events(rank.rank);
        if (!events) return failure(events);
        const analysis::Intervals within = analysis::trainingTime(summary, *events);
        // whom a collective waited for is not asked
        analysis::forExposures(*events, {}, {}, &within,
                               [&](const analysis::Exposure& each) { sums.add(each); });
        outlines.push_back(analysis::outlineOf(*events));
    }
    Communication found;
    found.byLayer = sums.byLayer();
    found.reasons = sums.byReason();
    found.rankSteps = summary.steps.size();
    auto whole = asked.wholeGroups();
    if (!whole) return failure(whole);
    found.transfers = std::move(whole->transfers);
    found.classes = analysis::classesOf(found.transfers);
    found.skew = analysis::arrivalSkew(found.transfers);
    const analysis::Groups groups(outlines);
    for (const analysis::Transfer& transfer : found.transfers)
        found.groups.try_emplace(transfer.group, groups.of(transfer.group));
    return found;
}

namespace {

/// Not annotations that were carried over to a device: they are the host's once more.
bool isOfHost(const LaneFacts& lane) {
    return (lane.role == LaneRole::kHost || lane.role == LaneRole::kRange) &&
           !isOverheadLane(lane.lane, lane.name) && !lane.name.ends_with("gpu_user_annotation");
}

void add(std::string_view name, Duration time, std::vector<analysis::MarkedCollective>& marked) {
    const auto same = std::find_if(marked.begin(), marked.end(),
                                   [&](const auto& each) { return each.name == name; });
    analysis::MarkedCollective& sum =
        same != marked.end()
            ? *same
            : marked.emplace_back(analysis::MarkedCollective{std::string(name), 0, {}});
    ++sum.count;
    sum.total += time;
}

}  // namespace

bool marksCollective(std::string_view name) {
    constexpr std::array<std::string_view, 7> kPrefixes{
        "c10d::", "gloo:", "nccl:", "mpi:", "ucc:", "xccl:", "hccl:"};
    return name == "record_param_comms" ||
           std::any_of(kPrefixes.begin(), kPrefixes.end(),
                       [name](std::string_view prefix) { return name.starts_with(prefix); });
}

Result<void> addMarkedCollectives(storage::RecordingReader& reader, const RecordingSummary& summary,
                                  const RankEvents& events, TimeRange time,
                                  std::vector<analysis::MarkedCollective>& marked) {
    if (!summary.run.model.empty() || !events.collectives.empty() ||
        !events.communicationKernels.empty())
        return {};
    std::map<StringId, bool> known;
    for (const LaneFacts& lane : summary.lanes) {
        if (lane.rank != events.rank || !isOfHost(lane)) continue;
        const auto spans = reader.spans(lane.rank, lane.lane, time);
        if (!spans) return failure(spans);
        for (const SpanEvent& span : *spans) {
            const auto [mark, fresh] = known.try_emplace(span.name, false);
            if (fresh) mark->second = marksCollective(reader.text(lane.rank, span.name));
            if (mark->second && time.contains(span.start))
                add(reader.text(lane.rank, span.name), span.duration, marked);
        }
    }
    std::stable_sort(marked.begin(), marked.end(),
                     [](const auto& a, const auto& b) { return a.total > b.total; });
    return {};
}

std::string markedText(const std::vector<analysis::MarkedCollective>& marked) {
    constexpr std::size_t kMostNamed = 4;
    if (marked.empty()) return {};
    std::vector<std::string> named;
    for (std::size_t i = 0; i < std::min(marked.size(), kMostNamed); ++i)
        named.push_back(fmt::format("{} ({}, {})", marked[i].name, marked[i].count,
                                    durationText(marked[i].total)));
    const std::size_t more = marked.size() - named.size();
    return fmt::format(
        "Ranges of the host mark collectives: {}{}. Kernels of collectives are not in the trace, "
        "nor when other ranks arrived: how long data moved, who was waited for and what was hidden "
        "is unknown.",
        fmt::join(named, ", "),
        more == 0 ? "" : fmt::format(" and {} more", counted(more, "name")));
}

Result<void> addNoCommunication(const Asked& asked, const std::vector<RankEvents>& ranks,
                                const std::string& unknown, Answer& answer) {
    std::vector<analysis::MarkedCollective> marked;
    for (const RankEvents& events : ranks)
        if (auto done =
                addMarkedCollectives(asked.reader, asked.summary, events,
                                     asked.selection.timeOf(asked.summary, events.rank), marked);
            !done)
            return done;
    answer.unknown.emplace_back(unknown);
    if (!marked.empty()) answer.sentences.push_back(markedText(marked));
    return {};
}

}  // namespace shardscope::questions
