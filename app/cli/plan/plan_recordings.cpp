#include "app/cli/plan/plan_recordings.h"

#include "app/cli/open_recording.h"
#include "profiler/questions/question.h"
#include "storage/model/host_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardscope::cli {
namespace {

Result<planning::PlanTimes> readOne(const std::string& path) {
    auto opened = openAnyRecording({path, ""});
    if (!opened) return failure(opened);
    const auto summary = (*opened)->summary();
    if (!summary) return failure(summary);
    const questions::Selection all;
    const auto ranks = questions::Asked{**opened, *summary, all}.events();
    if (!ranks) return failure(ranks);
    auto times = planning::timesOfRecording(*summary, *ranks, path);
    if (!times)
        return failure(times.error().code,
                       fmt::format("--from {}: {}", path, times.error().message));
    return times;
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
    planning::PlanTimes& all = found.times;
    for (const std::string& path : paths) {
        auto read = readOne(path);
        if (!read) return failure(read);
        if (all.computing.empty()) {
            found.config = bare(read->computing.front().config);
            all = std::move(*read);
            continue;
        }
        all.ranksOnHost = std::max(all.ranksOnHost, read->ranksOnHost);
        all.computing.push_back(std::move(read->computing.front()));
        if (!all.link) all.link = std::move(read->link);
        all.source += "; " + read->source;
    }
    return found;
}

}  // namespace shardscope::cli
