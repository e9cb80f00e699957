#include "engine/comm/host_ring_communicator.h"

#include "engine/comm/arguments.h"
#include "engine/comm/communication_thread.h"
#include "engine/comm/copy.h"
#include "engine/comm/host_levels.h"
#include "engine/comm/message_numbers.h"
#include "engine/comm/rails.h"
#include "engine/comm/segment.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace shardscope::comm {
namespace {

class HostRingCommunicator final : public Communicator {
public:
    HostRingCommunicator(HostRingSetup setup, std::shared_ptr<Arena> arena, LevelsPlace place)
        : m_setup(std::move(setup)),
          m_arena(std::move(arena)),
          m_group(place.all.group),
          m_tags(place.all.tags),
          m_messages(place.all.own, static_cast<int>(place.all.meshRanks.size())),
          m_levels({m_setup.segment, m_setup.mesh, m_setup.timeout}, std::move(place)),
          m_rails(m_levels, m_setup.memory),
          m_thread(m_setup.observer, m_group) {}

    int rank() const override { return m_levels.rank(); }
    int size() const override { return m_levels.size(); }

    SymmetricBuffer allocate(std::size_t count, DataType dtype) override {
        return m_arena->allocateBuffer(count, dtype);
    }

    Work allGather(const SymmetricBuffer& shard, void* out, CollectiveTag tag) override {
        const std::size_t bytes = shard.bytes() * world();
        return collective(CollectiveOp::kAllGather, shard, bytes, kNobody, tag, [=, this] {
            m_rails.gather(static_cast<std::byte*>(out), shard.bytes());
        });
    }

    Work allGatherInPlace(const SymmetricBuffer& whole, CollectiveTag tag) override {
        return collective(CollectiveOp::kAllGather, whole, whole.bytes(), kNobody, tag, [=, this] {
            m_rails.gatherInPlace(static_cast<std::byte*>(whole.local),
                                  evenParts(whole.bytes(), world()));
        });
    }

    Work reduceScatter(const SymmetricBuffer& full, float* out, Accumulate accumulate,
                       CollectiveTag tag) override {
        requireSummable(full.dtype);
        return collective(CollectiveOp::kReduceScatter, full, full.bytes(), kNobody, tag,
                          [=, this] {
                              m_rails.reduce(full.dtype, evenParts(full.count, world()), out,
                                             accumulate == Accumulate::kYes);
                          });
    }

    Work allReduce(const SymmetricBuffer& buffer, CollectiveTag tag) override {
        requireSummable(buffer.dtype);
        return collective(
            CollectiveOp::kAllReduce, buffer, buffer.bytes(), kNobody, tag, [=, this] {
                const std::size_t each = elementBytes(buffer.dtype);
                const Parts parts = evenParts(buffer.count, world());
                auto* local = static_cast<std::byte*>(buffer.local);
                const auto own = static_cast<std::size_t>(rank());
                m_rails.reduceRounded(buffer.dtype, parts, local + parts.begin(own) * each);
                m_levels.meetAgain();  // everybody's part is there
                m_rails.gatherInPlace(local, parts.scaled(each));
            });
    }

    Work allReduceSmall(std::span<double> values, Reduction reduction, CollectiveTag tag) override {
        requireSmall(values.size());
        SymmetricBuffer none;
        none.dtype = DataType::kFloat64;
        Call call = makeCall(CollectiveOp::kAllReduce, none, values.size_bytes(),
                             static_cast<std::int32_t>(reduction), tag);
        return submit(call, tag, [=, this](HostWork& work) mutable {
            Meeting& inside = m_levels.inside();
            call.sequence = work.report.sequence;
            std::copy(values.begin(), values.end(), inside.scratch(inside.own(), inside.next()));
            meetInside(call, work);
            combine(values, reduction, m_levels.perHost(), [&](int place, std::size_t i) {
                return inside.scratch(place, work.meeting)[i];
            });
            m_levels.meetAcross(values);
            combine(values, reduction, m_levels.hosts(),
                    [&](int host, std::size_t i) { return m_levels.rail().value(host, i); });
        });
    }

    Work broadcast(const SymmetricBuffer& buffer, int root, CollectiveTag tag) override {
        requireRank(root, size());
        const int named = m_levels.worldRank(root);
        return collective(CollectiveOp::kBroadcast, buffer, buffer.bytes(), named, tag, [=, this] {
            m_rails.broadcast(static_cast<std::byte*>(buffer.local), buffer.bytes(), root);
        });
    }

    Work allToAll(const SymmetricBuffer& send, void* out, CollectiveTag tag) override {
        return collective(CollectiveOp::kAllToAll, send, send.bytes(), kNobody, tag, [=, this] {
            m_rails.exchange(static_cast<const std::byte*>(send.local),
                             static_cast<std::byte*>(out), send.bytes() / world());
        });
    }

