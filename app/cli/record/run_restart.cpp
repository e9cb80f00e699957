#include "app/cli/record/record_modes.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/run/config/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <vector>

namespace shardscope::cli {
namespace {

namespace fs = std::filesystem;

/// One that is not there yet.
std::string nextOutput(const std::string& output) {
    const fs::path path(output);
    std::string stem = path.stem().string();
    if (const auto again = stem.rfind("-restart"); again != std::string::npos) stem.resize(again);
    std::error_code ignored;
    fs::path next;
    for (int number = 1; next.empty() || fs::exists(next, ignored); ++number)
        next = path.parent_path() /
               fmt::format("{}-restart{}{}", stem, number, path.extension().string());
    return next.string();
}

/// With the newest checkpoint, or without any where none was written yet.
void goOn(run::RunConfig& config) {
    const auto newest = checkpoint::Checkpoint::open(config.checkpoint);
    if (!newest) return;
    config.resume = newest->path();
    config.weights.clear();
}

std::int32_t ranksLeft(const run::RunConfig& config, const std::vector<run::HostConfig>& hosts,
                       std::int32_t lost) {
    const bool slotsSaid =
        std::all_of(hosts.begin(), hosts.end(), [](const auto& host) { return host.slots > 0; });
    if (slotsSaid) return std::min(config.ranks, run::slotsOf(hosts));
    return config.ranks - run::placesOf(config).ranksOf(lost);
}

}  // namespace

Result<run::RunConfig> withoutHost(const run::RunConfig& config, std::int32_t lostHost) {
    std::vector<run::HostConfig> hosts = run::hostsOf(config);
    const std::string name = hosts[static_cast<std::size_t>(lostHost)].name;
    run::RunConfig next = config;
    hosts.erase(hosts.begin() + lostHost);
    next.ranks = hosts.empty() ? 0 : ranksLeft(config, hosts, lostHost);
    if (next.ranks == 0)
        return failure(ErrorCode::kLaunch,
                       fmt::format("without {} there is no host to go on with", name));
    next.hosts = run::toText(hosts);
    next.output = nextOutput(config.output);
    goOn(next);
    if (auto valid = run::validate(next); !valid)
        return failure(valid, fmt::format("the run cannot go on without {}", name));
    return next;
}

std::string restartText(const run::RunConfig& before, const run::RunConfig& after,
                        std::int32_t lostHost) {
    const std::string from = after.resume.empty() || after.resume == before.resume
                                 ? "from where this run began, since it had written no checkpoint"
                                 : "from " + after.resume;
    const char* fewer =
        after.ranks < before.ranks ? " (each step has so many fewer sequences)" : "";
    return fmt::format("{} was lost: the run goes on without it, on {} of {} ranks{}, {}, into {}",
                       run::hostsOf(before)[static_cast<std::size_t>(lostHost)].name, after.ranks,
                       before.ranks, fewer, from, after.output);
}

}  // namespace shardscope::cli
