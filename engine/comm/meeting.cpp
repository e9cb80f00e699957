#include "engine/comm/meeting.h"

#include "engine/comm/peer_process.h"
#include "storage/model/host_clock.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace shardscope::comm {
namespace {

constexpr std::int64_t kSliceNs = 200'000'000;  // how often waiting ranks look around

void wake(std::atomic<std::uint32_t>& word) {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// Whether `a` is at or past `b`, across the wrap of 32 bits.
bool reached(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a - b) >= 0;
}

void announce(std::atomic<std::uint32_t>& word, std::uint32_t number) {
    word.store(number, std::memory_order_release);
    wake(word);
}

/// Send and receive fit together when they move the same.
bool fits(const OperationDescriptor& send, const OperationDescriptor& receive) {
    return send.bytes == receive.bytes && send.dtype == receive.dtype;
}

}  // namespace

Meeting::Meeting(std::shared_ptr<Segment> segment, std::vector<Member> members, int own,
                 std::chrono::milliseconds timeout, std::shared_ptr<Mesh> mesh)
    : m_segment(std::move(segment)),
      m_members(std::move(members)),
      m_own(own),
      m_timeout(timeout),
      m_mesh(std::move(mesh)),
      m_arrivals(m_members.size()),
      m_sent(m_members.size()),
      m_received(m_members.size()) {
    const ProcessIdentity process = thisProcess();
    slot(m_own).startTicks.store(process.startTicks, std::memory_order_relaxed);
    slot(m_own).pid.store(process.pid, std::memory_order_release);
}

Meeting::~Meeting() {
    RankSlot& mine = slot(m_own);
    mine.left.store(1, std::memory_order_release);
    wake(mine.arrived);
    wake(mine.done);
}

std::int64_t Meeting::meet(const Call& call, std::chrono::milliseconds more) {
    const std::uint32_t number = ++m_meeting;
    const std::size_t place = number % RankSlot::kRing;
    RankSlot& mine = slot(m_own);
    mine.operations[place] = call.wanted;
    const std::int64_t arrival = hostNow();
    mine.arrivalNs[place] = arrival;
    announce(mine.arrived, number);
    for (int p = 0; p < size(); ++p) {
        until(slot(p).arrived, number, {call, p, Watch::kMeeting, more});
        m_arrivals[at(p)] = slot(p).arrivalNs[place];
    }
    return arrival;
}

const OperationDescriptor& Meeting::wanted(int rank) const {
    return slot(rank).operations[m_meeting % RankSlot::kRing];
}

void Meeting::requireSame(const Call& call, int rank) const {
    if (call.wanted.matches(wanted(rank))) return;
    throw CommunicationError(mismatch(call, worldRank(m_own), wanted(rank), worldRank(rank)));
}

void Meeting::announceDone() {
    announce(slot(m_own).done, m_meeting);
}

Meeting::Pair Meeting::offer(const Call& call, int to) {
    const std::uint32_t number = ++m_sent[at(to)];
    PairCell& mine = slot(m_own).with(to);
    PairCell& theirs = slot(to).with(m_own);
    const std::int64_t arrival = hostNow();
    mine.offers[number % 2] = {call.wanted, arrival};
    announce(mine.offered, number);
    until(theirs.awaited, number, {call, to, Watch::kOffer});
    const PairCell::Side side = theirs.awaits[number % 2];
    if (!fits(call.wanted, side.wanted)) {
        throw CommunicationError(mismatch(call, worldRank(m_own), side.wanted, worldRank(to)));
    }
    until(theirs.taken, number, {call, to, Watch::kCompletion});
    return {arrival, side.arrivalNs};
}

Meeting::Pair Meeting::await(const Call& call, int from, OperationDescriptor& found) {
    const std::uint32_t number = ++m_received[at(from)];
    PairCell& mine = slot(m_own).with(from);
    PairCell& theirs = slot(from).with(m_own);
    const std::int64_t arrival = hostNow();
    mine.awaits[number % 2] = {call.wanted, arrival};
    announce(mine.awaited, number);
    until(theirs.offered, number, {call, from, Watch::kAwait});
    const PairCell::Side side = theirs.offers[number % 2];
    if (!fits(side.wanted, call.wanted)) {
        throw CommunicationError(mismatch(call, worldRank(m_own), side.wanted, worldRank(from)));
    }
    found = side.wanted;
    return {arrival, side.arrivalNs};
}

void Meeting::announceTaken(int from) {
    announce(slot(m_own).with(from).taken, m_received[at(from)]);
}

void Meeting::awaitDone(const Call& call, std::uint32_t meeting) const {
    for (int p = 0; p < size(); ++p) until(slot(p).done, meeting, {call, p, Watch::kCompletion});
}

