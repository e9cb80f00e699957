// A rank made of the parts of shardscope-rank, with a fault that a program can have and that cannot
// be put into one from outside. For tests/bench/fault_runs and tests/recovery/hangs.
//
//   SHARDSCOPE_FAULT=late-gather:LAYER:FIRST-LAST   a layer is gathered when it is needed, not
//                                                   before, in these steps
//   SHARDSCOPE_FAULT=leak:BYTES                     a tensor of each step is never freed
//   SHARDSCOPE_FAULT=sleep:RANK:STEP                the step thread sleeps for good
//   SHARDSCOPE_FAULT=spin:RANK:STEP                 it computes for good
#include "engine/comm/communicator.h"
#include "engine/worker/command_reader.h"
#include "engine/worker/rank_worker.h"

#include <ATen/ops/empty.h>
#include <poll.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope {
namespace {

struct Fault {
    LayerIndex lateLayer = kNoLayer;
    std::int32_t first = 0, last = -1;  ///< steps
    long long leaked = 0;               ///< bytes of each step
    int hangs = -1;                     ///< this rank, from step `first` on
    bool spins = false;                 ///< rather than sleeps
};

Fault requested() {
    const char* text = std::getenv("SHARDSCOPE_FAULT");
    Fault fault;
    if (text == nullptr) return fault;
    int layer = 0;
    if (std::sscanf(text, "late-gather:%d:%d-%d", &layer, &fault.first, &fault.last) == 3) {
        fault.lateLayer.value = static_cast<std::int16_t>(layer);
        return fault;
    }
    fault.spins = std::string_view(text).starts_with("spin:");
    if (std::sscanf(text, fault.spins ? "spin:%d:%d" : "sleep:%d:%d", &fault.hangs, &fault.first) ==
        2)
        return fault;
    if (std::sscanf(text, "leak:%lld", &fault.leaked) == 1) return fault;
    std::fprintf(stderr, "faulty_rank: SHARDSCOPE_FAULT is '%s'\n", text);
    std::exit(2);
}

/// Begun when it is waited for.
class Deferred : public comm::WorkState {
public:
    explicit Deferred(std::function<comm::Work()> begin) : m_begin(std::move(begin)) {}
    [[nodiscard]] bool ready() const override { return m_work.valid() && m_work.ready(); }
    void wait() override { begun().wait(); }
    const comm::Work& begun() {
        if (!m_work.valid()) m_work = m_begin();
        return m_work;
    }

private:
    std::function<comm::Work()> m_begin;
    comm::Work m_work;
};

class FaultyCommunicator : public comm::Communicator {
public:
    FaultyCommunicator(std::unique_ptr<comm::Communicator> inner, const Fault& fault)
        : m_inner(std::move(inner)), m_fault(fault) {}

    [[nodiscard]] int rank() const override { return m_inner->rank(); }
    [[nodiscard]] int size() const override { return m_inner->size(); }
    comm::SymmetricBuffer allocate(std::size_t count, DataType dtype) override {
        return m_inner->allocate(count, dtype);
    }
    comm::Work allGather(const comm::SymmetricBuffer& shard, void* out,
                         comm::CollectiveTag tag) override {
        return late(tag, [=, this] { return m_inner->allGather(shard, out, tag); });
    }
    comm::Work allGatherInPlace(const comm::SymmetricBuffer& whole,
                                comm::CollectiveTag tag) override {
        return m_inner->allGatherInPlace(whole, tag);
    }
    comm::Work reduceScatter(const comm::SymmetricBuffer& full, float* out,
                             comm::Accumulate accumulate, comm::CollectiveTag tag) override {
        leak(tag);
        return m_inner->reduceScatter(full, out, accumulate, tag);
    }
    comm::Work allReduce(const comm::SymmetricBuffer& buffer, comm::CollectiveTag tag) override {
        leak(tag);
        return m_inner->allReduce(buffer, tag);
    }
    comm::Work allReduceSmall(std::span<double> values, comm::Reduction reduction,
                              comm::CollectiveTag tag) override {
        leak(tag);
        return m_inner->allReduceSmall(values, reduction, tag);
    }
    comm::Work broadcast(const comm::SymmetricBuffer& buffer, int root,
                         comm::CollectiveTag tag) override {
        return m_inner->broadcast(buffer, root, tag);
    }
    comm::Work allToAll(const comm::SymmetricBuffer& send, void* out,
                        comm::CollectiveTag tag) override {
        return m_inner->allToAll(send, out, tag);
    }
    comm::Work send(const comm::SymmetricBuffer& buffer, int to, comm::CollectiveTag tag) override {
        return m_inner->send(buffer, to, tag);
    }
    comm::Work receive(const comm::SymmetricBuffer& buffer, int from,
                       comm::CollectiveTag tag) override {
        return m_inner->receive(buffer, from, tag);
    }
    comm::Work barrier(comm::CollectiveTag tag) override { return m_inner->barrier(tag); }
    void waitPeers(const comm::Work& work) override {
        auto* deferred = dynamic_cast<Deferred*>(&stateOf(work));
        m_inner->waitPeers(deferred != nullptr ? deferred->begun() : work);
    }
    std::unique_ptr<comm::Communicator> split(std::span<const int> members,
                                              std::uint32_t group) override {
        return m_inner->split(members, group);
    }
    void abort() override { m_inner->abort(); }

private:
    comm::Work late(const comm::CollectiveTag& tag, std::function<comm::Work()> begin) {
        leak(tag);
        const bool isLate = m_fault.lateLayer != kNoLayer && tag.layer == m_fault.lateLayer &&
                            m_fault.first <= tag.step && tag.step <= m_fault.last;
        return isLate ? comm::Work(std::make_shared<Deferred>(std::move(begin))) : begin();
    }
    void leak(const comm::CollectiveTag& tag) {
        if (m_fault.hangs == rank() && tag.step >= m_fault.first) hang();
        if (m_fault.leaked <= 0 || tag.step <= m_step) return;
        m_step = tag.step;
        m_leaked.push_back(at::empty({m_fault.leaked}, at::kByte));
    }

    [[noreturn]] void hang() const {
        for (;;) ::poll(nullptr, 0, m_fault.spins ? 0 : 1000);
    }

    std::unique_ptr<comm::Communicator> m_inner;
    const Fault m_fault;
    std::int32_t m_step = -1;
    std::vector<at::Tensor> m_leaked;
};

}  // namespace
}  // namespace shardscope

int main(int argc, char** argv) {
    using namespace shardscope;
    const Fault fault = requested();
    const int fd = argc == 3 && std::string_view(argv[1]) == "--fd" ? std::atoi(argv[2]) : -1;
    if (fd < 0) {
        std::fputs("faulty_rank is started by `shardscope record`\n", stderr);
        return 2;
    }
    worker::CommandReader commands(fd);
    auto start = commands.readStart();
    if (!start) return exitStatus(start.error());
    commands.watch();
    int status = 0;
    {
        worker::RankWorker rank(fd, std::move(*start), commands, [&](worker::RankLinks& links) {
            links.training = std::make_unique<FaultyCommunicator>(std::move(links.training), fault);
        });
        if (const auto result = rank.run(); !result) status = exitStatus(result.error());
    }
    commands.expectEnd();
    std::fflush(nullptr);
    std::_Exit(status);
}
