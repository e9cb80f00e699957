#include "engine/comm/ring_communicator.h"

#include "engine/comm/arguments.h"
#include "engine/comm/communication_thread.h"
#include "engine/comm/host_memory.h"
#include "engine/comm/message_numbers.h"
#include "engine/comm/reduce.h"
#include "engine/comm/ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace shardscope::comm {
namespace {

class RingCommunicator final : public Communicator {
public:
    RingCommunicator(RingSetup setup, std::shared_ptr<HostMemory> memory, RingPlace place)
        : m_setup(std::move(setup)),
          m_memory(std::move(memory)),
          m_messages(place.own, static_cast<int>(place.meshRanks.size())),
          m_ring(m_setup.mesh, std::move(place), m_setup.timeout, m_setup.memory),
          m_rows(m_setup.memory, "other ranks' rows"),
          m_thread(m_setup.observer, m_ring.place().group) {}

    int rank() const override { return m_ring.own(); }
    int size() const override { return m_ring.size(); }

    SymmetricBuffer allocate(std::size_t count, DataType dtype) override {
        return {0, count, dtype, m_memory->allocate(count * elementBytes(dtype))};
    }

    Work allGather(const SymmetricBuffer& shard, void* out, CollectiveTag tag) override {
        return submit(CollectiveOp::kAllGather, wholeOf(shard, world()), tag, [=, this] {
            auto* whole = static_cast<std::byte*>(out);
            std::memcpy(whole + own() * shard.bytes(), shard.local, shard.bytes());
            m_ring.gather(whole, evenParts(shard.bytes() * world(), world()));
        });
    }

    Work allGatherInPlace(const SymmetricBuffer& whole, CollectiveTag tag) override {
        return submit(CollectiveOp::kAllGather, whole, tag, [=, this] {
            m_ring.gather(static_cast<std::byte*>(whole.local), evenParts(whole.bytes(), world()));
        });
    }

    Work reduceScatter(const SymmetricBuffer& full, float* out, Accumulate accumulate,
                       CollectiveTag tag) override {
        requireSummable(full.dtype);
        return submit(CollectiveOp::kReduceScatter, full, tag, [=, this] {
            const std::size_t n = full.count / world();
            const Parts parts = evenParts(full.count, world());
            const bool add = accumulate == Accumulate::kYes;
            if (full.dtype != DataType::kFloat32) {
                sumSources(exchanged(full, parts), full.dtype, out, n, add);
                return;
            }
            // What comes around is the others' sum.
            const float* others = m_ring.reduce(static_cast<const float*>(full.local), parts);
            const float* mine = static_cast<const float*>(full.local) + n * own();
            const void* rows[] = {others, mine};
            const auto used = std::span(rows).last(others != nullptr ? 2 : 1);
            sumSources(used, DataType::kFloat32, out, n, add);
        });
    }

    Work allReduce(const SymmetricBuffer& buffer, CollectiveTag tag) override {
        requireSummable(buffer.dtype);
        return submit(CollectiveOp::kAllReduce, buffer, tag,
                      [=, this] { allReduceInPlace(buffer); });
    }

    Work allReduceSmall(std::span<double> values, Reduction reduction, CollectiveTag tag) override {
        requireSmall(values.size());
        const std::size_t bytes = values.size_bytes();
        const auto detail = static_cast<std::int32_t>(reduction);
        auto body = [=, this](HostWork& work) {
            meet(work, detail, values);
            combine(values, reduction, size(),
                    [&](int p, std::size_t i) { return m_ring.value(p, i); });
        };
        return m_thread.submit(request(CollectiveOp::kAllReduce, DataType::kFloat64, bytes, tag,
                                       "exchange", m_setup.protocol),
                               std::move(body));
    }

    Work broadcast(const SymmetricBuffer& buffer, int root, CollectiveTag tag) override {
        requireRank(root, size());
        auto move = [=, this] {
            m_ring.passOn(static_cast<std::byte*>(buffer.local), buffer.bytes(), root);
        };
        return submit(CollectiveOp::kBroadcast, buffer, tag, std::move(move),
                      m_ring.meshRank(root));
    }

    Work allToAll(const SymmetricBuffer& send, void* out, CollectiveTag tag) override {
        return submit(CollectiveOp::kAllToAll, send, tag, [=, this] {
            const Parts parts = evenParts(send.bytes(), world());
            const std::size_t part = parts.size(own());
            auto* to = static_cast<std::byte*>(out);
            const auto* from = static_cast<const std::byte*>(send.local);
            std::memcpy(to + own() * part, from + own() * part, part);
            m_ring.exchange(from, parts, to, part);
        });
    }

    Work send(const SymmetricBuffer& buffer, int to, CollectiveTag tag) override {
        requirePeer(to, rank(), size());
        return message(CollectiveOp::kSend, buffer, to, m_messages.sentTo(to), tag,
                       [=, this] { m_ring.send(buffer.local, buffer.bytes(), to); });
    }

    Work receive(const SymmetricBuffer& buffer, int from, CollectiveTag tag) override {
        requirePeer(from, rank(), size());
        return message(CollectiveOp::kReceive, buffer, from, m_messages.receivedFrom(from), tag,
                       [=, this] { m_ring.receive(buffer.local, buffer.bytes(), from); });
    }

