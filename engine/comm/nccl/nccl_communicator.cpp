#include "engine/comm/nccl/nccl_communicator.h"

#include "engine/comm/arguments.h"
#include "engine/comm/message_numbers.h"
#include "engine/comm/nccl/nccl_work.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace shardscope::comm {
namespace {

using control::DeviceEvent;
using control::DeviceRuntime;
using control::DeviceStream;

constexpr std::chrono::milliseconds kPoll{1};
constexpr std::chrono::milliseconds kErrorPoll{200};

/// What a communicator has in common with those split from it.
struct Shared {
    explicit Shared(DeviceRuntime& runtime)
        : stream(runtime.createStream(true)), events(std::make_shared<EventPool>(runtime)) {}

    const DeviceStream stream;
    const std::shared_ptr<EventPool> events;
    const std::shared_ptr<Alarm> alarm = std::make_shared<Alarm>();
};

class NcclCommunicator final : public Communicator {
public:
    explicit NcclCommunicator(NcclSetup setup)
        : NcclCommunicator(setup, Shared(*setup.runtime), joined(setup), everybody(setup.size), 0) {
    }

    NcclCommunicator(NcclSetup setup, const Shared& shared, NcclHandle handle,
                     std::vector<int> worldRanks, std::uint32_t group)
        : m_setup(std::move(setup)),
          m_worldRanks(std::move(worldRanks)),
          m_runtime(*m_setup.runtime),
          m_shared(shared),
          m_group(group),
          m_handle(handle),
          m_messages(m_setup.rank, m_setup.size),
          m_issuedOn(m_runtime.createEvent()) {
        m_small = at::zeros({static_cast<std::int64_t>(kSmallValues)}, options(at::kDouble));
        m_watcher = std::thread([this] { watch(); });
        pthread_setname_np(m_watcher.native_handle(), "collectives");
    }

