#include "engine/worker/rank_links.h"

#include "engine/comm/direct_communicator.h"
#include "engine/comm/gloo/gloo_communicator.h"
#include "engine/comm/host_ring_communicator.h"
#include "engine/comm/modelled_communicator.h"
#include "engine/comm/nccl/nccl_communicator.h"
#include "engine/comm/ring_communicator.h"
#include "profiler/capture/capture_session.h"
#include "profiler/capture/device_annotation.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

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
    control::Observer* reportTo = models ? nullptr : &observer;
    if (config.transport == run::Transport::kGloo) {
        links.agreement = overMemory(start, std::move(segment), nullptr);
        links.training = comm::makeGlooCommunicator({.host = links.agreement.get(),
                                                     .interface = config.interface,
                                                     .observer = reportTo,
                                                     .memory = &observer,
                                                     .timeout = timeoutOf(start),
                                                     .encrypt = config.encrypt});
    } else {
        links.training = overMemory(start, std::move(segment), reportTo);
    }
    if (models) links.training = modelled(config, std::move(links.training), observer);
    return links;
}

comm::GlooSetup meetingOf(const run::RankStart& start) {
    const run::MeetingPoint& at = start.meeting;
    const auto key = network::keyFromHex(at.key);
    if (!key) throw comm::CommunicationError("the agent sent no key for this rank's connections");
    return {.interface = start.address,
            .world = comm::WorldMeeting{start.rank, start.worldSize(), at.address, at.port,
                                        start.meetingFd, *key},
            .timeout = timeoutOf(start),
            .encrypt = start.config.encrypt};
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

/// Rank 0's to give.
comm::NcclUniqueId agreeOnId(comm::Communicator& ranks, const comm::NcclApi& api) {
    const comm::SymmetricBuffer shared =
        ranks.allocate(sizeof(comm::NcclUniqueId), DataType::kByte);
    comm::NcclUniqueId id{};
    if (ranks.rank() == 0) {
        if (const int result = api.uniqueId(&id); result != comm::kNcclSuccess) {
            throw comm::CommunicationError(
                fmt::format("NCCL gives no id: {}", api.errorText(result)));
        }
        std::memcpy(shared.local, id.data(), id.size());
    }
    ranks.broadcast(shared, 0, {Cause::kStart}).wait();
    std::memcpy(id.data(), shared.local, id.size());
    return id;
}

/// Where each rank of this host writes down what it asks of NCCL, for the others to compare.
std::vector<comm::CallRecord*> callRecords(const RankLinks& links) {
    comm::Communicator& near = *links.near;
    const comm::SymmetricBuffer calls = near.allocate(sizeof(comm::CallRecord), DataType::kByte);
    std::vector<comm::CallRecord*> records(static_cast<std::size_t>(links.agreeing().size()));
    auto next = records.begin() + links.agreeing().rank() - near.rank();
    for (std::byte* record : comm::everyRanks(near, calls))
        *next++ = reinterpret_cast<comm::CallRecord*>(record);
    return records;
}

/// For NCCL's profiler whose call it is, for the tracer what its kernels belong to: those of NCCL
/// and the one that adds what was received.
void annotate(const control::CollectiveReport* whose) {
    if (whose == nullptr) {
        capture::popLaunchContext();
        capture::threadCollective() = {};
        return;
    }
    capture::threadCollective() = {whose->group, whose->sequence, whose->captured != 0};
    const capture::Context& context = capture::threadContext();
    const StepIndex step{whose->step};
    capture::pushLaunchContext({step == kNoStep ? context.step : step,
                                whose->layer == kNoLayer ? context.layer : whose->layer,
                                context.phase, context.operatorName});
}

}  // namespace

Result<RankLinks> linkRanks(const run::RankStart& start, bool gpu, control::Observer& observer) {
    auto segment = comm::Segment::map(start.segmentFd, static_cast<std::size_t>(start.segmentBytes),
                                      start.localSize());
    if (!segment) return failure(segment);
    const auto link = start.meeting.port == 0 ? &onOneHost : &onSeveralHosts;
    return link(start, std::move(*segment), gpu, observer);
}

std::unique_ptr<comm::Communicator> startNccl(const RankLinks& links, const NcclParts& parts,
                                              std::chrono::seconds timeout,
                                              std::function<void(const std::string&)> failed) {
    const CudaModule& module = parts.device.module();
    comm::NcclSetup setup;
    setup.id = agreeOnId(links.agreeing(), *module.nccl);
    setup.calls = callRecords(links);
    setup.api = module.nccl;
    setup.runtime = &parts.runtime;
    setup.clock = &parts.clock;
    setup.device = parts.device.tensors();
    setup.rank = links.agreeing().rank();
    setup.size = links.agreeing().size();
    setup.observer = &parts.observer;
    setup.accumulate = module.kernels->accumulate;
    setup.annotate = &annotate;
    setup.timeout = timeout;
    setup.failed = std::move(failed);
    return comm::makeNcclCommunicator(std::move(setup));
}

}  // namespace shardscope::worker
