#include "engine/comm/modelled_communicator.h"

#include "engine/comm/communication_thread.h"
#include "engine/comm/message_numbers.h"
#include "storage/model/host_clock.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>

namespace shardscope::comm {
namespace {

/// Sleeps that end on time, of one thread. What the kernel and a virtual machine take to wake it,
/// some 30 us, is learnt and slept less; the last few microseconds are waited awake.
class Sleeper {
public:
    /// Returns at `timeNs` or a little later.
    void until(std::int64_t timeNs) {
        // By default the kernel may add 50 us.
        if (m_first) ::prctl(PR_SET_TIMERSLACK, 1UL);
        m_first = false;
        const std::int64_t wakeNs = timeNs - m_delayNs;
        if (wakeNs > hostNow()) {
            sleepTo(wakeNs);
            const std::int64_t delayNs = std::min(hostNow() - wakeNs, kLongestDelayNs);
            m_delayNs += (delayNs - m_delayNs) / kMemory;
        }
        while (hostNow() < timeNs) std::this_thread::yield();
    }

private:
    static constexpr std::int64_t kLongestDelayNs = 60'000;  ///< longer ones are accidents
    static constexpr std::int64_t kMemory = 8;               ///< sleeps

    static void sleepTo(std::int64_t timeNs) {
        constexpr std::int64_t kSecond = 1'000'000'000;
        const timespec until{timeNs / kSecond, timeNs % kSecond};
        while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
        }
    }

    bool m_first = true;
    std::int64_t m_delayNs = 0;
};

class ModelledCommunicator final : public Communicator {
public:
    ModelledCommunicator(std::unique_ptr<Communicator> inner, const theory::LinkModel& link,
                         std::shared_ptr<const std::string> protocol, control::Observer* observer,
                         std::uint32_t group)
        : m_inner(std::move(inner)),
          m_link(link),
          m_observer(observer),
          m_protocol(std::move(protocol)),
          m_messages(m_inner->rank(), m_inner->size()),
          m_thread(observer, group) {}

    int rank() const override { return m_inner->rank(); }
    int size() const override { return m_inner->size(); }

    SymmetricBuffer allocate(std::size_t count, DataType dtype) override {
        return m_inner->allocate(count, dtype);
    }

    Work allGather(const SymmetricBuffer& shard, void* out, CollectiveTag tag) override {
        return slowed(m_inner->allGather(shard, out, tag), CollectiveOp::kAllGather,
                      wholeOf(shard, static_cast<std::size_t>(size())), tag);
    }
    Work allGatherInPlace(const SymmetricBuffer& whole, CollectiveTag tag) override {
        return slowed(m_inner->allGatherInPlace(whole, tag), CollectiveOp::kAllGather, whole, tag);
    }
    Work reduceScatter(const SymmetricBuffer& full, float* out, Accumulate accumulate,
                       CollectiveTag tag) override {
        return slowed(m_inner->reduceScatter(full, out, accumulate, tag),
                      CollectiveOp::kReduceScatter, full, tag);
    }
    Work allReduce(const SymmetricBuffer& buffer, CollectiveTag tag) override {
        return slowed(m_inner->allReduce(buffer, tag), CollectiveOp::kAllReduce, buffer, tag);
    }
    Work allReduceSmall(std::span<double> values, Reduction reduction, CollectiveTag tag) override {
        return slowed(m_inner->allReduceSmall(values, reduction, tag), CollectiveOp::kAllReduce,
                      unplaced(values.size(), DataType::kFloat64), tag);
    }
    Work broadcast(const SymmetricBuffer& buffer, int root, CollectiveTag tag) override {
        return slowed(m_inner->broadcast(buffer, root, tag), CollectiveOp::kBroadcast, buffer, tag);
    }
    Work allToAll(const SymmetricBuffer& send, void* out, CollectiveTag tag) override {
        return slowed(m_inner->allToAll(send, out, tag), CollectiveOp::kAllToAll, send, tag);
    }
    Work send(const SymmetricBuffer& buffer, int to, CollectiveTag tag) override {
        Work moved = m_inner->send(buffer, to, tag);  // says so when there is no such rank
        return slowed(std::move(moved), CollectiveOp::kSend, buffer, tag, m_messages.sentTo(to));
    }
    Work receive(const SymmetricBuffer& buffer, int from, CollectiveTag tag) override {
        Work moved = m_inner->receive(buffer, from, tag);
        return slowed(std::move(moved), CollectiveOp::kReceive, buffer, tag,
                      m_messages.receivedFrom(from));
    }
    Work barrier(CollectiveTag tag) override {
        return slowed(m_inner->barrier(tag), CollectiveOp::kBarrier, unplaced(0, DataType::kByte),
                      tag);
    }

