// Ranks of several hosts as one of them sees them: those of its own host, which share memory, and
// its rail, the ranks at its place on the other hosts, which it reaches by messages.
//
// Every host has as many ranks; hosts and places are numbered from 0, and rank is host times ranks
// of a host plus place. A group whose ranks lie unevenly is seen as hosts of one rank each.
// Communication thread, but for what says otherwise.
#pragma once

#include "engine/comm/meeting.h"
#include "engine/comm/ring.h"
#include "engine/control/observer.h"
#include "storage/model/host_clock.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace shardscope::comm {

// When an operation of ranks on several hosts was busy between hosts, and when inside this one.
// Communication thread.

class LevelClock {
public:
    void begin(std::int64_t ns) { m_levels = {{control::Level::kInsideHost, ns, ns}}; }

    /// Everything from now on, up to the next call.
    void enter(control::Level level) {
        if (m_levels.empty() || m_levels.back().level == level) return;
        const std::int64_t ns = hostNow();
        m_levels.back().endNs = ns;
        m_levels.push_back({level, ns, ns});
    }

    /// Since begin(); the last one is still open.
    [[nodiscard]] std::vector<control::LevelReport> take() { return std::exchange(m_levels, {}); }

private:
    std::vector<control::LevelReport> m_levels;
};

/// Waiting for another host, while it lives.
class BetweenHosts {
public:
    explicit BetweenHosts(LevelClock& clock) : m_clock(clock) {
        m_clock.enter(control::Level::kBetweenHosts);
    }
    ~BetweenHosts() { m_clock.enter(control::Level::kInsideHost); }
    BetweenHosts(const BetweenHosts&) = delete;
    BetweenHosts& operator=(const BetweenHosts&) = delete;

private:
    LevelClock& m_clock;
};

/// Which ranks a communicator joins.
struct LevelsPlace {
    RingPlace all;                        ///< every rank of it, by ranks of the run
    std::vector<Meeting::Member> inside;  ///< those of this rank's host
    std::vector<std::byte*> staging;      ///< of each of them; null: this rank has a host alone
};

struct LevelsSetup {
    std::shared_ptr<Segment> segment;  ///< of the ranks of this host
    std::shared_ptr<Mesh> mesh;        ///< of all ranks of the run
    std::chrono::milliseconds timeout{};
    control::Observer* memory = nullptr;
};

class HostLevels {
public:
    HostLevels(const LevelsSetup& setup, LevelsPlace place);

    // Any thread.
    [[nodiscard]] int rank() const { return m_all.own(); }
    [[nodiscard]] int size() const { return m_all.size(); }
    [[nodiscard]] int hosts() const { return m_rail.size(); }
    [[nodiscard]] int perHost() const { return m_inside.size(); }
    [[nodiscard]] int host() const { return m_rail.own(); }
    [[nodiscard]] int place() const { return m_inside.own(); }
    [[nodiscard]] int rankAt(int host, int place) const { return host * perHost() + place; }
    [[nodiscard]] int worldRank(int rank) const { return m_all.meshRank(rank); }
    [[nodiscard]] bool isNear(int rank) const { return rank / perHost() == host(); }

    [[nodiscard]] Meeting& inside() { return m_inside; }
    [[nodiscard]] Ring& rail() { return m_rail; }
    [[nodiscard]] Ring& all() { return m_all; }
    [[nodiscard]] LevelClock& clock() { return m_clock; }

    /// Waits for the ranks of the host. Returns when this one arrived. They may ask for different
    /// things, which meetAcross() tells all hosts: it comes next.
    std::int64_t meetInside(const Call& call);
    /// Waits for the rail, and so for all ranks. Throws CommunicationError when any rank asks for
    /// something else.
    void meetAcross(std::span<const double> values);
    /// Both.
    std::int64_t meet(const Call& call);
    /// In the midst of an operation: the ranks of the host have come as far as this one.
    void meetAgain();

    /// What the rank at a place of this host brought to the operation.
    [[nodiscard]] std::byte* input(int place) const { return m_inputs[at(place)]; }
    /// Where it gathers what comes from other hosts.
    [[nodiscard]] std::byte* staging(int place) const { return m_staging[at(place)]; }

    /// Tells all ranks that this one gives up for `error`, and throws what the first of them said.
    /// Any thread.
    [[noreturn]] void giveUp(const CommunicationError& error);
    void abort();  ///< any thread

private:
    [[nodiscard]] static std::size_t at(int place) { return static_cast<std::size_t>(place); }
    [[nodiscard]] Ring::Other oddNeighbour() const;

    const std::shared_ptr<Segment> m_segment;
    const std::shared_ptr<Mesh> m_mesh;
    const std::vector<std::byte*> m_staging;
    Meeting m_inside;
    Ring m_rail, m_all;
    LevelClock m_clock;
    Call m_call;
    std::vector<std::byte*> m_inputs;
};

}  // namespace shardscope::comm
