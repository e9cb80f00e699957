#include "storage/interchange/trace_builder.h"

#include "storage/columns/chunk.h"
#include "storage/interchange/builder/trace_state.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace shardscope::interchange {

Result<TraceBuilder> TraceBuilder::create(const std::string& path, const RunFacts& run,
                                          bool overwrite, int tries) {
    auto output = storage::OutputFile::reserve({path, overwrite}, tries);
    if (!output) return failure(output);
    auto writer = storage::RecordingWriter::create(output->part(), run, true);
    if (!writer) return output->failed(writer.error());
    return TraceBuilder(std::make_unique<State>(std::move(*output), std::move(*writer), run));
}

TraceBuilder::TraceBuilder(std::unique_ptr<State> state) : m_state(std::move(state)) {}
TraceBuilder::TraceBuilder(TraceBuilder&&) noexcept = default;
TraceBuilder& TraceBuilder::operator=(TraceBuilder&&) noexcept = default;
TraceBuilder::~TraceBuilder() = default;

void TraceBuilder::putRank(const RankFacts& rank) {
    m_state->rank(rank.rank).facts = rank;
}
void TraceBuilder::putDevice(const DeviceFacts& device) {
    m_state->note(m_state->writer->putDevice(device));
}
void TraceBuilder::addHost(const HostFacts& host) {
    m_state->hosts.insert(host.host);
    m_state->note(m_state->writer->addHost(host));
}

LaneId TraceBuilder::lane(RankId rank, const LaneSource& key, LaneRole role,
                          const std::string& name, const std::string& unit) {
    const auto made = m_state->rank(rank).lanes.lane(key, role, name, unit);
    if (made) return *made;
    m_state->note(failure(made));
    return lanes::rangeFor(role).at(0);
}

LaneId TraceBuilder::laneIfUsed(RankId rank, const LaneSource& key, LaneRole role,
                                const std::string& name) {
    const auto made = m_state->rank(rank).lanes.laneIfUsed(key, role, name);
    if (made) return *made;
    m_state->note(failure(made));
    return lanes::rangeFor(role).at(0);
}

void TraceBuilder::declare(const LaneFacts& lane) {
    m_state->note(m_state->rank(lane.rank).lanes.declare(lane));
}

StringId TraceBuilder::intern(RankId rank, std::string_view text) {
    return m_state->intern(rank, text);
}

void TraceBuilder::add(RankId rank, const SpanEvent& event) {
    m_state->addSpan(rank, event);
}

void TraceBuilder::add(RankId rank, const SpanEvent& event, std::string_view arguments) {
    if (arguments.empty()) return add(rank, event);
    add(rank, event, m_state->split(rank, arguments));
}

void TraceBuilder::split(RankId rank, std::span<const Member> arguments, bool nonFinite,
                         SplitArguments& into) {
    into.values.clear();
    into.form = {};
    if (!arguments.empty())
        into.form = m_state->splitter(m_state->rank(rank)).split(arguments, nonFinite, into.values);
}

void TraceBuilder::add(RankId rank, const SpanEvent& event, const SplitArguments& arguments) {
    if (arguments.form.text == kEmptyString) return add(rank, event);
    m_state->addSpan(rank, event, arguments);
}

void TraceBuilder::mark(RankId rank, LaneId lane, Timestamp start, std::uint64_t correlation,
                        Phase phase) {
    m_state->rank(rank).arrows.emplace(std::pair{lane, start}, ArrowMark{correlation, phase});
}

void TraceBuilder::add(RankId rank, const InstantEvent& event, std::string_view arguments) {
    if (arguments.empty()) return m_state->addInstant(rank, event);
    add(rank, event, m_state->split(rank, arguments));
}

void TraceBuilder::add(RankId rank, const InstantEvent& event, const SplitArguments& arguments) {
    if (arguments.form.text == kEmptyString) return m_state->addInstant(rank, event);
    m_state->addInstant(rank, event, arguments);
}

void TraceBuilder::add(RankId rank, std::uint32_t thread, const FlowEvent& event,
                       std::string_view arguments) {
    if (!isStorable(event.time)) return m_state->refuse("a flow's time is out of range");
    m_state->seen(event.time);
    FlowEvent with = event;
    with.arguments = m_state->storeArguments(rank, arguments);
    BuiltRank& owner = m_state->rank(rank);
    owner.flows.add(thread, with);
    ++owner.events;
}

