#include "app/cli/plan_recordings.h"

#include "app/cli/open_recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace shardscope::cli {
namespace {

struct Read {
    planning::ComputeTimes computing;
    std::optional<planning::LinkTimes> link;
};

Result<Read> readOne(const std::string& path) {
    auto opened = openAnyRecording({path, ""});
    if (!opened) return failure(opened);
    const auto summary = (*opened)->summary();
    if (!summary) return failure(summary);
    std::vector<RankEvents> ranks;
    for (const RankFacts& facts : summary->ranks) {
        auto events = (*opened)->rankEvents(facts.rank, summary->bounds);
        if (!events) return failure(events);
        ranks.push_back(std::move(*events));
    }
    auto computing = planning::computeTimesOf(*summary, ranks);
    if (!computing)
        return failure(computing.error().code,
                       fmt::format("--from {}: {}", path, computing.error().message));
    return Read{std::move(*computing), planning::linkOf(*summary, ranks)};
}

/// What is about the run that was and not about the one that is planned.
run::RunConfig bare(run::RunConfig config) {
    config.hosts = config.output = config.resume = config.checkpoint = config.weights = {};
    config.restart = 0;
    config.sendData = config.deployLibTorch = false;
    config.linkGigabytesPerSecond = config.linkLatencyMicroseconds = 0;
    return config;
}

}  // namespace

Result<PlanRecordings> readPlanRecordings(const std::vector<std::string>& paths) {
    PlanRecordings found;
    for (const std::string& path : paths) {
        auto read = readOne(path);
        if (!read) return failure(read);
        if (found.times.computing.empty()) found.config = bare(read->computing.config);
        found.times.ranksOnHost = std::max(found.times.ranksOnHost, read->computing.ranksOnHost);
        found.times.computing.push_back(std::move(read->computing));
        if (!found.times.link) found.times.link = std::move(read->link);
    }
    const planning::ComputeTimes& first = found.times.computing.front();
    found.times.source =
        fmt::format("computing as {} recorded, {} steps", fmt::join(paths, ", "), first.steps);
    return found;
}

}  // namespace shardscope::cli