    std::unique_ptr<Communicator> split(std::span<const int> members,
                                        std::uint32_t group) override {
        return std::make_unique<ModelledCommunicator>(m_inner->split(members, group), m_link,
                                                      m_protocol, m_observer, group);
    }

    void waitPeers(const Work& work) override {
        work.wait();
        m_inner->waitPeers(static_cast<const HostWork&>(stateOf(work)).underlying);
    }
    void abort() override { m_inner->abort(); }

private:
    Work slowed(Work moved, CollectiveOp operation, const SymmetricBuffer& buffer,
                const CollectiveTag& tag, std::uint64_t number = 0) {
        control::CollectiveReport report =
            request(operation, buffer.dtype, buffer.bytes(), tag, "modelled", m_protocol->c_str());
        report.algorithm = "modelled";  // whatever else the data went through
        // When it was asked for: what moves the data may have begun since.
        report.issueNs = seen(moved).report.issueNs;
        report.sequence = number;
        return m_thread.submit(report, [this, moved = std::move(moved)](HostWork& work) {
            work.underlying = moved;
            moved.wait();
            travel(work, seen(moved));
        });
    }

    static const HostWork& seen(const Work& moved) {
        if (const auto* work = dynamic_cast<const HostWork*>(&stateOf(moved))) return *work;
        throw CommunicationError("a link can be modelled for ranks on CPUs only");
    }

    void travel(HostWork& work, const HostWork& moved) {
        work.report.startNs = std::max(moved.report.startNs, m_freeNs);
        work.arrivals = moved.arrivals;
        std::int64_t beginNs = work.report.startNs;
        for (std::int64_t& arrival : work.arrivals) {
            arrival = std::max(arrival, m_freeNs);
            beginNs = std::max(beginNs, arrival);
        }
        const std::int64_t ns =
            theory::modelledNs(m_link, work.report.operation, size(), work.report.sizeBytes);
        // Of arrivals and the formula alone, which all ranks know alike: when the bytes were really
        // there each rank knows for itself, and ranks would disagree on the next one's arrivals.
        m_freeNs = beginNs + ns;
        // Who waits is woken a little later.
        work.report.endNs = std::max(m_freeNs, moved.report.endNs);
        m_sleeper.until(work.report.endNs);
    }

    const std::unique_ptr<Communicator> m_inner;
    const theory::LinkModel m_link;
    control::Observer* const m_observer;
    const std::shared_ptr<const std::string> m_protocol;  ///< as long as the first one lives
    MessageNumbers m_messages;                            // step thread
    std::int64_t m_freeNs = 0;     // communication thread: when the link is through
    Sleeper m_sleeper;             // communication thread
    CommunicationThread m_thread;  // last: uses all of the above
};

}  // namespace

std::unique_ptr<Communicator> makeModelledCommunicator(std::unique_ptr<Communicator> inner,
                                                       const theory::LinkModel& link,
                                                       control::Observer* observer) {
    auto protocol = std::make_shared<const std::string>(fmt::format(
        "modelled {:g} us, {:g} GB/s", link.latencySeconds * 1e6, link.bytesPerSecond * 1e-9));
    return std::make_unique<ModelledCommunicator>(std::move(inner), link, std::move(protocol),
                                                  observer, 0);
}

}  // namespace shardscope::comm