void TraceBuilder::addAsItIs(RankId rank, const FlowEvent& event, std::string_view arguments) {
    if (!isStorable(event.time) || !isStorable(event.spanStart))
        return m_state->refuse("a flow's time is out of range");
    if (m_state->lane(rank, event.lane) == nullptr)
        return m_state->refuse("a flow lies on a lane that was never declared");
    m_state->seen(event.time);
    FlowEvent with = event;
    with.arguments = m_state->storeArguments(rank, arguments);
    BuiltRank& owner = m_state->rank(rank);
    owner.flows.addAsItIs(with);
    ++owner.events;
}

std::uint32_t TraceBuilder::newThread(RankId rank) {
    return m_state->rank(rank).threads++;
}
std::uint64_t TraceBuilder::nextSequence(RankId rank, std::uint32_t group) {
    return m_state->rank(rank).sequences[group];
}

std::int64_t TraceBuilder::exchangeHeld(RankId rank, const std::string& device,
                                        std::int64_t bytes) {
    return std::exchange(m_state->rank(rank).held[device], bytes);
}

void TraceBuilder::joinThread(RankId rank, std::uint32_t thread, LaneId lane) {
    m_state->rank(rank).flows.join(thread, lane);
}

void TraceBuilder::add(RankId rank, const CounterEvent& event) {
    if (!isStorable(event.time)) return m_state->refuse("a sample's time is out of range");
    BuiltLane* into = m_state->lane(rank, event.lane);
    if (into == nullptr) return m_state->refuse("a sample lies on a lane that was never declared");
    m_state->seen(event.time);
    into->samples.add(event);
    BuiltRank& owner = m_state->rank(rank);
    if (into->samples.size() >= kFullWindow)
        m_state->storeSamples(owner, *into, columns::kMaxChunkEvents);
    m_state->added(owner);
}

void TraceBuilder::add(RankId rank, const MemoryEvent& event, std::string_view arguments) {
    if (!m_state->isSound(event)) return;
    BuiltRank& owner = m_state->rank(rank);
    MemoryEvent with = event;
    with.arguments = m_state->storeArguments(rank, arguments);
    owner.memory.add(with);
    ++owner.events;
}

void TraceBuilder::addFirst(RankId rank, const MemoryEvent& event, std::string_view arguments) {
    if (!m_state->isSound(event)) return;
    BuiltRank& owner = m_state->rank(rank);
    MemoryEvent with = event;
    with.arguments = m_state->storeArguments(rank, arguments);
    owner.memory.addFirst(with);
    ++owner.events;
}

void TraceBuilder::add(RankId rank, const CollectiveEvent& event) {
    if (!isStorable(event.issue) || !isStorable(event.start) || !isStorable(event.end) ||
        event.end < event.start || event.size < kUnknownSize || event.size.count > kStorableTime)
        return m_state->refuse("a collective's time or size is out of range");
    m_state->seen(std::min(event.issue, event.start));
    BuiltRank& owner = m_state->rank(rank);
    std::uint64_t& next = owner.sequences[event.group];
    next = std::max(next, event.sequence + 1);
    owner.collectives.push_back(event);
    m_state->added(owner);
    if (owner.collectives.size() == columns::kMaxChunkEvents) m_state->storeCollectives(owner);
}

void TraceBuilder::addStep(const StepFacts& step) {
    m_state->note(m_state->writer->addStep(step));
}

