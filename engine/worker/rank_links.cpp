#include "engine/worker/rank_links.h"

#include "engine/comm/direct_communicator.h"
#include "engine/comm/gloo/gloo_communicator.h"
#include "engine/comm/host_ring_communicator.h"
#include "engine/comm/modelled_communicator.h"
#include "engine/comm/ring_communicator.h"

#include <chrono>
#include <utility>

namespace shardscope::worker {
namespace {

using SegmentPointer = std::shared_ptr<comm::Segment>;
using CommunicatorPointer = std::unique_ptr<comm::Communicator>;

std::chrono::seconds timeoutOf(const run::RankStart& start) {
    return std::chrono::seconds(start.config.collectiveTimeout);
}

CommunicatorPointer overMemory(const run::RankStart& start, SegmentPointer segment,
                               control::Observer* observer) {
    return comm::makeDirectCommunicator(std::move(segment), start.localRank(), observer,
                                        "shared memory", timeoutOf(start));
}

CommunicatorPointer modelled(const run::RunConfig& config, CommunicatorPointer inner,
                             control::Observer& observer) {
    constexpr double kMicro = 1e-6, kGiga = 1e9;
    return comm::makeModelledCommunicator(
        std::move(inner),
        {config.linkLatencyMicroseconds * kMicro, config.linkGigabytesPerSecond * kGiga},
        &observer);
}

RankLinks onOneHost(const run::RankStart& start, SegmentPointer segment, bool gpu,
                    control::Observer& observer) {
    const run::RunConfig& config = start.config;
    RankLinks links;
    if (gpu) {
        links.near = overMemory(start, std::move(segment), nullptr);
        return links;
    }
    const bool models = config.linkGigabytesPerSecond > 0;
    control::Observer* told = models ? nullptr : &observer;
    if (config.transport == run::Transport::kGloo) {
        links.agreement = overMemory(start, std::move(segment), nullptr);
        links.training = comm::makeGlooCommunicator({.host = links.agreement.get(),
                                                     .interface = config.interface,
                                                     .observer = told,
                                                     .memory = &observer,
                                                     .timeout = timeoutOf(start)});
    } else {
        links.training = overMemory(start, std::move(segment), told);
    }
    if (models) links.training = modelled(config, std::move(links.training), observer);
    return links;
}

comm::GlooSetup meetingOf(const run::RankStart& start) {
    const run::MeetingPoint& at = start.meeting;
    return {.interface = start.address,
            .world = comm::WorldMeeting{start.rank, start.worldSize(), at.address, at.port,
                                        start.meetingFd},
            .timeout = timeoutOf(start)};
}

/// Hosts of one rank each are a ring by themselves.
bool hasRails(const run::RankStart& start) {
    return start.config.transport != run::Transport::kGloo && start.places.even() &&
           start.localSize() > 1;
}

RankLinks onSeveralHosts(const run::RankStart& start, SegmentPointer segment, bool gpu,
                         control::Observer& observer) {
    comm::GlooSetup setup = meetingOf(start);
    RankLinks links;
    if (gpu) {
        links.near = overMemory(start, std::move(segment), nullptr);
        links.agreement = comm::makeGlooCommunicator(setup);
        return links;
    }
    setup.observer = setup.memory = &observer;
    if (!hasRails(start)) {
        links.training = comm::makeGlooCommunicator(setup);
        return links;
    }
    links.training =
        comm::makeHostRingCommunicator({std::move(segment), comm::makeGlooMesh(setup), &observer,
                                        &observer, "shared memory, TCP (Gloo)", timeoutOf(start)});
    return links;
}

}  // namespace

Result<RankLinks> linkRanks(const run::RankStart& start, bool gpu, control::Observer& observer) {
    auto segment = comm::Segment::map(start.segmentFd, static_cast<std::size_t>(start.segmentBytes),
                                      start.localSize());
    if (!segment) return failure(segment);
    const auto link = start.meeting.port == 0 ? &onOneHost : &onSeveralHosts;
    return link(start, std::move(*segment), gpu, observer);
}

}  // namespace shardscope::worker
