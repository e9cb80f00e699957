#include "app/cli/report_of.h"

#include "profiler/questions/hta_rows.h"
#include "profiler/questions/report_reader.h"

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
    const auto summary = reader.summary();
    if (!summary) return failure(summary);
    auto report = questions::readReport(reader, *summary);
    if (!report) return report;
    if (hta || hasDeviceLane(*summary)) {
        auto numbers = htaNumbers(reader);
        if (!numbers) return failure(numbers);
        report->hta = std::move(*numbers);
    }
    return report;
}

}  // namespace shardscope::cli
