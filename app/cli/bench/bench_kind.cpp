#include "app/cli/bench/bench_kind.h"

#include "engine/run/config/run_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace shardscope::cli {
namespace {

const PlannedRun* findAlike(const std::vector<PlannedRun>& runs, const PlannedRun& run) {
    const auto found = std::find_if(runs.begin(), runs.end(), [&](const PlannedRun& each) {
        return each.group == run.group && each.config == run.config;
    });
    return found == runs.end() ? nullptr : &*found;
}

/// In a few words; empty: the setting means something in such a run.
std::string_view whyNoSetting(const run::RunConfig& config, std::string_view key) {
    return run::whyNot(config, key == kModelKey ? "model.layers" : key);
}

/// The settings that distinguish runs; the first one at least.
Settings distinguishing(const Settings& point, const std::set<std::string>& varying,
                        const run::RunConfig& config) {
    Settings named;
    for (const Setting& setting : point) {
        const bool applies = whyNoSetting(config, setting.key).empty();
        if (applies && (varying.contains(setting.key) || named.empty())) named.push_back(setting);
    }
    return named;
}

}  // namespace

Result<void> eachChangesSomething(const BenchRequest& request,
                                  const std::vector<PlannedRun>& runs) {
    for (const auto& [key, values] : request.given) {
        const auto applies = [&key = key](const PlannedRun& run) {
            return whyNoSetting(run.config, key).empty();
        };
        if (runs.empty() || std::any_of(runs.begin(), runs.end(), applies)) continue;
        return failure(ErrorCode::kUsage,
                       fmt::format("{} changes none of the runs ({}); leave it out", flagOf(key),
                                   whyNoSetting(runs.front().config, key)));
    }
    return {};
}

std::vector<std::string> BenchRequest::valuesOf(const std::string& key,
                                                const std::vector<std::string>& standard) const {
    const auto found = given.find(key);
    return found == given.end() ? standard : found->second;
}

Result<std::vector<PlannedRun>> BenchRequest::runs(const std::vector<SettingsAxis>& axes,
                                                   CaptureLevel capture,
                                                   const std::string& group) const {
    std::vector<SettingsAxis> all = axes;
    for (SettingsAxis& axis : all) axis.values = valuesOf(axis.key, axis.values);
    Settings fixed;
    for (const auto& [key, values] : given) {
        const auto same = [&key = key](const SettingsAxis& axis) { return axis.key == key; };
        if (std::any_of(all.begin(), all.end(), same)) continue;
        if (values.size() == 1)
            fixed.push_back({key, values.front()});
        else
            all.push_back({key, values});
    }
    std::set<std::string> varying;
    for (const SettingsAxis& axis : all)
        if (axis.values.size() > 1) varying.insert(axis.key);
    std::vector<PlannedRun> runs;
    for (const Settings& point : gridOf(all)) {
        PlannedRun run{{}, group, start, {}};
        Settings settings = fixed;
        settings.insert(settings.end(), point.begin(), point.end());
        if (auto done = applySettings(settings, run.config); !done) return failure(done);
        run.config.capture = capture;
        run.config.steps = warmUp + steps;
        run.config = run::settled(run.config, start);
        if (const auto valid = run::validate(run.config); !valid)
            run.impossible = valid.error().message;
        run.name = nameOf(distinguishing(point, varying, run.config));
        if (!group.empty()) run.name = group + '_' + run.name;
        if (findAlike(runs, run) == nullptr) runs.push_back(std::move(run));
    }
    if (auto useful = eachChangesSomething(*this, runs); !useful) return failure(useful);
    return runs;
}

void addRuns(std::vector<PlannedRun> more, std::vector<PlannedRun>& runs) {
    for (PlannedRun& run : more)
        if (findAlike(runs, run) == nullptr) runs.push_back(std::move(run));
}

}  // namespace shardscope::cli
