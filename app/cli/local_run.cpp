#include "app/cli/local_run.h"

#include "engine/launch/processor_level.h"
#include "engine/launch/usable_cores.h"
#include "engine/run/theory/theory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace shardscope::cli {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;
/// The segment is sparse, so that what is not used costs nothing: weights, gradients and
/// staging of every rank many times over.
constexpr std::int64_t kSegmentBytesPerParameter = 64;

}  // namespace

std::string rankProgram() {
    if (const char* named = std::getenv("SHARDSCOPE_RANK_PROGRAM")) return named;
    return (std::filesystem::path(launch::ownProgram()).parent_path() / "shardscope-rank").string();
}

void settleThreads(run::RunConfig& config) {
    if (config.threads == 0) config.threads = launch::threadsPerRank(config.ranks);
}

Result<launch::RunRequest> localRun(const run::RunConfig& config, std::int64_t originNs) {
    launch::RunRequest request;
    request.launch.rankProgram = rankProgram();
    if (::access(request.launch.rankProgram.c_str(), X_OK) != 0) {
        return failure(ErrorCode::kLaunch,
                       fmt::format("there is no training engine at {}; run "
                                   "packaging/fetch-libtorch, configure and build again",
                                   request.launch.rankProgram));
    }
    if (auto possible = launch::checkProcessor(); !possible) return failure(possible);
    request.launch.config = config;
    request.launch.originNs = originNs;
    request.launch.segmentBytes =
        64 * kMebibyte +
        config.ranks *
            (kSegmentBytesPerParameter * theory::parameterCount(config.model) + 64 * kMebibyte);
    request.agentProgram = launch::ownProgram();
    request.agentArguments = {"agent", "--local"};
    return request;
}

}  // namespace shardscope::cli
