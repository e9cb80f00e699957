// What is known of each process of a program: rows for the recording, and why what was not recorded
// was not.
//
// One thread, the supervisor's.
#pragma once

#include "engine/launch/program/process_end.h"
#include "engine/launch/program/process_evidence.h"
#include "engine/launch/program/process_tree.h"
#include "engine/launch/run_supervisor.h"
#include "storage/model/events.h"
#include "storage/model/process_facts.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::launch {

/// What a process said of itself.
struct ReportedProcess {
    std::string role;  ///< a word of ProcessRole; empty: it did not say
    std::int32_t rank = -1;
    std::int32_t attempt = 0;
    KnownEnd end;
};

class ProcessLog {
public:
    /// `originNs`: host clock at the recording clock's zero. `proc`: for tests.
    ProcessLog(pid_t root, GivenVariables given, std::int64_t originNs, std::string proc = "/proc");

    /// It reports to us; while it lives, so that its number is its own.
    void connected(pid_t pid);
    /// Once a second.
    void look(Timestamp now);

    /// Once the program's first process has ended, with what it used with all that it waited for.
    void rootEnded(const KnownEnd& end, Timestamp time, std::int64_t cpuNs, Bytes peak);
    void reported(pid_t pid, const ReportedProcess& said);

    [[nodiscard]] const ProcessTree& tree() const { return m_tree; }
    /// Whether one of them was or is Python, which may report to us yet.
    [[nodiscard]] bool hadPython() const { return m_hadPython; }
    [[nodiscard]] std::int64_t cpuNs() const;
    [[nodiscard]] std::vector<ProcessFacts> rows() const;
    /// One for all processes that were not recorded for the same reason.
    [[nodiscard]] std::vector<Diagnostic> diagnostics(Timestamp now) const;

private:
    struct Entry {
        TreeProcess process;
        FileDescriptor handle;
        ProcessEvidence evidence;
        std::uint32_t looks = 0, nextLook = 0;
        bool connected = false;
        std::optional<ReportedProcess> said;
        KnownEnd end;
        std::optional<Timestamp> ended;
    };
    using Key = std::pair<pid_t, std::uint64_t>;  ///< and its start

    Entry& entryOf(const TreeProcess& process);
    Entry& newestOf(pid_t pid, bool connected);
    void examine(Entry& entry);
    void noteEnd(Entry& entry, Timestamp now);
    [[nodiscard]] ProcessRole roleOf(const Entry& entry) const;
    [[nodiscard]] std::optional<NotRecorded> whyNot(const Entry& entry) const;
    [[nodiscard]] ProcessFacts rowOf(const Entry& entry) const;
    [[nodiscard]] Timestamp timeOf(std::uint64_t ticks) const;

    pid_t m_root;
    GivenVariables m_given;
    std::int64_t m_zeroNs;  ///< of the recording, since the machine's start
    std::string m_proc;
    ProcessTree m_tree;
    std::map<Key, Entry> m_entries;
    std::size_t m_handles = 0;
    std::int64_t m_rootCpuNs = 0;
    bool m_hadPython = false;
};

// Resident set and CPU time of all processes of a program together, as counters of one of its
// ranks: held until it is known which.
//
// One thread, the supervisor's.

class ProgramSamples {
public:
    explicit ProgramSamples(RunSink& sink) : m_sink(sink) {}

    void add(Timestamp time, Bytes resident, std::int64_t cpuNs);
    /// What there is, and what comes, is this rank's; the first word counts.
    void giveTo(RankId rank);
    /// Hands on what is held, where the rank is known.
    void flush();

    [[nodiscard]] std::optional<RankId> rank() const { return m_rank; }
    [[nodiscard]] bool isEmpty() const { return m_count == 0 && m_held.empty(); }
    /// Too many to be held much longer.
    [[nodiscard]] bool isFull() const;
    /// Handed on so far.
    [[nodiscard]] std::uint64_t count() const { return m_count; }

private:
    RunSink& m_sink;
    std::optional<RankId> m_rank;
    std::vector<CounterEvent> m_held;
    std::uint64_t m_count = 0;
};

}  // namespace shardscope::launch