    ~NcclCommunicator() override {
        {
            const std::lock_guard lock(m_mutex);
            m_stopping = true;
        }
        m_wakeUp.notify_one();
        m_watcher.join();
        m_runtime.destroy(m_issuedOn);
        if (!m_shared.alarm->raised()) {
            m_setup.api->destroy(m_handle);
            return;
        }
        // After an alarm the communicator may hang in its own clean-up, and operations may still
        // run on the buffers: both are left to the end of the process, which is near.
        m_owned.push_back(m_small);
        static_cast<void>(new std::vector<at::Tensor>(std::move(m_owned)));
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
            return m_setup.api->allGather(shard.local, out, shard.count, shard.dtype, m_handle,
                                          m_shared.stream.handle);
        });
    }

    Work allGatherInPlace(const SymmetricBuffer& whole, CollectiveTag tag) override {
        const std::size_t count = whole.count / static_cast<std::size_t>(size());
        const std::size_t own = static_cast<std::size_t>(rank()) * count;
        const auto* part =
            static_cast<const std::byte*>(whole.local) + own * elementBytes(whole.dtype);
        return submit(CollectiveOp::kAllGather, whole.dtype, whole.bytes(), tag, [&] {
            return m_setup.api->allGather(part, whole.local, count, whole.dtype, m_handle,
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
                                                          m_handle, m_shared.stream.handle);
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
                                          false, m_handle, m_shared.stream.handle);
        });
    }

    Work allReduceSmall(std::span<double> values, Reduction reduction, CollectiveTag tag) override {
        return reduceSmall(CollectiveOp::kAllReduce, values, reduction, tag);
    }

    Work broadcast(const SymmetricBuffer& buffer, int root, CollectiveTag tag) override {
        return submit(CollectiveOp::kBroadcast, buffer.dtype, buffer.bytes(), tag, [&] {
            return m_setup.api->broadcast(buffer.local, buffer.local, buffer.count, buffer.dtype,
                                          root, m_handle, m_shared.stream.handle);
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
                result = api.send(from, count, send.dtype, p, m_handle, m_shared.stream.handle);
                if (result != kNcclSuccess) break;
                result = api.receive(to, count, send.dtype, p, m_handle, m_shared.stream.handle);
            }
            const int ended = api.groupEnd();
            return result != kNcclSuccess ? result : ended;
        });
    }

    Work send(const SymmetricBuffer& buffer, int to, CollectiveTag tag) override {
        requirePeer(to, rank(), size());
        const auto call = [&] {
            return m_setup.api->send(buffer.local, buffer.count, buffer.dtype, to, m_handle,
                                     m_shared.stream.handle);
        };
        return submit(CollectiveOp::kSend, buffer.dtype, buffer.bytes(), tag, makeWork(), call,
                      m_messages.sentTo(to));
    }

    Work receive(const SymmetricBuffer& buffer, int from, CollectiveTag tag) override {
        requirePeer(from, rank(), size());
        const auto call = [&] {
            return m_setup.api->receive(buffer.local, buffer.count, buffer.dtype, from, m_handle,
                                        m_shared.stream.handle);
        };
        return submit(CollectiveOp::kReceive, buffer.dtype, buffer.bytes(), tag, makeWork(), call,
                      m_messages.receivedFrom(from));
    }

    std::unique_ptr<Communicator> split(std::span<const int> members,
                                        std::uint32_t group) override {
        m_shared.alarm->check();
        NcclSetup setup = m_setup;
        setup.rank = placeAmong(members, rank(), size());
        setup.size = static_cast<int>(members.size());
        NcclHandle part;
        const std::string name = fmt::format("group {}", group);
        // Groups are disjoint, so their first ranks tell them apart.
        require(m_setup.api->split(m_handle, members.front(), rank(), &part, name.c_str()),
                "splitting off a group");
        std::vector<int> worldRanks;
        setup.calls.clear();
        for (const int p : members) {
            worldRanks.push_back(m_worldRanks[static_cast<std::size_t>(p)]);
            if (!m_setup.calls.empty()) {
                setup.calls.push_back(m_setup.calls[static_cast<std::size_t>(p)]);
            }
        }
        return std::make_unique<NcclCommunicator>(std::move(setup), m_shared, part,
                                                  std::move(worldRanks), group);
    }

    /// NCCL has none: an all-reduce of one value that nobody looks at.
    Work barrier(CollectiveTag tag) override {
        return reduceSmall(CollectiveOp::kBarrier, m_nothing, Reduction::kSum, tag);
    }

    /// NCCL's kernel ends on this rank only after its input has been consumed.
    void waitPeers(const Work& work) override { work.wait(); }

    void abort() override {
        m_shared.alarm->raise(fmt::format("rank {} gave up", rank()));
        // May hang itself; the process ends all the same, see NcclSetup::failed.
        std::thread([api = m_setup.api, handle = m_handle] { api->abort(handle); }).detach();
    }

