#include "engine/comm/nccl/nccl_communicator.h"

#include "engine/comm/arguments.h"
#include "engine/comm/message_numbers.h"
#include "engine/comm/nccl/nccl_graphs.h"
#include "engine/comm/nccl/nccl_handles.h"
#include "engine/comm/nccl/nccl_watcher.h"
#include "engine/comm/nccl/nccl_work.h"
#include "storage/model/host_clock.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace shardscope::comm {
namespace {

using control::DeviceEvent;
using control::DeviceRuntime;
using control::DeviceStream;

/// What a communicator has in common with those split from it.
struct Shared {
    Shared(const NcclApi& api, DeviceRuntime& runtime)
        : stream(runtime.createStream(true)),
          events(std::make_shared<EventPool>(runtime)),
          handles(std::make_shared<NcclHandles>(api, runtime)),
          graphs(std::make_shared<NcclGraphs>(runtime, stream, events, alarm)) {}

    [[nodiscard]] NcclWorkParts workParts() const { return {events, alarm, graphs->number()}; }

    const std::shared_ptr<Alarm> alarm = std::make_shared<Alarm>();
    const DeviceStream stream;
    const std::shared_ptr<EventPool> events;
    const std::shared_ptr<NcclHandles> handles;
    const std::shared_ptr<NcclGraphs> graphs;
};

/// Whose launches follow on this thread.
class Annotation {
public:
    Annotation(const NcclSetup& setup, const control::CollectiveReport& report)
        : m_annotate(setup.annotate) {
        if (m_annotate != nullptr) m_annotate(&report);
    }
    ~Annotation() {
        if (m_annotate != nullptr) m_annotate(nullptr);
    }
    Annotation(const Annotation&) = delete;
    Annotation& operator=(const Annotation&) = delete;

private:
    void (*const m_annotate)(const control::CollectiveReport* report);
};

class NcclCommunicator final : public Communicator, private ReplayTarget {
public:
    NcclCommunicator(NcclGroup group, const Shared& shared)
        : m_group(std::move(group)),
          m_setup(m_group.setup),
          m_runtime(*m_setup.runtime),
          m_shared(shared),
          m_messages(m_setup.rank, m_setup.size),
          m_issuedOn(m_runtime.createEvent()),
          m_small(at::zeros({static_cast<std::int64_t>(kSmallValues)}, options(at::kDouble))),
          m_watcher(m_group, m_shared.alarm, *m_shared.handles) {}

    ~NcclCommunicator() override {
        m_watcher.stop();
        m_runtime.destroy(m_issuedOn);
        if (!m_shared.alarm->raised()) {
            m_shared.handles->destroy(m_group.handle);
            return;
        }
        // After an alarm the communicator may hang in its own clean-up, and operations may still
        // run on the buffers: both are left to the end of the process, which is near.
        m_owned.push_back(m_small);
        static_cast<void>(new (std::nothrow) std::vector<at::Tensor>(std::move(m_owned)));
    }

    int rank() const override { return m_setup.rank; }
    int size() const override { return m_setup.size; }

    SymmetricBuffer allocate(std::size_t count, DataType dtype) override {
        const std::size_t bytes = (count * elementBytes(dtype) + 63) / 64 * 64;
        m_owned.push_back(at::zeros({static_cast<std::int64_t>(bytes)}, options(at::kByte)));
        return {0, count, dtype, m_owned.back().mutable_data_ptr()};
    }

    Work allGather(const SymmetricBuffer& shard, void* out, CollectiveTag tag) override {
        const std::size_t bytes = shard.bytes() * static_cast<std::size_t>(size());
        return submit(CollectiveOp::kAllGather, shard.dtype, bytes, tag, [&] {
            return m_setup.api->allGather(shard.local, out, shard.count, shard.dtype,
                                          m_group.handle, m_shared.stream.handle);
        });
    }

