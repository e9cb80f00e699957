// torch.distributed beside our own collectives: the same operations, sizes and ranks on this host,
// over Gloo, by a Python that has PyTorch where there is one.
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/result.h"
#include "storage/model/units.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::cli {

/// "torch_ranks-2_1.json" in the folder of the recordings.
[[nodiscard]] std::string peerPath(const std::string& folder, std::int32_t ranks,
                                   std::int32_t repetition);

/// Whether it could do what this measuring run does: CPU ranks of this host, no modelled link.
[[nodiscard]] bool hasPeer(const run::RunConfig& config);

/// Measures, and writes `path`; what lies there is used again. SHARDSCOPE_PYTHON names the Python,
/// else it is python3. From the main thread, with an InterruptGuard alive. kInterrupted; kFailure
/// with a phrase that says why there is none.
Result<void> measurePeer(const run::RunConfig& config, const std::string& path);

struct PeerTimes {
    std::string version;  ///< of PyTorch
    /// By operation's word and bytes: nanoseconds of the rounds.
    std::map<std::pair<std::string, std::int64_t>, std::vector<double>> rounds;
};
/// kUnreadable: it is not there, or damaged.
[[nodiscard]] Result<PeerTimes> readPeer(const std::string& path);

}  // namespace shardscope::cli
