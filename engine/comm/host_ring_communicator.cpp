#include "engine/comm/host_ring_communicator.h"

#include "engine/comm/arguments.h"
#include "engine/comm/communication_thread.h"
#include "engine/comm/copy.h"
#include "engine/comm/host_levels.h"
#include "engine/comm/message_numbers.h"
#include "engine/comm/rails.h"

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
        return collective(CollectiveOp::kAllGather, wholeOf(shard, world()), tag, [=, this] {
            m_rails.gather(static_cast<std::byte*>(out), shard.bytes());
        });
    }

    Work allGatherInPlace(const SymmetricBuffer& whole, CollectiveTag tag) override {
        return collective(CollectiveOp::kAllGather, whole, tag, [=, this] {
            m_rails.gatherInPlace(static_cast<std::byte*>(whole.local),
                                  evenParts(whole.bytes(), world()));
        });
    }

    Work reduceScatter(const SymmetricBuffer& full, float* out, Accumulate accumulate,
                       CollectiveTag tag) override {
        requireSummable(full.dtype);
        return collective(CollectiveOp::kReduceScatter, full, tag, [=, this] {
            m_rails.reduce(full.dtype, evenParts(full.count, world()), out,
                           accumulate == Accumulate::kYes);
        });
    }

    Work allReduce(const SymmetricBuffer& buffer, CollectiveTag tag) override {
        requireSummable(buffer.dtype);
        return collective(CollectiveOp::kAllReduce, buffer, tag, [=, this] {
            const std::size_t each = elementBytes(buffer.dtype);
            const Parts parts = evenParts(buffer.count, world());
            auto* local = static_cast<std::byte*>(buffer.local);
            const auto own = static_cast<std::size_t>(rank());
            m_rails.reduceRounded(buffer.dtype, parts, local + parts.begin(own) * each);
            m_levels.meetAgain();  // all parts are there
            m_rails.gatherInPlace(local, parts.scaled(each));
        });
    }

    Work allReduceSmall(std::span<double> values, Reduction reduction, CollectiveTag tag) override {
        requireSmall(values.size());
        auto body = [=, this](HostWork& work, const Call& call) {
            Meeting& inside = m_levels.inside();
            std::copy(values.begin(), values.end(), inside.scratch(inside.own(), inside.next()));
            meetInside(call, work);
            combine(values, reduction, m_levels.perHost(), [&](int place, std::size_t i) {
                return inside.scratch(place, work.meeting)[i];
            });
            m_levels.meetAcross(values);
            combine(values, reduction, m_levels.hosts(),
                    [&](int host, std::size_t i) { return m_levels.rail().value(host, i); });
        };
        return submit(CollectiveOp::kAllReduce, unplaced(values.size(), DataType::kFloat64), tag,
                      std::move(body), static_cast<std::int32_t>(reduction));
    }

    Work broadcast(const SymmetricBuffer& buffer, int root, CollectiveTag tag) override {
        requireRank(root, size());
        auto move = [=, this] {
            m_rails.broadcast(static_cast<std::byte*>(buffer.local), buffer.bytes(), root);
        };
        return collective(CollectiveOp::kBroadcast, buffer, tag, std::move(move),
                          m_levels.worldRank(root));
    }

    Work allToAll(const SymmetricBuffer& send, void* out, CollectiveTag tag) override {
        return collective(CollectiveOp::kAllToAll, send, tag, [=, this] {
            m_rails.exchange(static_cast<const std::byte*>(send.local),
                             static_cast<std::byte*>(out), send.bytes() / world());
        });
    }

    Work send(const SymmetricBuffer& buffer, int to, CollectiveTag tag) override {
        requirePeer(to, rank(), size());
        auto body = [=, this](HostWork& work, const Call& call) {
            if (m_levels.isNear(to)) {
                work.report.startNs = m_levels.inside().offer(call, placeOf(to)).ownNs;
            } else {
                work.report.startNs = meetOther(call, to);
                const BetweenHosts between(m_levels.clock());
                m_levels.all().send(buffer.local, buffer.bytes(), to);
            }
        };
        return submit(CollectiveOp::kSend, buffer, tag, std::move(body), m_levels.worldRank(to),
                      m_messages.sentTo(to));
    }

    Work receive(const SymmetricBuffer& buffer, int from, CollectiveTag tag) override {
        requirePeer(from, rank(), size());
        auto body = [=, this](HostWork& work, const Call& call) {
            if (m_levels.isNear(from)) {
                work.report.startNs = take(call, buffer, placeOf(from));
            } else {
                work.report.startNs = meetOther(call, from);
                const BetweenHosts between(m_levels.clock());
                m_levels.all().receive(buffer.local, buffer.bytes(), from);
            }
        };
        return submit(CollectiveOp::kReceive, buffer, tag, std::move(body),
                      m_levels.worldRank(from), m_messages.receivedFrom(from));
    }

    Work barrier(CollectiveTag tag) override {
        return collective(CollectiveOp::kBarrier, unplaced(0, DataType::kByte), tag, [] {});
    }

    std::unique_ptr<Communicator> split(std::span<const int> members, std::uint32_t group) override;

    void waitPeers(const Work& work) override {
        work.wait();
        const auto& done = static_cast<const HostWork&>(stateOf(work));
        if (done.meeting == 0) return;  // between two ranks: both have done with it
        try {
            m_levels.inside().awaitDone(callOf(done), done.meeting);
        } catch (const CommunicationError& error) {
            m_levels.giveUp(error);
        }
    }

    void abort() override { m_levels.abort(); }

private:
    [[nodiscard]] std::size_t world() const { return static_cast<std::size_t>(size()); }
    [[nodiscard]] int placeOf(int rank) const { return rank % m_levels.perHost(); }

    using Body = std::function<void(HostWork&, const Call&)>;

    /// `number`: of a message, else 0.
    Work submit(CollectiveOp operation, const SymmetricBuffer& buffer, const CollectiveTag& tag,
                Body body, std::int32_t detail = OperationDescriptor::kNone,
                std::uint64_t number = 0) {
        control::CollectiveReport report =
            request(operation, buffer.dtype, buffer.bytes(), tag, "rails", m_setup.protocol);
        report.sequence = number;
        return m_thread.submit(report, guarded([this, detail, offset = buffer.offset,
                                                body = std::move(body)](HostWork& work) {
                                   body(work, callOf(work, detail, offset));
                                   if (work.meeting != 0) m_levels.inside().announceDone();
                                   if (m_levels.hosts() > 1) work.levels = m_levels.clock().take();
                               }));
    }

    /// What goes wrong is passed on to all ranks.
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
    Work collective(CollectiveOp operation, const SymmetricBuffer& buffer, const CollectiveTag& tag,
                    std::function<void()> move, std::int32_t detail = OperationDescriptor::kNone) {
        auto body = [this, move = std::move(move)](HostWork& work, const Call& call) {
            meetInside(call, work);
            m_levels.meetAcross({});
            move();
        };
        return submit(operation, buffer, tag, std::move(body), detail);
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

/// The memory in which a group's ranks meet is theirs; the others learn of it by the meeting here.
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
