// Ranks of several hosts as threads of one process: a segment for each host, and Gloo on loopback
// between them.
#pragma once

#include "engine/comm/gloo/gloo_communicator.h"
#include "engine/comm/host_ring_communicator.h"
#include "engine/comm/ring_communicator.h"
#include "engine/network/network_interface.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace shardscope::test {

class HostRanks {
public:
    static constexpr std::size_t kSegmentBytes = std::size_t{256} << 20;

    explicit HostRanks(std::vector<int> perHost, std::size_t segmentBytes = kSegmentBytes)
        : m_perHost(std::move(perHost)), m_listener(*network::listenOn("127.0.0.1")) {
        for (const int ranks : m_perHost) {
            auto segment = comm::Segment::anonymous(segmentBytes, ranks);
            if (!segment) throw std::runtime_error(segment.error().message);
            m_segments.push_back(*segment);
        }
    }

    [[nodiscard]] int size() const {
        return std::accumulate(m_perHost.begin(), m_perHost.end(), 0);
    }
    [[nodiscard]] bool even() const {
        return std::all_of(m_perHost.begin(), m_perHost.end(),
                           [&](int ranks) { return ranks == m_perHost[0]; });
    }

    /// All ranks, each on a thread of its own. `setup` is of rank `rank`.
    [[nodiscard]] std::unique_ptr<comm::Communicator> join(int rank,
                                                           comm::HostRingSetup setup = {}) const {
        setup.mesh = mesh(rank, setup.timeout);
        setup.protocol = comm::kGlooProtocol;
        setup.segment = m_segments[hostOf(rank)];
        if (even()) return comm::makeHostRingCommunicator(setup);
        return comm::makeRingCommunicator(
            {setup.mesh, setup.observer, setup.memory, setup.protocol, setup.timeout, false});
    }
    /// Messages between hosts from now on.
    void encrypt() { m_encrypt = true; }
    /// The connections alone.
    [[nodiscard]] std::shared_ptr<comm::Mesh> mesh(int rank,
                                                   std::chrono::milliseconds timeout) const {
        const int fd = rank == 0 ? m_listener.fd : -1;
        return comm::makeGlooMesh(
            {.world = comm::WorldMeeting{rank, size(), "127.0.0.1", m_listener.port, fd},
             .timeout = timeout,
             .encrypt = m_encrypt});
    }
    [[nodiscard]] std::size_t hostOf(int rank) const {
        std::size_t host = 0;
        for (int end = m_perHost[0]; rank >= end; end += m_perHost[host]) ++host;
        return host;
    }

private:
    const std::vector<int> m_perHost;
    bool m_encrypt = false;
    const network::Listener m_listener;  ///< rank 0 closes it
    std::vector<std::shared_ptr<comm::Segment>> m_segments;
};

}  // namespace shardscope::test
