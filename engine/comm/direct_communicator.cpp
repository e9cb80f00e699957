#include "engine/comm/direct_communicator.h"

#include "engine/comm/arguments.h"
#include "engine/comm/communication_thread.h"
#include "engine/comm/copy.h"
#include "engine/comm/meeting.h"
#include "engine/comm/message_numbers.h"
#include "engine/comm/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace shardscope::comm {

namespace {

struct DirectSetup {
    std::shared_ptr<Segment> segment;
    std::shared_ptr<Arena> arena;
    std::vector<Meeting::Member> members;
    int own = 0;
    control::Observer* observer = nullptr;
    const char* protocol = "";
    std::chrono::milliseconds timeout{};
    std::uint32_t group = 0;
};

class DirectCommunicator final : public Communicator {
public:
    explicit DirectCommunicator(const DirectSetup& setup)
        : m_setup(setup),
          m_messages(setup.own, static_cast<int>(setup.members.size())),
          m_meeting(setup.segment, setup.members, setup.own, setup.timeout),
          m_thread(setup.observer, setup.group) {}

    int rank() const override { return m_setup.own; }
    int size() const override { return m_meeting.size(); }

    SymmetricBuffer allocate(std::size_t count, DataType dtype) override {
        return m_setup.arena->allocateBuffer(count, dtype);
    }

    Work allGather(const SymmetricBuffer& shard, void* out, CollectiveTag tag) override {
        return collective(CollectiveOp::kAllGather, wholeOf(shard, world()), tag, [=, this] {
            auto* to = static_cast<std::byte*>(out);
            for (int p = 0; p < size(); ++p, to += shard.bytes()) {
                copyRow(to, input(p), shard.bytes());
            }
        });
    }

    Work allGatherInPlace(const SymmetricBuffer& whole, CollectiveTag tag) override {
        return collective(CollectiveOp::kAllGather, whole, tag, [=, this] {
            const std::size_t bytes = whole.bytes() / world();
            auto* local = static_cast<std::byte*>(whole.local);
            for (int p = 0; p < size(); ++p) {
                const std::size_t begin = static_cast<std::size_t>(p) * bytes;
                if (p != rank()) copyRow(local + begin, input(p) + begin, bytes);
            }
        });
    }

    Work reduceScatter(const SymmetricBuffer& full, float* out, Accumulate accumulate,
                       CollectiveTag tag) override {
        requireSummable(full.dtype);
        return collective(CollectiveOp::kReduceScatter, full, tag, [=, this] {
            const std::size_t n = full.count / world();
            sumSources(sources(n * own(), full.dtype), full.dtype, out, n,
                       accumulate == Accumulate::kYes);
        });
    }

    Work allReduce(const SymmetricBuffer& buffer, CollectiveTag tag) override {
        requireSummable(buffer.dtype);
        return submit(CollectiveOp::kAllReduce, buffer, tag,
                      [=, this](HostWork& work, const Call& call) {
                          meetAlike(call, work);
                          sumOwnSlice(buffer);
                          m_meeting.meet(call);  // all slices are there
                          gatherSlices(buffer);
                      });
    }

    Work allReduceSmall(std::span<double> values, Reduction reduction, CollectiveTag tag) override {
        requireSmall(values.size());
        auto body = [=, this](HostWork& work, const Call& call) {
            std::copy(values.begin(), values.end(), m_meeting.scratch(rank(), m_meeting.next()));
            meetAlike(call, work);
            combine(values, reduction, size(),
                    [&](int p, std::size_t i) { return m_meeting.scratch(p, work.meeting)[i]; });
        };
        return submit(CollectiveOp::kAllReduce, unplaced(values.size(), DataType::kFloat64), tag,
                      std::move(body), static_cast<std::int32_t>(reduction));
    }

    Work broadcast(const SymmetricBuffer& buffer, int root, CollectiveTag tag) override {
        requireRank(root, size());
        auto move = [=, this] {
            if (root != rank()) copyRow(buffer.local, input(root), buffer.bytes());
        };
        return collective(CollectiveOp::kBroadcast, buffer, tag, std::move(move),
                          m_meeting.worldRank(root));
    }

