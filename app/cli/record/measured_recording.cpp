#include "app/cli/record/measured_recording.h"

#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/analysis/communication/transfers.h"
#include "storage/model/rank_facts.h"
#include "storage/recording/read/recording_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardscope::cli {
namespace {

Result<std::vector<RankEvents>> eventsOf(storage::RecordingReader& reader,
                                         const RecordingSummary& summary) {
    std::vector<RankEvents> ranks;
    for (const RankFacts& rank : summary.ranks) {
        auto events = reader.rankEvents(rank.rank, summary.bounds);
        if (!events) return failure(events);
        ranks.push_back(std::move(*events));
    }
    return ranks;
}

}  // namespace

Result<planning::MeasuredRecording> readMeasuredRecording(const std::string& path) {
    auto reader = storage::openRecording(path);
    if (!reader) return failure(reader);
    auto summary = (*reader)->summary();
    if (!summary) return failure(summary);
    auto config = run::parseRunConfigJson(summary->run.configJson);
    if (!config) return failure(config, path);
    if (config->work != run::Work::kMeasuring)
        return failure(ErrorCode::kUnreadable,
                       fmt::format("{} is of a run that trained and measured nothing", path));
    const auto ranks = eventsOf(**reader, *summary);
    if (!ranks) return failure(ranks);
    auto transfers = analysis::transfersOf(*ranks, analysis::HostClocks(*summary, *ranks));
    std::erase_if(transfers, [](const auto& each) { return each.cause != Cause::kNone; });
    return planning::MeasuredRecording{std::move(*summary), std::move(*config),
                                       std::move(transfers)};
}

std::vector<std::string> limitsOf(const RecordingSummary& summary) {
    std::vector<std::string> limits;
    for (const Diagnostic& each : summary.diagnostics)
        if (each.severity != Severity::kNote || each.code.starts_with(kLimitCode))
            limits.push_back(each.message);
    return limits;
}

void addNotedLimits(const RecordingSummary& summary, std::vector<std::string>& limits) {
    for (const Diagnostic& each : summary.diagnostics)
        if (each.severity == Severity::kNote && each.code.starts_with(kLimitCode) &&
            std::find(limits.begin(), limits.end(), each.message) == limits.end())
            limits.push_back(each.message);
}

}  // namespace shardscope::cli
