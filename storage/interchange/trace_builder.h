// Makes a recording out of another tool's events: lanes by what the tool calls them, events in
// nearly any order, in memory that does not grow with the trace.
//
// Events of one lane may come a little out of order (within kWindow events of the lane); what
// comes later still is kept all the same, in a chunk of its own. Spans of one lane that nest get
// their depth here; overlapping ones (kernels of parallel graph branches) too, so that nothing is
// drawn over. Memory events and flows are kept encoded until the end: totals go by time, and a flow
// may bind to a span that comes later. One thread.
#pragma once

#include "storage/interchange/argument_splitter.h"
#include "storage/interchange/json_text.h"
#include "storage/interchange/pending_events.h"
#include "storage/interchange/step_marks.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/recording/file/output_file.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::interchange {

class TraceBuilder {
public:
    /// `run` as far as it is known now; kUsage when the file exists, unless `overwrite`. `tries`:
    /// how many builders of this process gave up the same file, and have left it to be read.
    static Result<TraceBuilder> create(const std::string& path, const RunFacts& run, bool overwrite,
                                       int tries = 0);
    TraceBuilder(TraceBuilder&&) noexcept;
    TraceBuilder& operator=(TraceBuilder&&) noexcept;
    ~TraceBuilder();  ///< an import that was not finished leaves no file

    void putRank(const RankFacts& rank);
    void putDevice(const DeviceFacts& device);
    void addHost(const HostFacts& host);

    /// The lane of this key, made at the first call; a later role other than kHost replaces kHost.
    LaneId lane(RankId rank, const LaneSource& key, LaneRole role, const std::string& name,
                const std::string& unit = {});
    /// Likewise; one that is made here has a row only if a span is added to it.
    LaneId laneIfUsed(RankId rank, const LaneSource& key, LaneRole role, const std::string& name);
    /// A lane with the id it has in the recording it comes from. Not beside lane(): ids would meet.
    void declare(const LaneFacts& lane);
    StringId intern(RankId rank, std::string_view text);

    void add(RankId rank, const SpanEvent& event);
    /// With its arguments as a JSON object, which are stored as columns: numbers apart from keys.
    /// They come back as the same values, without white space. What is no object is kept as it is.
    void add(RankId rank, const SpanEvent& event, std::string_view arguments);
    /// Likewise in two steps, for arguments that are parsed already and must outlive their text.
    /// `nonFinite`: NaN or infinities are among them.
    void split(RankId rank, std::span<const Member> arguments, bool nonFinite,
               SplitArguments& into);
    void add(RankId rank, const SpanEvent& event, const SplitArguments& arguments);
    /// On a lane that holds nothing else.
    void add(RankId rank, const InstantEvent& event, std::string_view arguments = {});
    void add(RankId rank, const InstantEvent& event, const SplitArguments& arguments);
    /// A number for a thread of this rank, each once.
    [[nodiscard]] std::uint32_t newThread(RankId rank);
    /// The first that no collective of the group has yet.
    [[nodiscard]] std::uint64_t nextSequence(RankId rank, std::uint32_t group);
    /// What a device of the rank held at the end of the last file of its process; 0: it is the
    /// first.
    std::int64_t exchangeHeld(RankId rank, const std::string& device, std::int64_t bytes);
    /// A flow of a thread, by its newThread(). `event.lane` holds the flow
    /// where no span of the thread is found to bind it to, wherever in the trace that stands.
    void add(RankId rank, std::uint32_t thread, const FlowEvent& event,
             std::string_view arguments = {});
    /// One that is bound already, or to nothing.
    void addAsItIs(RankId rank, const FlowEvent& event, std::string_view arguments = {});
    /// Spans of this lane are the thread's. Before finish().
    void joinThread(RankId rank, std::uint32_t thread, LaneId lane);
    /// The span of `lane` that begins then, the innermost of several, whether it came already or
    /// comes later, gets this correlation and phase, unless it has a correlation.
    void mark(RankId rank, LaneId lane, Timestamp start, std::uint64_t correlation, Phase phase);
    /// In any order: all are sorted by time before they are stored.
    void add(RankId rank, const MemoryEvent& event, std::string_view arguments = {});
    /// Likewise, before all others of its time.
    void addFirst(RankId rank, const MemoryEvent& event, std::string_view arguments = {});
    void add(RankId rank, const CounterEvent& event);
    void add(RankId rank, const CollectiveEvent& event);
    void addStep(const StepFacts& step);

    /// Events of this rank that have no step get the one they fall into (StepMarks), of those that
    /// are marked until they are stored.
    void deriveSteps(RankId rank);
    /// A step of a rank whose steps are derived. Its row is written at the end, unless it overlaps
    /// an earlier one or repeats its number.
    /// Where steps are named in several ways one of them counts: the first of StepNaming whose
    /// numbers do not repeat, as those of parts of a step do.
    void markStep(RankId rank, const NamedStep& step, TimeRange range);
    /// A call of another rank of the same process, which launched work of this one's device.
    void addLaunch(RankId rank, std::uint64_t correlation, Timestamp start);
    using StepsOfRanks = std::map<RankId, std::shared_ptr<StepMarks>>;
    /// Marks for all of the trace, from having read it once; later ones only become rows.
    void knowSteps(const StepsOfRanks& steps);
    [[nodiscard]] StepsOfRanks markedSteps() const;
    /// Some events were stored before a step that they may belong to was marked, or before their
    /// launch came.
    [[nodiscard]] bool stepsCameLate() const;
    /// Sentences: which of several ways to name steps counts, what shares a lane.
    [[nodiscard]] std::vector<std::string> notes() const;
    /// Those of all ranks so far, of every kind.
    [[nodiscard]] std::uint64_t events() const;
    /// Of all events so far; nothing without any.
    [[nodiscard]] std::optional<Timestamp> earliest() const;
    /// From the first to the last start since beginInput(), likewise.
    [[nodiscard]] std::optional<TimeRange> timesOfInput() const;
    void beginInput();

    void addMetric(const MetricPoint& metric);
    void addDiagnostic(const Diagnostic& diagnostic);
    void addFact(const FactRow& fact);

    /// Lets readers of partFile() see what is stored so far, and from then on what is stored later:
    /// lanes with events, their names, ranks, steps that were marked. What waits for its order or
    /// for the end (flows, memory events, most collectives, facts of ranks) comes at the end, and
    /// the recording is the one that it would be without this. False: nothing is stored yet.
    bool publish();
    /// The file before it has its name.
    [[nodiscard]] const std::string& partFile() const;
    /// Nothing more comes: what was published can be read for as long as the file is kept. The
    /// builder is done.
    [[nodiscard]] storage::OutputFile abandon();

    /// The first error of anything above, or nothing. Long imports look at it now and then.
    [[nodiscard]] const Result<void>& state() const;

    /// Replaces what create() was given (rank count, model, start) and finalises the file.
    Result<void> finish(const RunFacts& run, Timestamp ended);

private:
    struct State;
    explicit TraceBuilder(std::unique_ptr<State> state);
    std::unique_ptr<State> m_state;
};

}  // namespace shardscope::interchange
