#include "engine/launch/tasks/agent_terms.h"

#include "engine/run/config/run_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace shardscope::launch {
namespace {

/// None of them names a file, a library or a program: NCCL_NET_PLUGIN and NCCL_DEBUG_FILE do.
constexpr std::array<std::string_view, 11> kVariables = {
    "CUDA_VISIBLE_DEVICES", "GLOO_SOCKET_IFNAME", "NCCL_ALGO",      "NCCL_DEBUG",
    "NCCL_IB_DISABLE",      "NCCL_P2P_DISABLE",   "NCCL_P2P_LEVEL", "NCCL_PROTO",
    "NCCL_SHM_DISABLE",     "NCCL_SOCKET_IFNAME", "OMP_NUM_THREADS"};

/// Follow from where the tasks are, which a task does not know by itself; the output is written by
/// rank 0's alone.
constexpr std::array<std::string_view, 5> kOfTheMeeting = {"hosts", "output", "ranks",
                                                           "shard_ranks", "threads"};

bool holds(const auto& list, std::string_view text) {
    return std::find(list.begin(), list.end(), text) != list.end();
}

tl::unexpected<Error> refuse(const std::string& what, const std::string& instead) {
    return failure(ErrorCode::kLaunch, fmt::format("a task's agent refuses {}: {}", what, instead));
}

std::string textOf(const run::OptionValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return "'" + *text + "'";
    return std::visit([](const auto& each) { return fmt::format("{}", each); }, value);
}

tl::unexpected<Error> unlike(const run::TaskTerms& terms, const std::string& what,
                             const std::string& own) {
    if (!terms.trouble.empty())
        return refuse(
            what, fmt::format("its task's own command line asks for no run ({})", terms.trouble));
    return refuse(what, fmt::format("its task's own command line says {}; start all tasks with the "
                                    "same arguments, in the same folder",
                                    own));
}

Result<void> checkOptions(const run::TaskTerms& terms, const run::RunConfig& asked) {
    for (const run::RunOption& option : run::runOptions()) {
        if (holds(kOfTheMeeting, option.key)) continue;
        if (terms.trouble.empty() && option.isSame(asked, terms.config)) continue;
        return unlike(terms, fmt::format("{} as {}", textOf(option.get(asked)), option.key),
                      textOf(option.get(terms.config)));
    }
    return {};
}

/// As many as the command line says, wherever they are; rank 0 and its host are not this task's.
Result<void> checkRanks(const run::TaskTerms& terms, const run::LaunchRequest& request) {
    std::int64_t ranks = 0;
    bool sound = request.host > 0 && request.host < request.places.hosts();
    for (const std::int32_t each : request.places.perHost) {
        sound = sound && each > 0;
        ranks += each;
    }
    if (sound && ranks == terms.config.ranks) return {};
    return unlike(terms, fmt::format("{} ranks on {} hosts", ranks, request.places.perHost.size()),
                  fmt::format("{} ranks", terms.config.ranks));
}

/// Of a rank; 0: by the agent itself.
Result<void> checkThreads(const run::TaskTerms& terms, std::int32_t asked) {
    if (asked == 0 || asked == terms.config.threads) return {};
    return unlike(terms, fmt::format("{} threads", asked), fmt::format("{}", terms.config.threads));
}

}  // namespace

Result<void> checkTerms(const run::TaskTerms& terms, const run::LaunchRequest& request) {
    if (!request.rankProgram.empty())
        return refuse(fmt::format("to run '{}'", request.rankProgram),
                      "it starts only the shardscope-rank of its own host");
    for (const auto& [name, value] : request.environment)
        if (!holds(kVariables, name))
            return refuse(fmt::format("the environment variable {}", name),
                          fmt::format("set it for the task itself; a recorder may set only {}",
                                      fmt::join(kVariables, ", ")));
    if (auto same = checkOptions(terms, request.config); !same) return same;
    if (auto same = checkThreads(terms, request.config.threads); !same) return same;
    return checkRanks(terms, request);
}

Result<void> checkTerms(const run::TaskTerms& terms, const run::DataRequest& request) {
    if (terms.trouble.empty() && request.path == terms.config.data) return {};
    return unlike(terms, fmt::format("'{}' as data", request.path),
                  fmt::format("'{}'", terms.config.data));
}

Result<void> checkTerms(const run::TaskTerms& terms, const run::PeersRequest& request) {
    if (static_cast<std::int64_t>(request.peers.size()) < terms.config.ranks) return {};
    return refuse(fmt::format("to look for {} hosts", request.peers.size()),
                  fmt::format("the run has {} ranks", terms.config.ranks));
}

}  // namespace shardscope::launch