    Work send(const SymmetricBuffer& buffer, int to, CollectiveTag tag) override {
        requirePeer(to, rank(), size());
        Call call =
            makeCall(CollectiveOp::kSend, buffer, buffer.bytes(), m_levels.worldRank(to), tag);
        call.sequence = m_messages.sentTo(to);
        return submit(call, tag, [=, this](HostWork& work) {
            if (m_levels.isNear(to)) {
                work.report.startNs = m_levels.inside().offer(call, placeOf(to)).ownNs;
            } else {
                work.report.startNs = meetOther(call, to);
                const BetweenHosts between(m_levels.clock());
                m_levels.all().send(buffer.local, buffer.bytes(), to);
            }
        });
    }

    Work receive(const SymmetricBuffer& buffer, int from, CollectiveTag tag) override {
        requirePeer(from, rank(), size());
        Call call =
            makeCall(CollectiveOp::kReceive, buffer, buffer.bytes(), m_levels.worldRank(from), tag);
        call.sequence = m_messages.receivedFrom(from);
        return submit(call, tag, [=, this](HostWork& work) {
            if (m_levels.isNear(from)) {
                work.report.startNs = take(call, buffer, placeOf(from));
            } else {
                work.report.startNs = meetOther(call, from);
                const BetweenHosts between(m_levels.clock());
                m_levels.all().receive(buffer.local, buffer.bytes(), from);
            }
        });
    }

    Work barrier(CollectiveTag tag) override {
        SymmetricBuffer none;
        none.dtype = DataType::kByte;
        return collective(CollectiveOp::kBarrier, none, 0, kNobody, tag, [] {});
    }

    std::unique_ptr<Communicator> split(std::span<const int> members, std::uint32_t group) override;

    void waitPeers(const Work& work) override {
        work.wait();
        const auto& done = static_cast<const HostWork&>(stateOf(work));
        if (done.meeting == 0) return;  // between two ranks: both have done with it
        Call call;
        call.wanted.operation = done.report.operation;
        call.sequence = done.report.sequence;
        call.layer = done.report.layer;
        call.group = m_group;
        try {
            m_levels.inside().awaitDone(call, done.meeting);
        } catch (const CommunicationError& error) {
            m_levels.giveUp(error);
        }
    }

    void abort() override { m_levels.abort(); }

private:
    static constexpr std::int32_t kNobody = OperationDescriptor::kNone;

    [[nodiscard]] std::size_t world() const { return static_cast<std::size_t>(size()); }
    [[nodiscard]] int placeOf(int rank) const { return rank % m_levels.perHost(); }

    Call makeCall(CollectiveOp operation, const SymmetricBuffer& buffer, std::size_t bytes,
                  std::int32_t detail, const CollectiveTag& tag) const {
        Call call;
        call.wanted = {operation, buffer.dtype, detail, bytes, buffer.offset};
        call.layer = tag.layer;
        call.group = m_group;
        return call;
    }

    Work submit(const Call& call, const CollectiveTag& tag, CommunicationThread::Body body) {
        control::CollectiveReport report =
            request(call.wanted.operation, call.wanted.dtype, call.wanted.bytes, tag, "rails",
                    m_setup.protocol);
        report.sequence = call.sequence;
        return m_thread.submit(report, guarded([this, body = std::move(body)](HostWork& work) {
                                   body(work);
                                   if (work.meeting != 0) m_levels.inside().announceDone();
                                   if (m_levels.hosts() > 1) work.levels = m_levels.clock().take();
                               }));
    }

    /// What goes wrong is told to all ranks.
    CommunicationThread::Body guarded(CommunicationThread::Body body) {
        return [this, body = std::move(body)](HostWork& work) {
            try {
                body(work);
            } catch (const CommunicationError& error) {
                m_levels.giveUp(error);
            }
        };
    }

    /// An operation with one meeting of all ranks, after which `move` has the inputs of this host.
    Work collective(CollectiveOp operation, const SymmetricBuffer& buffer, std::size_t bytes,
                    std::int32_t detail, const CollectiveTag& tag, std::function<void()> move) {
        Call call = makeCall(operation, buffer, bytes, detail, tag);
        return submit(call, tag, [this, call, move = std::move(move)](HostWork& work) mutable {
            call.sequence = work.report.sequence;
            meetInside(call, work);
            m_levels.meetAcross({});
            move();
        });
    }

    void meetInside(const Call& call, HostWork& work) {
        work.meeting = m_levels.inside().next();
        work.report.startNs = m_levels.meetInside(call);
        if (m_levels.hosts() == 1) work.arrivals = m_levels.inside().arrivals();
    }

