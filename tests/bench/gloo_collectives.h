// Gloo's own collectives, as PyTorch calls them, to measure against.
#pragma once

#include "engine/comm/communicator.h"

#include <cstddef>
#include <memory>

namespace shardscope::bench {

/// fp32 rows; each call blocks until its result is there.
class GlooCollectives {
public:
    /// Joins the ranks of `host`. Throws when built without Gloo.
    explicit GlooCollectives(comm::Communicator& host);
    ~GlooCollectives();

    void allGather(float* shard, std::size_t n, float* out);
    void reduceScatter(float* full, std::size_t count, float* out);
    void allReduce(float* row, std::size_t count);
    void broadcast(float* row, std::size_t count);
    void allToAll(float* row, std::size_t count, float* out);

private:
    struct Group;
    std::unique_ptr<Group> m_group;
};

}  // namespace shardscope::bench
