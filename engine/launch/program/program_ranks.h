// The processes of a program that speak to us: which rank each is, and what it says, passed on as
// that rank's.
//
// A process has no rank until it claims one; what it says until then is held. torchrun starts ranks
// anew after a failure: a later process of a rank goes on where the one before it ended. One
// thread.
#pragma once

#include "engine/launch/program/program_peer.h"
#include "engine/launch/program/stall_watch.h"
#include "engine/launch/run_supervisor.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/recording.h"
#include "storage/model/recording_clock.h"

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

struct ProgramRanksOptions {
    std::string folder;         ///< for what is held
    std::int64_t originNs = 0;  ///< host clock at the recording clock's zero
    std::int32_t part = 0;      ///< number of the only rank, where none is claimed
};

class ProgramRanks {
public:
    struct Peer {
        ProgramPeer link;
        AttemptOffsets offsets;
    };

    ProgramRanks(ProgramRanksOptions options, RunSink& sink)
        : m_options(std::move(options)), m_sink(sink) {}

    /// Of the process at the other end of `socket`. Stays where it is.
    Peer& connect(FileDescriptor socket);
    [[nodiscard]] std::list<Peer>& peers() { return m_peers; }
    /// What has arrived from it.
    void receive(Peer& peer);
    /// Its process has ended.
    void noteEnd(Peer& peer);
    /// The program has ended: without any rank, what trained or computed is one.
    void claimTheRest();
    /// Then names the ranks whose last events are missing.
    void sayCutOff();
    /// What it and the attempts before it recorded, and `more` events of ours.
    void finish(const Peer& peer, std::uint64_t more);

    /// To all processes.
    void tell(const capture::LinkMessage& message);
    /// As tell(), and to those that come.
    void correctClock(const ClockLine& line);
    void close();
    void say(Severity severity, const std::string& code, const std::string& text,
             const std::string& remedy, std::optional<RankId> rank);

    /// Collectives in which a rank has waited for `limit` or longer.
    std::vector<Stall> stalls(Duration limit) { return m_stalls.look(limit); }
    /// A rank whose process is alive and speaks to us.
    [[nodiscard]] bool anyLives() const;
    [[nodiscard]] bool isEmpty() const { return m_numbers.empty(); }
    [[nodiscard]] bool has(RankId rank) const { return m_numbers.contains(rank); }
    [[nodiscard]] std::int32_t count() const { return static_cast<std::int32_t>(m_numbers.size()); }
    [[nodiscard]] std::optional<RankId> lowest() const;
    /// One more than the highest rank; 0: there is none.
    [[nodiscard]] std::int32_t highestCount() const;
    /// A number that no rank has had.
    [[nodiscard]] RankId free() const;
    /// Of the attempts at a rank; null: it never spoke to us.
    [[nodiscard]] const Peer* newestOf(RankId rank) const;

private:
    void take(Peer& peer, capture::LinkMessage& message);
    void fact(Peer& peer, const capture::ProcessFact& fact);
    void claim(Peer& peer, std::int32_t rank, const std::string& source);
    void introduce(Peer& peer);
    void pass(Peer& peer, capture::LinkMessage& message);
    void passStep(Peer& peer, capture::StepEnded& step);

    const ProgramRanksOptions m_options;
    RunSink& m_sink;
    std::list<Peer> m_peers;
    StallWatch m_stalls;
    std::map<RankId, RankNumbers> m_numbers;
    std::optional<ClockLine> m_clock;  ///< of the last correction
    bool m_saidNoShim = false, m_saidNoStacks = false;
};

}  // namespace shardscope::launch