    std::int64_t meetOther(const Call& call, int peer) {
        const std::int64_t arrived = m_levels.all().meetOne(call, peer);
        m_levels.clock().begin(arrived);
        return arrived;
    }

    std::int64_t take(const Call& call, const SymmetricBuffer& buffer, int place) {
        Meeting& inside = m_levels.inside();
        OperationDescriptor found;
        const Meeting::Pair pair = inside.await(call, place, found);
        copyRow(buffer.local, m_setup.segment->arena(inside.place(place)) + found.offset,
                buffer.bytes());
        inside.announceTaken(place);
        return pair.ownNs;
    }

    template <class Value>
    static void combine(std::span<double> values, Reduction reduction, int count, Value value) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            double result = value(0, i);
            for (int p = 1; p < count; ++p) {
                const double next = value(p, i);
                result = reduction == Reduction::kSum ? result + next : std::max(result, next);
            }
            values[i] = result;
        }
    }

    [[nodiscard]] std::vector<int> neighboursAmong(std::span<const int> members) const;

    const HostRingSetup m_setup;
    const std::shared_ptr<Arena> m_arena;
    const std::uint32_t m_group;
    const std::shared_ptr<std::atomic<std::uint32_t>> m_tags;
    MessageNumbers m_messages;  // step thread
    HostLevels m_levels;
    Rails m_rails;                 // communication thread
    CommunicationThread m_thread;  // last: uses all of the above
};

/// Those that share a host with this rank, itself among them; it alone where hosts have different
/// numbers of members.
std::vector<int> HostRingCommunicator::neighboursAmong(std::span<const int> members) const {
    std::vector<int> near;
    std::vector<std::size_t> count(static_cast<std::size_t>(m_levels.hosts()));
    for (const int member : members) {
        ++count[static_cast<std::size_t>(member / m_levels.perHost())];
        if (m_levels.isNear(member)) near.push_back(member);
    }
    const bool even = std::all_of(count.begin(), count.end(), [&](std::size_t ranks) {
        return ranks == 0 || ranks == near.size();
    });
    return even ? near : std::vector<int>{rank()};
}

/// The memory in which a group's ranks meet is theirs, and told to the others by the meeting here.
std::unique_ptr<Communicator> HostRingCommunicator::split(std::span<const int> members,
                                                          std::uint32_t group) {
    LevelsPlace part;
    part.all.own = placeAmong(members, rank(), size());
    part.all.group = group;
    part.all.tags = m_tags;
    for (const int p : members) part.all.meshRanks.push_back(m_levels.worldRank(p));
    const std::vector<int> near = neighboursAmong(members);
    const std::size_t slot = RankSlot::bytesFor(static_cast<int>(near.size()));
    Call call;
    call.wanted.operation = kSplitOperation;
    call.wanted.detail = fingerprint(members);
    call.wanted.bytes = group;
    call.wanted.offset =
        m_arena->allocate(slot + Rails::stagingBytes(static_cast<int>(members.size() / near.size()),
                                                     static_cast<int>(near.size())),
                          alignof(RankSlot));
    const Work work = m_thread.submitUnseen(guarded([&](HostWork&) {
        m_levels.meetInside(call);
        part.all.tag = m_levels.all().agreeOnTag(members, group);
        for (const int p : near) {
            std::byte* memory = m_levels.input(placeOf(p));
            part.inside.push_back({m_levels.worldRank(p), m_levels.inside().place(placeOf(p)),
                                   reinterpret_cast<RankSlot*>(memory)});
            part.staging.push_back(memory + slot);
        }
        m_levels.inside().announceDone();
    }));
    work.wait();
    return std::make_unique<HostRingCommunicator>(m_setup, m_arena, std::move(part));
}

}  // namespace

std::unique_ptr<Communicator> makeHostRingCommunicator(const HostRingSetup& setup) {
    const int perHost = setup.segment->worldSize(), own = setup.mesh->rank();
    auto arena = std::make_shared<Arena>(setup.segment, own % perHost, own);
    LevelsPlace place;
    place.all.own = own;
    place.all.tags = std::make_shared<std::atomic<std::uint32_t>>(1);
    for (int p = 0; p < setup.mesh->size(); ++p) place.all.meshRanks.push_back(p);
    // The first that each rank takes, so it lies at the same place of each.
    const std::size_t staging =
        arena->allocate(Rails::stagingBytes(setup.mesh->size() / perHost, perHost), 64);
    for (int p = 0; p < perHost; ++p) {
        place.inside.push_back({own / perHost * perHost + p, p, &setup.segment->slot(p)});
        place.staging.push_back(setup.segment->arena(p) + staging);
    }
    return std::make_unique<HostRingCommunicator>(setup, std::move(arena), std::move(place));
}

}  // namespace shardscope::comm