    Work allToAll(const SymmetricBuffer& send, void* out, CollectiveTag tag) override {
        return collective(CollectiveOp::kAllToAll, send, tag, [=, this] {
            const std::size_t part = send.bytes() / world();
            auto* to = static_cast<std::byte*>(out);
            for (int p = 0; p < size(); ++p, to += part) {
                copyRow(to, input(p) + own() * part, part);
            }
        });
    }

    Work send(const SymmetricBuffer& buffer, int to, CollectiveTag tag) override {
        requirePeer(to, rank(), size());
        auto body = [=, this](HostWork& work, const Call& call) {
            noteArrivals(work, m_meeting.offer(call, to), to);
        };
        return submit(CollectiveOp::kSend, buffer, tag, std::move(body), m_meeting.worldRank(to),
                      m_messages.sentTo(to));
    }

    Work receive(const SymmetricBuffer& buffer, int from, CollectiveTag tag) override {
        requirePeer(from, rank(), size());
        auto body = [=, this](HostWork& work, const Call& call) {
            OperationDescriptor found;
            noteArrivals(work, m_meeting.await(call, from, found), from);
            copyRow(buffer.local, peerArena(from) + found.offset, buffer.bytes());
            m_meeting.announceTaken(from);
        };
        return submit(CollectiveOp::kReceive, buffer, tag, std::move(body),
                      m_meeting.worldRank(from), m_messages.receivedFrom(from));
    }

    Work barrier(CollectiveTag tag) override {
        return collective(CollectiveOp::kBarrier, unplaced(0, DataType::kByte), tag, [] {});
    }

    std::unique_ptr<Communicator> split(std::span<const int> members,
                                        std::uint32_t group) override {
        const int place = placeAmong(members, rank(), size());
        Call call;
        call.wanted.operation = kSplitOperation;
        call.wanted.detail = fingerprint(members);
        call.wanted.bytes = group;
        call.wanted.offset = m_setup.arena->allocate(
            RankSlot::bytesFor(static_cast<int>(members.size())), alignof(RankSlot));
        DirectSetup part = m_setup;
        part.own = place;
        part.group = group;
        part.members.clear();
        const Work work = m_thread.submitUnseen([&](HostWork&) {
            m_meeting.meet(call);
            for (const int p : members) {
                m_meeting.requireSame(call, p);
                part.members.push_back({m_meeting.worldRank(p), m_meeting.place(p),
                                        reinterpret_cast<RankSlot*>(input(p))});
            }
            m_meeting.announceDone();
        });
        work.wait();
        return std::make_unique<DirectCommunicator>(part);
    }

    void waitPeers(const Work& work) override {
        work.wait();
        const auto& done = static_cast<const HostWork&>(stateOf(work));
        if (done.meeting == 0) return;  // between two ranks: both have done with it
        m_meeting.awaitDone(callOf(done), done.meeting);
    }

    void abort() override { m_meeting.abort(); }

    [[nodiscard]] std::byte* peerArena(int p) const {
        return m_setup.segment->arena(m_meeting.place(p));
    }

private:
    [[nodiscard]] std::size_t world() const { return static_cast<std::size_t>(size()); }
    [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(rank()); }
    /// What rank `p` brought to the last meeting.
    [[nodiscard]] std::byte* input(int p) const {
        return peerArena(p) + m_meeting.wanted(p).offset;
    }
    /// All ranks' inputs from element `begin` on.
    [[nodiscard]] std::span<const void* const> sources(std::size_t begin, DataType dtype) {
        m_sources.clear();
        for (int p = 0; p < size(); ++p)
            m_sources.push_back(input(p) + begin * elementBytes(dtype));
        return m_sources;
    }

    using Body = std::function<void(HostWork&, const Call&)>;