private:
    static std::vector<int> everybody(int size) {
        std::vector<int> ranks(static_cast<std::size_t>(size));
        std::iota(ranks.begin(), ranks.end(), 0);
        return ranks;
    }

    static NcclHandle joined(const NcclSetup& setup) {
        NcclHandle handle;
        const int result =
            setup.api->initialise(&handle, setup.size, &setup.id, setup.rank, setup.name);
        require(setup, {}, result, "joining the other ranks");
        return handle;
    }

    struct Pending {
        control::CollectiveReport report;
        std::shared_ptr<NcclWork> work;
    };

    at::TensorOptions options(at::ScalarType type) const {
        return at::TensorOptions().device(m_setup.device).dtype(type);
    }

    Work reduceSmall(CollectiveOp operation, std::span<double> values, Reduction reduction,
                     CollectiveTag tag) {
        requireSmall(values.size());
        const at::DisableRecordFunctionGuard bookkeeping;
        // The last one's values may not have been looked at yet.
        if (m_lastSmall) m_lastSmall->NcclWork::wait();
        const auto n = static_cast<std::int64_t>(values.size());
        at::Tensor device = m_small.narrow(0, 0, n);
        device.copy_(at::from_blob(values.data(), {n}, at::kDouble));
        m_lastSmall = std::make_shared<SmallWork>(m_shared.events, m_shared.alarm, device, values);
        return submit(operation, DataType::kFloat64, values.size_bytes(), tag, m_lastSmall, [&] {
            return m_setup.api->allReduce(device.data_ptr(), device.data_ptr(), values.size(),
                                          DataType::kFloat64, reduction == Reduction::kMax,
                                          m_handle, m_shared.stream.handle);
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
        return std::make_shared<NcclWork>(m_shared.events, m_shared.alarm);
    }

    template <class Call>
    Work submit(CollectiveOp operation, DataType dtype, std::size_t bytes, CollectiveTag tag,
                Call call) {
        return submit(operation, dtype, bytes, tag, makeWork(), call);
    }

    template <class Call>
    Work submit(CollectiveOp operation, DataType dtype, std::size_t bytes, CollectiveTag tag,
                std::shared_ptr<NcclWork> work, Call call, std::uint64_t message = 0) {
        m_shared.alarm->check();
        Pending pending;
        pending.report.operation = operation;
        pending.report.dtype = dtype;
        pending.report.cause = tag.cause;
        pending.report.layer = tag.layer;
        pending.report.step = tag.step;
        pending.report.group = m_group;
        const std::uint64_t sequence = message != 0 ? message : ++m_sequence;
        pending.report.sequence = sequence;
        pending.report.sizeBytes = static_cast<std::int64_t>(bytes);
        pending.report.protocol = "NCCL";
        pending.report.issueNs = control::now();
        pending.work = std::move(work);
        Work handle(pending.work);
        if (!m_setup.calls.empty()) {
            m_setup.calls[static_cast<std::size_t>(rank())]->note(m_group, sequence,
                                                                  callOf(pending.report).wanted);
        }

        m_runtime.record(m_issuedOn, m_runtime.currentStream());
        m_runtime.wait(m_shared.stream, m_issuedOn);
        m_runtime.record(pending.work->started, m_shared.stream);
        if (m_setup.annotate != nullptr) m_setup.annotate(m_group, sequence);
        const int result = call();
        if (m_setup.annotate != nullptr) m_setup.annotate(0, 0);
        require(result, toWord(operation));
        m_runtime.record(pending.work->ended, m_shared.stream);
        {
            const std::lock_guard lock(m_mutex);
            m_pending.push_back(std::move(pending));
        }
        m_wakeUp.notify_one();
        return handle;
    }

    void require(int result, const char* doing) const { require(m_setup, m_handle, result, doing); }

    static void require(const NcclSetup& setup, NcclHandle handle, int result, const char* doing) {
        if (result == kNcclSuccess) return;
        const char* last = handle.handle != nullptr ? setup.api->lastError(handle) : "";
        throw CommunicationError(
            fmt::format("NCCL failed on rank {} of {} in {}: {}{}{}", setup.rank, setup.size, doing,
                        setup.api->errorText(result), *last != '\0' ? "; " : "", last));
    }

    void watch() {
        using Clock = std::chrono::steady_clock;
        Clock::time_point startedAt{};  // of the front, once it was seen to run
        Clock::time_point nextErrorPoll = Clock::now();
        for (;;) {
            Pending* front = nullptr;
            {
                std::unique_lock lock(m_mutex);
                m_wakeUp.wait_for(lock, kErrorPoll,
                                  [this] { return m_stopping || !m_pending.empty(); });
                if (!m_pending.empty()) front = &m_pending.front();  // deque: stays where it is
                if (m_stopping && (front == nullptr || m_shared.alarm->raised())) return;
            }
            m_setup.clock->refresh();
            const Clock::time_point time = Clock::now();
            if (time >= nextErrorPoll) {
                nextErrorPoll = time + kErrorPoll;
                if (peerLost()) return;
            }
            if (front == nullptr) continue;
            if (parted(front->report)) return;
            if (ended(*front)) {
                report(*front);
                const std::lock_guard lock(m_mutex);
                m_pending.pop_front();
                startedAt = {};
                continue;
            }
            if (m_shared.alarm->raised()) return;
            if (startedAt == Clock::time_point{} && m_runtime.reached(front->work->started)) {
                startedAt = time;
            }
            if (startedAt != Clock::time_point{} && time - startedAt > m_setup.timeout) {
                return alarm(hungSentence(front->report));
            }
            std::this_thread::sleep_for(kPoll);
        }
    }

    [[nodiscard]] Call callOf(const control::CollectiveReport& report) const {
        Call call;
        call.wanted.operation = report.operation;
        call.wanted.dtype = report.dtype;
        call.wanted.bytes = static_cast<std::uint64_t>(report.sizeBytes);
        call.sequence = report.sequence;
        call.group = m_group;
        return call;
    }

    /// Whether a peer has asked for something else at this place.
    bool parted(const control::CollectiveReport& report) {
        const Call mine = callOf(report);
        for (std::size_t p = 0; p < m_setup.calls.size(); ++p) {
            if (p == static_cast<std::size_t>(rank())) continue;
            const auto theirs = m_setup.calls[p]->find(m_group, report.sequence);
            if (!theirs || fits(mine.wanted, *theirs)) continue;
            alarm(mismatch(mine, m_worldRanks[static_cast<std::size_t>(rank())], *theirs,
                           m_worldRanks[p]));
            return true;
        }
        return false;
    }

    /// A message is sent by one and received by the other, under one number.
    static bool fits(const OperationDescriptor& mine, const OperationDescriptor& theirs) {
        const bool message =
            mine.operation == CollectiveOp::kSend || mine.operation == CollectiveOp::kReceive;
        return mine.bytes == theirs.bytes && mine.dtype == theirs.dtype &&
               (message || mine.operation == theirs.operation);
    }

    /// A device that has failed says so here; that too ends the run.
    bool ended(const Pending& pending) {
        try {
            return m_runtime.reached(pending.work->ended);
        } catch (const control::DeviceError& error) {
            alarm(fmt::format("the device of rank {} failed during {}: {}", rank(),
                              describe(pending.report), error.what()));
            return false;
        }
    }

    void report(const Pending& pending) {
        control::CollectiveReport report = pending.report;
        report.startNs = m_setup.clock->hostNs(pending.work->started);
        report.endNs = std::max(report.startNs, m_setup.clock->hostNs(pending.work->ended));
        // The host may be a long way ahead, never behind.
        report.startNs = std::max(report.startNs, report.issueNs);
        report.endNs = std::max(report.endNs, report.startNs);
        if (m_setup.observer != nullptr) m_setup.observer->collective(report);
    }

    bool peerLost() {
        int error = kNcclSuccess;
        const int result = m_setup.api->asyncError(m_handle, &error);
        if (result != kNcclSuccess) error = result;
        if (error == kNcclSuccess || error == kNcclInProgress) return false;
        const char* last = m_setup.api->lastError(m_handle);
        alarm(fmt::format("NCCL reports on rank {}: {}{}{}; a peer has probably ended", rank(),
                          m_setup.api->errorText(error), *last != '\0' ? "; " : "", last));
        return true;
    }

    static std::string describe(const control::CollectiveReport& report) {
        std::string text = fmt::format("{} {} of {} bytes", toWord(report.operation),
                                       MessageNumbers::count(report.sequence), report.sizeBytes);
        if (report.step >= 0) text += fmt::format(" in step {}", report.step);
        if (report.layer.value >= 0) text += fmt::format(", layer {}", report.layer.value);
        if (report.layer == kRootLayer) text += ", embedding";
        return text;
    }

    std::string hungSentence(const control::CollectiveReport& report) const {
        return fmt::format(
            "{} has been running on rank {} for more than {} s: a peer is gone, stuck, or asked "
            "for something else; look at the other ranks' last words",
            describe(report), rank(), std::chrono::duration<double>(m_setup.timeout).count());
    }

    void alarm(const std::string& sentence) {
        if (m_shared.alarm->raise(sentence) && m_setup.failed) m_setup.failed(sentence);
    }

    const NcclSetup m_setup;
    const std::vector<int> m_worldRanks;  ///< for sentences
    DeviceRuntime& m_runtime;
    const Shared m_shared;
    const std::uint32_t m_group;
    const NcclHandle m_handle;

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

    std::mutex m_mutex;
    std::condition_variable m_wakeUp;
    std::deque<Pending> m_pending;  // guarded by m_mutex; the front is the watcher's
    bool m_stopping = false;        // guarded by m_mutex
    std::thread m_watcher;          // last: uses all of the above
};

}  // namespace

std::unique_ptr<Communicator> makeNcclCommunicator(NcclSetup setup) {
    return std::make_unique<NcclCommunicator>(std::move(setup));
}

}  // namespace shardscope::comm
