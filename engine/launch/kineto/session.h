// One window of all ranks of a program, through Kineto's requests: which processes are ranks, what
// each is asked for and when, and what came of it.
//
// Fed with datagrams and ticks, and with the time, so that it never waits and tests need no clock.
// Kineto reports nothing but "idle" or "not idle": that a window was taken, went on and ended is
// seen by that and by the file. A request that a process dropped is repeated (by steps), or named
// as lost (by time). One that waited in vain for an answer (90 ms) reads it instead of the next
// one's, so that whatever we say may come one request late.
#pragma once

#include "engine/launch/kineto/process_eyes.h"
#include "engine/launch/kineto/protocol.h"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::launch::kineto {

using Milliseconds = std::chrono::milliseconds;

/// Kineto looks once a second for what it was asked for, and wants its warm-up to fit before.
inline constexpr std::int64_t kWarmUpMs = 1000, kTurnMs = 1000;

/// What each rank records; by time unless `steps` are given.
struct Window {
    Milliseconds length{500};
    std::int32_t steps = 0;     ///< optimizer steps; 0: by time
    std::int32_t fromStep = 0;  ///< where that has passed, the next multiple of it
    bool stacks = false;        ///< Python functions too
};

struct SessionRequest {
    Window window;
    std::string folder;           ///< for traces, unless a process demands another place for them
    std::vector<pid_t> only;      ///< other processes are none of ours; empty: all that ask
    pid_t root = 0;               ///< whose descendants the program's processes are; 0: unknown
    Milliseconds interval{5000};  ///< between two requests of a process
    Milliseconds after{0};        ///< from when all ranks are there to the window
    Milliseconds wait{60'000};    ///< for ranks to ask, and to write once the window is over
    bool endless = false;         ///< waits for the first rank until stop()
    std::string socketFolder;     ///< where processes look for us; empty: the machine's name
};

struct Taken {
    std::int32_t rank = 0;
    pid_t pid = 0;
    std::string trace;
    std::string command;
    /// Of its optimizer's first run in the trace, counted from that of the rank that comes first:
    /// windows by time may begin in different steps.
    std::int32_t firstStep = 0;
};
struct Lost {
    std::optional<std::int32_t> rank;
    pid_t pid = 0;  ///< 0: no process is known
    std::string reason;
    bool ended = false;
};
struct Outcome {
    std::vector<Taken> taken;
    std::vector<Lost> lost;
    std::vector<std::string> notes;  ///< sentences: what was left out, and numbers that were given
    std::int32_t ranks = 0;          ///< of the program, as it says; 0: unknown
    std::int32_t asked = 0;          ///< processes that asked us for work
};

class Session {
public:
    explicit Session(SessionRequest request,
                     std::shared_ptr<const ProcessEyes> eyes = std::make_shared<ProcessEyes>());

    /// `pid` and `user` as the kernel has them; 0: not seen from here. The answer, if one is due.
    std::optional<std::string> hear(std::string_view datagram, pid_t pid, uid_t user,
                                    std::int64_t nowMs);
    /// At least once a second.
    void tick(std::int64_t nowMs);
    /// The program has ended, or the user wants no more: what is there counts.
    void stop(const std::string& reason);
    [[nodiscard]] bool isOver() const { return m_stage == Stage::kOver; }
    /// Ranks have been asked for the window.
    [[nodiscard]] bool hasBegun() const { return m_stage != Stage::kGathering; }
    /// How many ranks are there, and how many have written.
    [[nodiscard]] std::pair<int, int> progress() const;
    /// Once it is over.
    [[nodiscard]] Outcome outcome() const;
    /// All that ranks were asked to write, to be removed.
    [[nodiscard]] const std::set<std::string>& files() const { return m_files; }

private:
    enum class Stage : std::uint8_t { kGathering, kWindow, kOver };
    enum class Role : std::uint8_t { kRank, kLauncher, kHelper, kTwice };
    enum class State : std::uint8_t { kKnown, kAsked, kTaken, kIdleProcess, kLost };
    struct Process {
        pid_t pid = 0;     ///< as we see it
        pid_t ownPid = 0;  ///< as it sees itself
        ProcessLook look;
        std::optional<Role> named;  ///< by its command
        Role role = Role::kRank;
        State state = State::kKnown;
        bool wasBusy = false;
        bool isIdle = true;
        int idleSinceAsked = 0;
        int idleWithPart = 0;  ///< requests since, while its trace was there and not whole
        std::string trace;
        TraceLook written;  ///< of `trace`
        std::string kept;   ///< of an earlier try
        std::string reason;
        bool ended = false;
        [[nodiscard]] bool isOpen() const {
            return role == Role::kRank && (state == State::kKnown || state == State::kAsked);
        }
    };

    Process* processOf(const Request& request, pid_t pid, std::int64_t nowMs);
    [[nodiscard]] bool isNamed(pid_t pid) const;
    [[nodiscard]] bool isOurs(pid_t pid) const;
    [[nodiscard]] bool isHopeless(pid_t pid) const;
    void assignRoles();
    [[nodiscard]] static std::optional<Role> roleByName(const std::string& command);
    [[nodiscard]] Role roleOf(const Process& process) const;
    [[nodiscard]] std::string answerFor(Process& process, std::int64_t nowMs);
    [[nodiscard]] std::string configuration(const Process& process) const;
    void ask(Process& process);
    void lookAtTrace(Process& process);
    void lose(Process& process, const std::string& reason);
    [[nodiscard]] bool isAligned() const;
    bool repeats();
    void settleTries();
    void noteEnds();
    void noteOthers(std::int64_t nowMs);
    void noteLate(std::int64_t nowMs);
    [[nodiscard]] bool isGathered(std::int64_t nowMs) const;
    [[nodiscard]] bool mayComeLater(std::int64_t nowMs) const;
    void begin(std::int64_t nowMs);
    [[nodiscard]] std::size_t rankCount() const;
    [[nodiscard]] std::size_t expected() const;
    [[nodiscard]] std::string whyNot(pid_t pid) const;
    void addMissing(Outcome& outcome) const;
    void addTaken(Outcome& outcome) const;
    [[nodiscard]] std::int32_t firstStepOf(const Process& process) const;

    /// Of a process that has not asked.
    struct Other {
        ProcessLook look;
        bool hasTorch = false;
        bool alive = true;
    };

    SessionRequest m_request;
    std::shared_ptr<const ProcessEyes> m_eyes;
    std::map<pid_t, Process> m_processes;
    std::map<pid_t, Other> m_others;
    std::set<pid_t> m_foreign;  ///< of other users
    std::set<std::string> m_files;
    Stage m_stage = Stage::kGathering;
    std::string m_stopped;  ///< why stop() was called
    std::optional<std::int64_t> m_startedMs, m_firstMs, m_lastNewMs, m_firstTakenMs;
    std::int64_t m_nextOthersMs = 0;
    std::int64_t m_windowMs = 0;  ///< its begin on the wall clock, by time
    int m_try = 0;                ///< of a window by steps
    std::int32_t m_fromStep;      ///< of this try
    bool m_isAligned = true;      ///< all ranks have taken the same steps, or the same time
};

}  // namespace shardscope::launch::kineto
