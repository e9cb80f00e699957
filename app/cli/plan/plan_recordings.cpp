#include "app/cli/plan/plan_recordings.h"

#include "app/cli/open_recording.h"
#include "engine/run/config/run_config.h"
#include "engine/run/config/run_rules.h"
#include "profiler/questions/question.h"
#include "storage/model/host_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardscope::cli {
namespace {

struct OneRecording {
    run::RunConfig config;
    Result<planning::PlanTimes> times;
};

Result<OneRecording> readOne(const std::string& path) {
    auto opened = openAnyRecording({path, ""});
    if (!opened) return failure(opened);
    const auto summary = (*opened)->summary();
    if (!summary) return failure(summary);
    const questions::Selection all;
    const auto ranks = questions::Asked{**opened, *summary, all}.events();
    if (!ranks) return failure(ranks);
    auto times = planning::timesOfRecording(*summary, *ranks, path);
    if (!times)
        times =
            failure(times.error().code, fmt::format("--from {}: {}", path, times.error().message));
    auto config = run::parseRunConfigJson(summary->run.configJson);
    // What has no shape says nothing of memory either.
    if (!config || config->work != run::Work::kTraining) return failure(times);
    return OneRecording{std::move(*config), std::move(times)};
}

/// What is about the run that was and not about the one that is planned.
run::RunConfig bare(run::RunConfig config) {
    config.hosts = config.output = config.resume = config.checkpoint = config.weights = {};
    config.restart = 0;
    config.sendData = config.deployLibTorch = false;
    config.linkGigabytesPerSecond = config.linkLatencyMicroseconds = 0;
    // And what depends on it: checkpoints without their folder, data of hosts.
    return run::settled(std::move(config), run::RunConfig{});
}

}  // namespace

Result<PlanRecordings> readPlanRecordings(const std::vector<std::string>& paths) {
    PlanRecordings found;
    for (const std::string& path : paths) {
        auto read = readOne(path);
        if (!read) return failure(read);
        if (&path == &paths.front()) found.config = bare(read->config);
        if (!read->times) {
            found.untimed.push_back(read->times.error().message);
            continue;
        }
        planning::PlanTimes& times = *read->times;
        if (!found.times) {
            found.times = std::move(times);
            continue;
        }
        planning::PlanTimes& all = *found.times;
        all.ranksOnHost = std::max(all.ranksOnHost, times.ranksOnHost);
        all.computing.push_back(std::move(times.computing.front()));
        if (!all.link) all.link = std::move(times.link);
        all.source += "; " + times.source;
        if (!times.doubt.empty()) all.doubt += (all.doubt.empty() ? "" : "; ") + times.doubt;
    }
    return found;
}

}  // namespace shardscope::cli