    /// `number`: of a message, else 0.
    Work submit(CollectiveOp operation, const SymmetricBuffer& buffer, const CollectiveTag& tag,
                Body body, std::int32_t detail = OperationDescriptor::kNone,
                std::uint64_t number = 0) {
        control::CollectiveReport report =
            request(operation, buffer.dtype, buffer.bytes(), tag, "direct", m_setup.protocol);
        report.sequence = number;
        return m_thread.submit(
            report, [this, detail, offset = buffer.offset, body = std::move(body)](HostWork& work) {
                body(work, callOf(work, detail, offset));
                if (work.meeting != 0) m_meeting.announceDone();
            });
    }

    /// An operation with one meeting, after which `move` has all inputs.
    Work collective(CollectiveOp operation, const SymmetricBuffer& buffer, const CollectiveTag& tag,
                    std::function<void()> move, std::int32_t detail = OperationDescriptor::kNone) {
        auto body = [this, move = std::move(move)](HostWork& work, const Call& call) {
            meetAlike(call, work);
            move();
        };
        return submit(operation, buffer, tag, std::move(body), detail);
    }

    void meetAlike(const Call& call, HostWork& work) {
        work.meeting = m_meeting.next();
        work.report.startNs = m_meeting.meet(call);
        work.arrivals = m_meeting.arrivals();
        for (int p = 0; p < size(); ++p) m_meeting.requireSame(call, p);
    }

    /// Ranks that do not take part kept no other waiting.
    void noteArrivals(HostWork& work, const Meeting::Pair& pair, int peer) const {
        work.report.startNs = pair.ownNs;
        work.arrivals.assign(world(), pair.ownNs);
        work.arrivals[static_cast<std::size_t>(peer)] = pair.peerNs;
    }

    [[nodiscard]] std::size_t sliceBegin(const SymmetricBuffer& buffer, std::size_t p) const {
        return buffer.count * p / world();
    }

    /// Rank r sums slice r into its own buffer, which no other rank reads there.
    void sumOwnSlice(const SymmetricBuffer& buffer) {
        const std::size_t begin = sliceBegin(buffer, own());
        sumSourcesRounded(
            sources(begin, buffer.dtype), buffer.dtype,
            static_cast<std::byte*>(buffer.local) + begin * elementBytes(buffer.dtype),
            sliceBegin(buffer, own() + 1) - begin);
    }

    void gatherSlices(const SymmetricBuffer& buffer) const {
        const std::size_t each = elementBytes(buffer.dtype);
        for (std::size_t p = 0; p < world(); ++p) {
            if (p == own()) continue;
            const std::size_t begin = sliceBegin(buffer, p) * each;
            copyRow(static_cast<std::byte*>(buffer.local) + begin,
                    input(static_cast<int>(p)) + begin, sliceBegin(buffer, p + 1) * each - begin);
        }
    }

    const DirectSetup m_setup;
    MessageNumbers m_messages;  // step thread
    Meeting m_meeting;
    std::vector<const void*> m_sources;  // communication thread
    CommunicationThread m_thread;        // last: uses all of the above
};

}  // namespace

std::unique_ptr<Communicator> makeDirectCommunicator(std::shared_ptr<Segment> segment, int rank,
                                                     control::Observer* observer,
                                                     const char* protocol,
                                                     std::chrono::milliseconds timeout) {
    DirectSetup setup;
    for (int p = 0; p < segment->worldSize(); ++p)
        setup.members.push_back({p, p, &segment->slot(p)});
    setup.arena = std::make_shared<Arena>(segment, rank, rank);
    setup.segment = std::move(segment);
    setup.own = rank;
    setup.observer = observer;
    setup.protocol = protocol;
    setup.timeout = timeout;
    return std::make_unique<DirectCommunicator>(setup);
}

std::vector<std::byte*> everyRanks(const Communicator& direct, const SymmetricBuffer& buffer) {
    const auto& ranks = dynamic_cast<const DirectCommunicator&>(direct);
    std::vector<std::byte*> views;
    for (int p = 0; p < ranks.size(); ++p) views.push_back(ranks.peerArena(p) + buffer.offset);
    return views;
}

}  // namespace shardscope::comm