    Work barrier(CollectiveTag tag) override {
        return submit(CollectiveOp::kBarrier, unplaced(0, DataType::kByte), tag, [] {});
    }

    std::unique_ptr<Communicator> split(std::span<const int> members,
                                        std::uint32_t group) override {
        RingPlace place = m_ring.place();
        place.own = placeAmong(members, rank(), size());
        place.group = group;
        place.meshRanks.clear();
        for (const int p : members) place.meshRanks.push_back(m_ring.meshRank(p));
        m_thread.submitUnseen([&](HostWork&) { place.tag = m_ring.agreeOnTag(members, group); })
            .wait();
        return std::make_unique<RingCommunicator>(m_setup, m_memory, std::move(place));
    }

    /// What was sent is out of this rank's memory once its own part is done.
    void waitPeers(const Work& work) override { work.wait(); }

    void abort() override { m_setup.mesh->close(); }

private:
    [[nodiscard]] std::size_t world() const { return static_cast<std::size_t>(size()); }
    [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(rank()); }

    void meet(HostWork& work, std::int32_t detail, std::span<const double> values) {
        work.report.startNs = m_ring.meet(callOf(work, detail), values);
        if (m_setup.sharedClock) work.arrivals = m_ring.arrivals();
    }

    Work submit(CollectiveOp operation, const SymmetricBuffer& buffer, const CollectiveTag& tag,
                std::function<void()> move, std::int32_t detail = OperationDescriptor::kNone) {
        const bool halves =
            buffer.dtype == DataType::kBFloat16 || buffer.dtype == DataType::kFloat16;
        const bool reduces =
            operation == CollectiveOp::kReduceScatter || operation == CollectiveOp::kAllReduce;
        const bool direct = operation == CollectiveOp::kAllToAll || (halves && reduces);
        return m_thread.submit(request(operation, buffer.dtype, buffer.bytes(), tag,
                                       direct ? "exchange" : "ring", m_setup.protocol),
                               [this, detail, move = std::move(move)](HostWork& work) {
                                   meet(work, detail, {});
                                   move();
                               });
    }

    Work message(CollectiveOp operation, const SymmetricBuffer& buffer, int peer,
                 std::uint64_t number, const CollectiveTag& tag, std::function<void()> move) {
        control::CollectiveReport report =
            request(operation, buffer.dtype, buffer.bytes(), tag, "direct", m_setup.protocol);
        report.sequence = number;
        return m_thread.submit(report, [this, peer, move = std::move(move)](HostWork& work) {
            const Call call = callOf(work, m_ring.meshRank(peer));
            work.report.startNs = m_ring.meetOne(call, peer);
            if (m_setup.sharedClock) {
                // Ranks that do not take part kept no other waiting.
                work.arrivals.assign(world(), work.report.startNs);
                const auto at = static_cast<std::size_t>(peer);
                work.arrivals[at] = m_ring.arrivals()[at];
            }
            move();
        });
    }

    /// Every rank's row of this rank's part, by rank.
    std::span<const void* const> exchanged(const SymmetricBuffer& full, const Parts& parts) {
        const std::size_t each = elementBytes(full.dtype);
        const std::size_t bytes = parts.size(own()) * each;
        std::byte* rows = world() > 1 ? m_rows.reserve(bytes * world()) : nullptr;
        const auto* local = static_cast<const std::byte*>(full.local);
        m_ring.exchange(local, parts.scaled(each), rows, bytes);
        m_sources.clear();
        for (std::size_t p = 0; p < world(); ++p) {
            m_sources.push_back(p == own() ? local + parts.begin(p) * each : rows + p * bytes);
        }
        return m_sources;
    }

    void allReduceInPlace(const SymmetricBuffer& buffer) {
        const std::size_t each = elementBytes(buffer.dtype);
        const Parts parts = evenParts(buffer.count, world());
        auto* mine = static_cast<std::byte*>(buffer.local) + parts.begin(own()) * each;
        const std::size_t n = parts.size(own());
        if (buffer.dtype != DataType::kFloat32) {
            sumSourcesRounded(exchanged(buffer, parts), buffer.dtype, mine, n);
        } else if (const float* others =
                       m_ring.reduce(static_cast<const float*>(buffer.local), parts)) {
            const void* rows[] = {others, mine};
            sumSourcesRounded(rows, DataType::kFloat32, mine, n);
        }
        m_ring.gather(static_cast<std::byte*>(buffer.local), parts.scaled(each));
    }

    const RingSetup m_setup;
    const std::shared_ptr<HostMemory> m_memory;
    MessageNumbers m_messages;  // step thread

    // Communication thread.
    Ring m_ring;
    StagingBuffer m_rows;  ///< by rank
    std::vector<const void*> m_sources;

    CommunicationThread m_thread;  // last: uses all of the above
};

}  // namespace

std::unique_ptr<Communicator> makeRingCommunicator(const RingSetup& setup) {
    RingPlace place;
    for (int p = 0; p < setup.mesh->size(); ++p) place.meshRanks.push_back(p);
    place.own = setup.mesh->rank();
    place.tags = std::make_shared<std::atomic<std::uint32_t>>(1);
    return std::make_unique<RingCommunicator>(setup, std::make_shared<HostMemory>(), place);
}

}  // namespace shardscope::comm