    Work allGatherInPlace(const SymmetricBuffer& whole, CollectiveTag tag) override {
        const std::size_t count = whole.count / static_cast<std::size_t>(size());
        const std::size_t own = static_cast<std::size_t>(rank()) * count;
        const auto* part =
            static_cast<const std::byte*>(whole.local) + own * elementBytes(whole.dtype);
        return submit(CollectiveOp::kAllGather, whole.dtype, whole.bytes(), tag, [&] {
            return m_setup.api->allGather(part, whole.local, count, whole.dtype, m_group.handle,
                                          m_shared.stream.handle);
        });
    }

    Work reduceScatter(const SymmetricBuffer& full, float* out, Accumulate accumulate,
                       CollectiveTag tag) override {
        requireSummable(full.dtype);
        const std::size_t n = full.count / static_cast<std::size_t>(size());
        const bool direct = full.dtype == DataType::kFloat32 && accumulate == Accumulate::kNo;
        void* received = direct ? out : staging(n * elementBytes(full.dtype));
        return submit(CollectiveOp::kReduceScatter, full.dtype, full.bytes(), tag, [&] {
            const int result = m_setup.api->reduceScatter(full.local, received, n, full.dtype,
                                                          m_group.handle, m_shared.stream.handle);
            if (result == kNcclSuccess && !direct) {
                m_setup.accumulate(received, full.dtype, out, static_cast<std::int64_t>(n),
                                   accumulate == Accumulate::kYes, m_shared.stream.handle);
            }
            return result;
        });
    }

    Work allReduce(const SymmetricBuffer& buffer, CollectiveTag tag) override {
        requireSummable(buffer.dtype);
        return submit(CollectiveOp::kAllReduce, buffer.dtype, buffer.bytes(), tag, [&] {
            return m_setup.api->allReduce(buffer.local, buffer.local, buffer.count, buffer.dtype,
                                          false, m_group.handle, m_shared.stream.handle);
        });
    }

    Work allReduceSmall(std::span<double> values, Reduction reduction, CollectiveTag tag) override {
        return reduceSmall(CollectiveOp::kAllReduce, values, reduction, tag);
    }

    Work sumInPlace(std::span<double> values, CollectiveTag tag) override {
        requireSmall(values.size());
        return submit(CollectiveOp::kAllReduce, DataType::kFloat64, values.size_bytes(), tag, [&] {
            return m_setup.api->allReduce(values.data(), values.data(), values.size(),
                                          DataType::kFloat64, false, m_group.handle,
                                          m_shared.stream.handle);
        });
    }

    Work broadcast(const SymmetricBuffer& buffer, int root, CollectiveTag tag) override {
        return submit(CollectiveOp::kBroadcast, buffer.dtype, buffer.bytes(), tag, [&] {
            return m_setup.api->broadcast(buffer.local, buffer.local, buffer.count, buffer.dtype,
                                          root, m_group.handle, m_shared.stream.handle);
        });
    }

    Work allToAll(const SymmetricBuffer& send, void* out, CollectiveTag tag) override {
        const std::size_t count = send.count / static_cast<std::size_t>(size());
        const std::size_t bytes = count * elementBytes(send.dtype);
        const auto* from = static_cast<const std::byte*>(send.local);
        return submit(CollectiveOp::kAllToAll, send.dtype, send.bytes(), tag, [&] {
            const NcclApi& api = *m_setup.api;
            int result = api.groupStart();
            auto* to = static_cast<std::byte*>(out);
            for (int p = 0; p < size() && result == kNcclSuccess; ++p, from += bytes, to += bytes) {
                result =
                    api.send(from, count, send.dtype, p, m_group.handle, m_shared.stream.handle);
                if (result != kNcclSuccess) break;
                result =
                    api.receive(to, count, send.dtype, p, m_group.handle, m_shared.stream.handle);
            }
            const int ended = api.groupEnd();
            return result != kNcclSuccess ? result : ended;
        });
    }

    Work send(const SymmetricBuffer& buffer, int to, CollectiveTag tag) override {
        requirePeer(to, rank(), size());
        const auto call = [&] {
            return m_setup.api->send(buffer.local, buffer.count, buffer.dtype, to, m_group.handle,
                                     m_shared.stream.handle);
        };
        return submit(CollectiveOp::kSend, buffer.dtype, buffer.bytes(), tag, makeWork(), call,
                      m_messages.sentTo(to));
    }

