#include "app/cli/report_of.h"

#include "profiler/questions/hta_rows.h"
#include "profiler/questions/read_device.h"
#include "profiler/questions/read_growth.h"
#include "profiler/questions/read_surroundings.h"

#include <algorithm>
#include <vector>

namespace shardscope::cli {
namespace {

/// HTA's two ways to treat the last step, of times as they are and in whole microseconds; the first
/// is what HTA says by itself.
Result<std::vector<analysis::HtaNumbers>> htaNumbers(storage::RecordingReader& reader) {
    const auto traces = questions::readHtaTraces(reader);
    if (!traces) return failure(traces);
    std::vector<analysis::HtaNumbers> numbers;
    for (const bool keepLastStep : {false, true})
        for (const bool wholeMicroseconds : {false, true})
            for (auto& rank : analysis::htaCompatible(*traces, {wholeMicroseconds, keepLastStep}))
                numbers.push_back(std::move(rank));
    return numbers;
}

bool hasDeviceLane(const RecordingSummary& summary) {
    return std::any_of(summary.lanes.begin(), summary.lanes.end(),
                       [](const LaneFacts& lane) { return isStreamLane(lane.lane); });
}

}  // namespace

Result<analysis::Report> reportOf(storage::RecordingReader& reader, bool hta) {
    auto summary = reader.summary();
    if (!summary) return failure(summary);
    const TimeRange whole{summary->bounds.begin, {summary->bounds.end.ns + 1}};
    std::vector<RankEvents> ranks;
    for (const RankFacts& rank : summary->ranks) {
        auto events = reader.rankEvents(rank.rank, whole);
        if (!events) return failure(events);
        ranks.push_back(std::move(*events));
    }
    const auto rows = questions::deviceRows(reader, *summary, ranks);
    if (!rows) return failure(rows);
    const auto growths = questions::memoryGrowths(reader, *summary, ranks);
    if (!growths) return failure(growths);
    const auto around = questions::surroundings(reader, *summary, {});
    if (!around) return failure(around);
    analysis::Report report = analysis::analyse(*summary, ranks, *rows, *growths, *around);
    if (hta || hasDeviceLane(*summary)) {
        auto numbers = htaNumbers(reader);
        if (!numbers) return failure(numbers);
        report.hta = std::move(*numbers);
    }
    return report;
}

void markRunning(analysis::Report& report) {
    report.running = true;
    report.judged = {false, {"what there is for good: the run is being recorded"}};
}

}  // namespace shardscope::cli