void TraceBuilder::deriveSteps(RankId rank) {
    m_state->rank(rank).steps.derive();
}
void TraceBuilder::markStep(RankId rank, const NamedStep& step, TimeRange range) {
    m_state->rank(rank).steps.add(step, range);
}
void TraceBuilder::addLaunch(RankId rank, std::uint64_t correlation, Timestamp start) {
    m_state->rank(rank).steps.addLaunch(correlation, start);
}
void TraceBuilder::knowSteps(const StepsOfRanks& steps) {
    for (const auto& [rank, marks] : steps) m_state->rank(rank).steps.know(marks);
}
TraceBuilder::StepsOfRanks TraceBuilder::markedSteps() const {
    StepsOfRanks steps;
    for (const auto& [rank, owner] : m_state->ranks)
        if (const auto marks = owner.steps.marked()) steps.emplace(rank, marks);
    return steps;
}
bool TraceBuilder::stepsCameLate() const {
    return std::any_of(m_state->ranks.begin(), m_state->ranks.end(),
                       [](const auto& each) { return each.second.steps.cameLate(); });
}
std::vector<std::string> TraceBuilder::notes() const {
    RankSteps::Counts taken, left;
    for (const auto& [rank, owner] : m_state->ranks) owner.steps.count(taken, left);
    std::vector<std::string> notes;
    const auto like = [](std::size_t count, StepNaming naming) {
        return std::to_string(count) + (count == 1 ? " range" : " ranges") + " named like \"" +
               toWord(naming) + "\"";
    };
    for (const auto& [naming, count] : taken)
        if (naming != StepNaming::kProfilerStep)
            notes.push_back("steps were taken from " + like(count, naming));
    for (const auto& [naming, count] : left)
        notes.push_back(like(count, naming) + " were not taken for steps: \"" +
                        toWord(taken.begin()->first) + "\" names those");
    std::size_t sharing = 0;
    for (const auto& [rank, owner] : m_state->ranks) sharing += owner.lanes.sharing();
    if (sharing > 0)
        notes.push_back(std::to_string(sharing) +
                        " threads, streams or counters share a lane with others of their kind: "
                        "there are more than a recording has lanes for");
    std::size_t restarts = 0;
    for (const auto& [rank, owner] : m_state->ranks)
        restarts = std::max(restarts, owner.steps.restarts());
    if (restarts > 0)
        notes.push_back("the numbers of the steps begin again " + std::to_string(restarts) +
                        (restarts == 1 ? " time" : " times") +
                        ", as those of a profiler that was started again: here they count on");
    return notes;
}

std::uint64_t TraceBuilder::events() const {
    std::uint64_t sum = 0;
    for (const auto& [id, owner] : m_state->ranks) sum += owner.events;
    return sum;
}
std::optional<Timestamp> TraceBuilder::earliest() const {
    const Timestamp first = std::min(m_state->earliest, m_state->ofInput.begin);
    if (first.ns == kStorableTime) return std::nullopt;
    return first;
}
std::optional<TimeRange> TraceBuilder::timesOfInput() const {
    const TimeRange& seen = m_state->ofInput;
    if (seen.begin.ns == kStorableTime) return std::nullopt;
    return seen;
}
void TraceBuilder::beginInput() {
    m_state->earliest = std::min(m_state->earliest, m_state->ofInput.begin);
    m_state->ofInput = kNothingSeen;
}
void TraceBuilder::addMetric(const MetricPoint& metric) {
    m_state->note(m_state->writer->addMetric(metric));
}
void TraceBuilder::addFact(const FactRow& fact) {
    m_state->note(m_state->writer->putFact(fact));
}

void TraceBuilder::addDiagnostic(const Diagnostic& diagnostic) {
    m_state->note(m_state->writer->addDiagnostic(diagnostic));
}

bool TraceBuilder::publish() {
    const auto& ranks = m_state->ranks;
    const bool any = std::any_of(ranks.begin(), ranks.end(),
                                 [](const auto& each) { return each.second.stored; });
    if (any) m_state->publish();
    return any && m_state->status;
}

const std::string& TraceBuilder::partFile() const {
    return m_state->output.part();
}

storage::OutputFile TraceBuilder::abandon() {
    m_state->writer.reset();
    return std::move(m_state->output);
}

const Result<void>& TraceBuilder::state() const {
    return m_state->status;
}

Result<void> TraceBuilder::finish(const RunFacts& run, Timestamp ended) {
    for (auto& [id, owner] : m_state->ranks) {
        m_state->finishRank(owner);
        m_state->noteOverruns(owner);
    }
    m_state->removeAssumedHosts();
    if (m_state->status) m_state->note(m_state->writer->putRun(run));
    if (m_state->status) m_state->note(m_state->writer->finalise(RunStatus::kFinished, ended));
    if (!m_state->status) return m_state->status;
    m_state->writer.reset();
    return m_state->output.commit();
}

}  // namespace shardscope::interchange
