#include "engine/worker/nccl_start.h"

#include "engine/comm/direct_communicator.h"
#include "engine/comm/nccl/nccl_communicator.h"
#include "profiler/capture/capture_session.h"
#include "profiler/capture/device_annotation.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

namespace shardscope::worker {
namespace {

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