void Meeting::abort() const {
    std::uint32_t none = 0;
    m_segment->aborted().compare_exchange_strong(none,
                                                 1 + static_cast<std::uint32_t>(worldRank(m_own)));
    for (const Member& member : m_members) {  // the rest look around by themselves
        wake(member.slot->arrived);
        wake(member.slot->done);
    }
}

void Meeting::until(std::atomic<std::uint32_t>& word, std::uint32_t number,
                    const Wait& wait) const {
    const std::int64_t timeoutNs = std::chrono::nanoseconds(m_timeout + wait.more).count();
    std::int64_t begin = 0;
    bool slept = false;
    WaitWatch::Waiting reported;
    for (;;) {
        const std::uint32_t seen = word.load(std::memory_order_acquire);
        if (reached(seen, number)) return;
        const std::string gone = whyGone(wait);
        const std::string parted = gone.empty() ? whyParted(wait) : std::string();
        std::string why = gone + parted;
        if (why.empty() && slept) why = whyLost(wait);  // takes a look into /proc
        // It may have arrived and then gone.
        if (!why.empty() && !reached(word.load(std::memory_order_acquire), number)) {
            if (!parted.empty()) throw CommunicationError(parted);
            if (!gone.empty()) throw PeerGone(gone, worldRank(wait.peer));
            throw PeerError(why, worldRank(wait.peer));
        }
        const std::int64_t time = hostNow();
        if (begin == 0) begin = time;
        if (slept && m_mesh && !reported) reported = m_mesh->waitsFor(worldRank(wait.peer));
        const std::int64_t leftNs = timeoutNs - (time - begin);
        if (leftNs <= 0) throw PeerLate(hung(wait), worldRank(wait.peer));
        const timespec slice{0, std::min(leftNs, kSliceNs)};
        slept = ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &slice, nullptr, 0) != 0 &&
                errno == ETIMEDOUT;
    }
}

std::string Meeting::whyGone(const Wait& wait) const {
    const int peer = worldRank(wait.peer);
    if (const std::uint32_t aborter = m_segment->aborted().load(); aborter != 0) {
        return fmt::format("rank {} gave up while rank {} waited for rank {} in {}", aborter - 1,
                           worldRank(m_own), peer, describe(wait.call));
    }
    if (slot(wait.peer).left.load(std::memory_order_acquire) != 0) {
        return fmt::format("rank {} has left while rank {} waited for it in {}", peer,
                           worldRank(m_own), describe(wait.call));
    }
    return {};
}

/// Each rank carries out its operations in turn: a peer that waits for this rank in another one
/// will not come to this one.
std::string Meeting::whyParted(const Wait& wait) const {
    if (wait.watch == Watch::kCompletion || wait.peer == m_own) return {};
    const auto described = [&](const OperationDescriptor& theirs) {
        return mismatch(wait.call, worldRank(m_own), theirs, worldRank(wait.peer));
    };
    const std::size_t peer = at(wait.peer);
    PairCell& theirs = slot(wait.peer).with(m_own);
    const std::uint32_t offered = theirs.offered.load(std::memory_order_acquire);
    if (wait.watch != Watch::kAwait && !reached(m_received[peer], offered)) {
        return described(theirs.offers[offered % 2].wanted);
    }
    const std::uint32_t awaited = theirs.awaited.load(std::memory_order_acquire);
    if (wait.watch != Watch::kOffer && !reached(m_sent[peer], awaited)) {
        return described(theirs.awaits[awaited % 2].wanted);
    }
    const std::uint32_t arrived = slot(wait.peer).arrived.load(std::memory_order_acquire);
    if (wait.watch != Watch::kMeeting && !reached(m_meeting, arrived)) {
        return described(slot(wait.peer).operations[arrived % RankSlot::kRing]);
    }
    return {};
}

std::string Meeting::whyLost(const Wait& wait) const {
    const RankSlot& theirs = slot(wait.peer);
    const std::int64_t pid = theirs.pid.load(std::memory_order_acquire);
    if (stateOf({pid, theirs.startTicks.load()}) != ProcessState::kGone) return {};
    return fmt::format("rank {} (process {}) has ended while rank {} waited for it in {}",
                       worldRank(wait.peer), pid, worldRank(m_own), describe(wait.call));
}

std::string Meeting::hung(const Wait& wait) const {
    const RankSlot& theirs = slot(wait.peer);
    const std::int64_t pid = theirs.pid.load(std::memory_order_acquire);
    std::string more;
    if (pid == 0) more = "; it has not even started";
    if (stateOf({pid, theirs.startTicks.load()}) == ProcessState::kStopped) {
        more = fmt::format("; its process {} is stopped", pid);
    }
    return fmt::format("rank {} has not {} {} for {:g} s{}", worldRank(wait.peer),
                       wait.watch == Watch::kCompletion ? "finished" : "joined",
                       describe(wait.call),
                       std::chrono::duration<double>(m_timeout + wait.more).count(), more);
}

}  // namespace shardscope::comm
