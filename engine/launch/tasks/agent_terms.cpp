#include "engine/launch/tasks/agent_terms.h"

#include "engine/run/config/run_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace shardscope::launch {
namespace {

/// None of them names a file, a library or a program: NCCL_NET_PLUGIN and NCCL_DEBUG_FILE do.
constexpr std::array<std::string_view, 11> kVariables = {
    "CUDA_VISIBLE_DEVICES", "GLOO_SOCKET_IFNAME", "NCCL_ALGO",      "NCCL_DEBUG",
    "NCCL_IB_DISABLE",      "NCCL_P2P_DISABLE",   "NCCL_P2P_LEVEL", "NCCL_PROTO",
    "NCCL_SHM_DISABLE",     "NCCL_SOCKET_IFNAME", "OMP_NUM_THREADS"};

bool isAllowed(std::string_view variable) {
    return std::find(kVariables.begin(), kVariables.end(), variable) != kVariables.end();
}

tl::unexpected<Error> refuse(const std::string& what, const std::string& instead) {
    return failure(ErrorCode::kLaunch, fmt::format("a task's agent refuses {}: {}", what, instead));
}

/// The output is the recorder's own file.
bool isOfRanks(const run::RunOption& option) {
    using Text = run::OptionText;
    return option.text == Text::kFile || option.text == Text::kFolder ||
           option.text == Text::kFileOrFolder;
}

Result<void> checkPath(const run::TaskTerms& terms, const std::string& key,
                       const std::string& asked) {
    const auto own = terms.paths.find(key);
    if (own != terms.paths.end() && own->second == asked) return {};
    if (!terms.trouble.empty())
        return refuse(
            fmt::format("'{}' as {}", asked, key),
            fmt::format("its task's own command line gives no paths ({})", terms.trouble));
    return refuse(fmt::format("'{}' as {}", asked, key),
                  fmt::format("its task's own command line says '{}'; start all tasks with the "
                              "same arguments, in the same folder",
                              own == terms.paths.end() ? "" : own->second));
}

}  // namespace

std::map<std::string, std::string> pathsOf(const run::RunConfig& config) {
    std::map<std::string, std::string> paths;
    for (const run::RunOption& option : run::runOptions())
        if (isOfRanks(option)) paths[option.key] = std::get<std::string>(option.get(config));
    return paths;
}

Result<void> checkTerms(const run::TaskTerms& terms, const run::LaunchRequest& request) {
    if (!request.rankProgram.empty())
        return refuse(fmt::format("to run '{}'", request.rankProgram),
                      "it starts only the shardscope-rank of its own host");
    for (const auto& [name, value] : request.environment)
        if (!isAllowed(name))
            return refuse(fmt::format("the environment variable {}", name),
                          fmt::format("set it for the task itself; a recorder may set only {}",
                                      fmt::join(kVariables, ", ")));
    for (const auto& [key, path] : pathsOf(request.config))
        if (auto allowed = checkPath(terms, key, path); !allowed) return allowed;
    return {};
}

Result<void> checkTerms(const run::TaskTerms& terms, const run::DataRequest& request) {
    return checkPath(terms, "data", request.path);
}

}  // namespace shardscope::launch
