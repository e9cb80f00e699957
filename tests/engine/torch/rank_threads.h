// Runs one function a rank, each rank a thread with a communicator over shared memory.
#pragma once

#include "engine/comm/direct_communicator.h"

#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace shardscope::test {

inline void runRanks(int ranks, const std::function<void(comm::Communicator&)>& body,
                     std::size_t segmentBytes = std::size_t{256} << 20) {
    auto segment = comm::Segment::anonymous(segmentBytes, ranks);
    if (!segment) throw std::runtime_error(segment.error().message);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            const auto communicator =
                comm::makeDirectCommunicator(*segment, rank, nullptr, "threads");
            body(*communicator);
            communicator->barrier({}).wait();  // peers may still read this rank's arena
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace shardscope::test