    Work receive(const SymmetricBuffer& buffer, int from, CollectiveTag tag) override {
        requirePeer(from, rank(), size());
        const auto call = [&] {
            return m_setup.api->receive(buffer.local, buffer.count, buffer.dtype, from,
                                        m_group.handle, m_shared.stream.handle);
        };
        return submit(CollectiveOp::kReceive, buffer.dtype, buffer.bytes(), tag, makeWork(), call,
                      m_messages.receivedFrom(from));
    }

    std::unique_ptr<Communicator> split(std::span<const int> members,
                                        std::uint32_t group) override {
        m_shared.alarm->check();
        const NcclGroup part = splitOff(m_group, members, group);
        m_shared.handles->add(part.handle);
        return std::make_unique<NcclCommunicator>(part, m_shared);
    }

    /// NCCL has none: an all-reduce of one value that is not read.
    Work barrier(CollectiveTag tag) override {
        return reduceSmall(CollectiveOp::kBarrier, m_nothing, Reduction::kSum, tag);
    }

    /// NCCL's kernel ends on this rank only after its input has been consumed.
    void waitPeers(const Work& work) override { work.wait(); }

    void abort() override {
        m_shared.alarm->raise(fmt::format("rank {} gave up", rank()));
        m_shared.handles->abort();
    }

    control::GraphRecorder* graphs() override { return m_shared.graphs.get(); }

private:
    at::TensorOptions options(at::ScalarType type) const {
        return at::TensorOptions().device(m_setup.device).dtype(type);
    }

    Work reduceSmall(CollectiveOp operation, std::span<double> values, Reduction reduction,
                     CollectiveTag tag) {
        requireSmall(values.size());
        requireEager(operation);
        const at::DisableRecordFunctionGuard bookkeeping;
        // The last one's values may not have been looked at yet.
        if (m_lastSmall) m_lastSmall->NcclWork::wait();
        const auto n = static_cast<std::int64_t>(values.size());
        at::Tensor device = m_small.narrow(0, 0, n);
        device.copy_(at::from_blob(values.data(), {n}, at::kDouble));
        m_lastSmall = std::make_shared<SmallWork>(m_shared.workParts(), device, values);
        return submit(operation, DataType::kFloat64, values.size_bytes(), tag, m_lastSmall, [&] {
            return m_setup.api->allReduce(device.data_ptr(), device.data_ptr(), values.size(),
                                          DataType::kFloat64, reduction == Reduction::kMax,
                                          m_group.handle, m_shared.stream.handle);
        });
    }

    /// Where reduced gradients arrive before they are added: operations on the stream take turns
    /// with it. Grows in the first step only, and never goes back to the allocator, which would
    /// not know that the stream still uses it.
    void* staging(std::size_t bytes) {
        if (bytes > m_stagingBytes) {
            const control::MemoryScope scope(MemoryCategory::kCommunication, "reduced gradients");
            m_owned.push_back(at::empty({static_cast<std::int64_t>(bytes)}, options(at::kByte)));
            m_staging = m_owned.back().mutable_data_ptr();
            m_stagingBytes = bytes;
        }
        return m_staging;
    }

    [[nodiscard]] std::shared_ptr<NcclWork> makeWork() const {
        return std::make_shared<NcclWork>(m_shared.workParts());
    }

    void requireEager(CollectiveOp operation) const {
        if (m_shared.graphs->capturing())
            throw CommunicationError(
                fmt::format("{} cannot be part of a graph", toWord(operation)));
    }

    /// Queues what `call` asks of NCCL, or makes it part of the graph that is being captured.
    template <class Call>
    Work submit(CollectiveOp operation, DataType dtype, std::size_t bytes, CollectiveTag tag,
                Call call) {
        if (m_shared.graphs->capturing()) return capture(operation, dtype, bytes, tag, call);
        return submit(operation, dtype, bytes, tag, makeWork(), call);
    }

