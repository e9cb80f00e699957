#include "app/cli/host_flags.h"

#include "engine/run/config/host_list.h"
#include "engine/run/config/run_option.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

/// Ranks of a host share a model, and hosts have copies of it.
Result<void> settleGroups(run::RunConfig& config) {
    if (config.strategy != run::Strategy::kHsdp || config.shardRanks != 0) return {};
    const run::RankPlaces places = run::placesOf(config);
    if (!places.even())
        return failure(ErrorCode::kUsage,
                       "hosts have different numbers of ranks; say with --shard-ranks how many "
                       "share a model");
    config.shardRanks = places.ranksOf(0);
    return {};
}

}  // namespace

Result<std::string> hostText(const std::string& fileOrList) {
    std::error_code ignored;
    const bool file =
        run::isHostFile(fileOrList) ||
        (!fileOrList.empty() && std::filesystem::is_regular_file(fileOrList, ignored));
    if (!file) return fileOrList;
    std::ifstream stream(fileOrList, std::ios::binary);
    std::ostringstream text;
    if (stream) text << stream.rdbuf();  // an empty file is one too
    if (!stream || stream.bad())
        return failure(ErrorCode::kUnreadable,
                       fmt::format("the host file {} cannot be read: {}; check its name",
                                   fileOrList, std::strerror(errno != 0 ? errno : EIO)));
    return text.str();
}

void HostFlags::addTo(CLI::App& app) {
    const char* group = toWord(run::OptionSection::kHosts);
    app.add_option("--include", m_include,
                   "of --hosts only these, and only these slots of them: a@b:0,2")
        ->type_name("HOSTS")
        ->group(group);
    app.add_option("--exclude", m_exclude, "of --hosts all but these, or these slots: a@b:1")
        ->type_name("HOSTS")
        ->group(group);
}

Result<void> HostFlags::choose(run::RunConfig& config) const {
    auto text = hostText(config.hosts);
    if (!text) return failure(text);
    auto hosts = run::parseHosts(*text);
    if (!hosts) return failure(hosts, "--hosts");
    if (hosts->empty() && !config.hosts.empty())
        return failure(ErrorCode::kUsage, fmt::format("--hosts {}: names no host", config.hosts));
    if (!m_include.empty()) {
        hosts = run::included(*hosts, m_include);
        if (!hosts) return failure(hosts, "--include");
    }
    if (!m_exclude.empty()) {
        hosts = run::excluded(*hosts, m_exclude);
        if (!hosts) return failure(hosts, "--exclude");
    }
    config.hosts = run::toText(*hosts);
    return {};
}

Result<void> HostFlags::settle(run::RunConfig& config, bool ranksGiven) const {
    if (config.hosts.empty() && !(m_include.empty() && m_exclude.empty()))
        return failure(ErrorCode::kUsage, "--include and --exclude choose among --hosts; add them");
    if (!config.hosts.empty()) {
        if (auto chosen = choose(config); !chosen) return chosen;
        if (!ranksGiven) config.ranks = run::slotsOf(run::hostsOf(config));
    }
    return settleGroups(config);
}

}  // namespace shardscope::cli
