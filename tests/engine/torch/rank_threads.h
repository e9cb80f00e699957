// Runs one function a rank, each rank a thread with a communicator.
#pragma once

#include "engine/comm/direct_communicator.h"
#include "engine/comm/gloo/gloo_communicator.h"
#include "engine/comm/nccl/nccl_communicator.h"
#include "engine/comm/reduce.h"
#include "tests/engine/comm/host_ranks.h"
#include "tests/engine/torch/fake_device.h"
#include "tests/engine/torch/fake_nccl.h"

#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace shardscope::test {

using RankBody = std::function<void(comm::Communicator&)>;

/// Over shared memory.
inline void runRanks(int ranks, const RankBody& body,
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

inline float elementOf(const void* in, DataType dtype, std::int64_t i) {
    if (dtype == DataType::kFloat32) return static_cast<const float*>(in)[i];
    const std::uint16_t half = static_cast<const std::uint16_t*>(in)[i];
    return dtype == DataType::kBFloat16 ? comm::BFloat16::widen(half) : comm::Float16::widen(half);
}

/// Over Gloo's ring on the loopback interface.
inline void runGlooRanks(int ranks, const RankBody& body) {
    auto segment = comm::Segment::anonymous(std::size_t{1} << 20, ranks);
    if (!segment) throw std::runtime_error(segment.error().message);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            const auto host = comm::makeDirectCommunicator(*segment, rank, nullptr, "threads");
            const auto communicator = comm::makeGlooCommunicator({.host = host.get()});
            body(*communicator);
            communicator->barrier({}).wait();
        });
    }
    for (std::thread& thread : threads) thread.join();
}

/// On hosts with so many ranks each.
inline void runHostRanks(const std::vector<int>& perHost, const RankBody& body) {
    const HostRanks hosts(perHost);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < hosts.size(); ++rank) {
        threads.emplace_back([&, rank] {
            const auto communicator = hosts.join(rank);
            body(*communicator);
            communicator->barrier({}).wait();
        });
    }
    for (std::thread& thread : threads) thread.join();
}

/// The kernel's arithmetic, in the order of the stream.
inline void accumulateOnFake(const void* in, DataType dtype, float* out, std::int64_t n, bool add,
                             void* stream) {
    FakeDevice::queue(stream, [=] {
        for (std::int64_t i = 0; i < n; ++i) {
            const float value = elementOf(in, dtype, i);
            out[i] = add ? out[i] + value : value;
        }
    });
}

/// Setup of one rank of `ranks` on a device of its own.
inline comm::NcclSetup fakeSetup(FakeDevice& device, control::DeviceClock& clock,
                                 const comm::NcclUniqueId& id, int rank, int ranks) {
    comm::NcclSetup setup;
    setup.api = &fakeNccl();
    setup.runtime = &device;
    setup.clock = &clock;
    setup.device = at::kCPU;
    setup.rank = rank;
    setup.size = ranks;
    setup.id = id;
    setup.accumulate = &accumulateOnFake;
    return setup;
}

/// Over NCCL's communicator with the fake NCCL; `change` may alter a rank's setup.
inline void runNcclRanks(int ranks, const RankBody& body,
                         const std::function<void(comm::NcclSetup&)>& change = {}) {
    comm::NcclUniqueId id;
    fakeNccl().uniqueId(&id);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            FakeDevice device;
            control::DeviceClock clock(device);
            comm::NcclSetup setup = fakeSetup(device, clock, id, rank, ranks);
            if (change) change(setup);
            const auto communicator = comm::makeNcclCommunicator(std::move(setup));
            body(*communicator);
        });
    }
    for (std::thread& thread : threads) thread.join();
}

/// How ranks talk in a parametrised test.
struct RankSet {
    bool nccl = false;
    int ranks = 1;
    bool gloo = false;
    std::vector<int> perHost = {};  ///< on several hosts
    [[nodiscard]] std::string name() const {
        if (!perHost.empty()) {
            std::string name = "Hosts";
            for (const int each : perHost) name += "_" + std::to_string(each);
            return name;
        }
        return (nccl ? "Nccl" : (gloo ? "Gloo" : "SharedMemory")) + std::to_string(ranks);
    }
    void run(const RankBody& body) const {
        if (!perHost.empty()) return runHostRanks(perHost, body);
        if (gloo) return runGlooRanks(ranks, body);
        nccl ? runNcclRanks(ranks, body) : runRanks(ranks, body);
    }
};

inline std::vector<RankSet> rankSets(const std::vector<int>& counts) {
    std::vector<RankSet> sets;
    for (const bool nccl : {false, true}) {
        for (const int ranks : counts) sets.push_back({nccl, ranks});
    }
    for (const int ranks : counts) {
        if (comm::hasGloo()) sets.push_back({false, ranks, true});
    }
    return sets;
}

inline std::vector<RankSet> hostSets(const std::vector<std::vector<int>>& all) {
    std::vector<RankSet> sets;
    for (const std::vector<int>& perHost : all) {
        const int ranks = std::accumulate(perHost.begin(), perHost.end(), 0);
        if (comm::hasGloo()) sets.push_back({false, ranks, true, perHost});
    }
    return sets;
}

}  // namespace shardscope::test