    /// Queues it between the events of `work`.
    template <class Call>
    Work submit(CollectiveOp operation, DataType dtype, std::size_t bytes, CollectiveTag tag,
                std::shared_ptr<NcclWork> work, Call call, std::uint64_t message = 0) {
        requireEager(operation);
        m_shared.alarm->check();
        control::CollectiveReport report = reportOf(operation, dtype, bytes, tag);
        report.sequence = message != 0 ? message : ++m_sequence;
        note(report);
        fork();
        m_runtime.record(work->started, m_shared.stream);
        launch(report, call);
        m_runtime.record(work->ended, m_shared.stream);
        m_watcher.add({report, work});
        return Work(std::move(work));
    }

    template <class Call>
    Work capture(CollectiveOp operation, DataType dtype, std::size_t bytes, CollectiveTag tag,
                 Call call) {
        m_shared.alarm->check();
        control::CollectiveReport report = reportOf(operation, dtype, bytes, tag);
        report.sequence = report.captured = m_shared.graphs->nextSequence();
        auto work = std::make_shared<CapturedWork>(m_shared.workParts());
        fork();
        m_runtime.recordInGraph(work->started, m_shared.stream);
        launch(report, call);
        m_runtime.recordInGraph(work->ended, m_shared.stream);
        m_runtime.record(work->joined, m_shared.stream);
        m_shared.graphs->add({this, report, work});
        return Work(std::move(work));
    }

    void replayed(control::CollectiveReport report, std::shared_ptr<NcclWork> work,
                  std::shared_ptr<NcclReplay> replay) override {
        report.sequence = ++m_sequence;
        note(report);
        m_watcher.add({report, std::move(work), std::move(replay)});
    }

    /// What the current stream holds comes first.
    void fork() {
        m_runtime.record(m_issuedOn, m_runtime.currentStream());
        m_runtime.wait(m_shared.stream, m_issuedOn);
    }

    template <class Call>
    void launch(const control::CollectiveReport& report, Call call) {
        const Annotation launches(m_setup, report);
        require(m_group, call(), toWord(report.operation));
    }

    /// For the peers to compare.
    void note(const control::CollectiveReport& report) const {
        if (m_setup.calls.empty()) return;
        m_setup.calls[static_cast<std::size_t>(rank())]->note(m_group.id, report.sequence,
                                                              callOf(report).wanted);
    }

    /// But for its number.
    [[nodiscard]] control::CollectiveReport reportOf(CollectiveOp operation, DataType dtype,
                                                     std::size_t bytes, CollectiveTag tag) const {
        control::CollectiveReport report;
        report.operation = operation;
        report.dtype = dtype;
        report.cause = tag.cause;
        report.layer = tag.layer;
        report.step = tag.step;
        report.group = m_group.id;
        report.sizeBytes = static_cast<std::int64_t>(bytes);
        report.protocol = "NCCL";
        report.issueNs = hostNow();
        return report;
    }

    const NcclGroup m_group;
    const NcclSetup& m_setup;
    DeviceRuntime& m_runtime;
    const Shared m_shared;

    // Step thread.
    MessageNumbers m_messages;
    const DeviceEvent m_issuedOn;  ///< re-recorded for each operation
    std::vector<at::Tensor> m_owned;
    at::Tensor m_small;  // (kSmallValues) float64
    std::shared_ptr<SmallWork> m_lastSmall;
    void* m_staging = nullptr;
    std::size_t m_stagingBytes = 0;
    std::uint64_t m_sequence = 0;
    std::array<double, 1> m_nothing{};

    NcclWatcher m_watcher;  // last: stops before the rest goes
};

}  // namespace

std::unique_ptr<Communicator> makeNcclCommunicator(NcclSetup setup) {
    const Shared shared(*setup.api, *setup.runtime);
    const NcclGroup all = joinAll(std::move(setup));
    shared.handles->add(all.handle);
    return std::make_unique<NcclCommunicator>(all, shared);
}

}  // namespace shardscope::comm
