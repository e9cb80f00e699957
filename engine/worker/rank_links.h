// How a rank comes to talk to the other ranks of its run, on its host and on others. Step thread.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/run/protocol/messages.h"
#include "storage/model/result.h"

#include <memory>

namespace shardscope::worker {

/// Each lives as long as those below it.
struct RankLinks {
    /// Of GPU ranks: those of this host, through its shared memory.
    std::unique_ptr<comm::Communicator> near;
    /// Of all ranks, for what they agree on beside training, where that is not another's business.
    std::unique_ptr<comm::Communicator> agreement;
    /// Of all ranks: gathers and reductions. Null on GPUs, which NCCL joins later.
    std::unique_ptr<comm::Communicator> training;

    void close() {
        training.reset();
        agreement.reset();
        near.reset();
    }
    [[nodiscard]] comm::Communicator& agreeing() const {
        if (agreement) return *agreement;
        return near ? *near : *training;
    }
};

/// Blocks until all ranks are there. `observer` is told of what CPU ranks gather and reduce. Errors
/// are of the segment; throws CommunicationError.
[[nodiscard]] Result<RankLinks> linkRanks(const run::RankStart& start, bool gpu,
                                          control::Observer& observer);

}  // namespace shardscope::worker
