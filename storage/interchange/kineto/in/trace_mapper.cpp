#include "storage/interchange/kineto/in/trace_mapper.h"

#include "storage/interchange/collective_kernels.h"
#include "storage/interchange/decimal.h"
#include "storage/interchange/kineto/in/rank_layout.h"
#include "storage/model/flow_words.h"

#include <charconv>
#include <cmath>
#include <functional>
#include <limits>

namespace shardscope::interchange::kineto {
namespace {

constexpr std::int64_t kTimeLimit = std::int64_t{1} << 59;
constexpr std::size_t kMostMetadataEvents = std::size_t{1} << 20;

/// Whether `correlation` joins events of this category with others.
bool correlates(const Category& category) {
    return category.device || category.role == LaneRole::kRuntime;
}

bool isAt(std::string_view value, std::string_view text) {
    return bare(value) == text;
}

std::optional<double> numberOf(std::string_view value) {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
    return number;
}

/// By its name, or by the argument that JAX's StepTraceAnnotation gives.
std::optional<NamedStep> stepOf(const Event& event, std::string_view name) {
    if (const auto step = stepIn(name)) return step;
    if (!bare(event.category).empty()) return std::nullopt;
    const auto number = parseInteger(bare(valueOf(event.members, "step_num")));
    if (!number || *number < 0 || *number > std::numeric_limits<std::int32_t>::max())
        return std::nullopt;
    return NamedStep{StepNaming::kArgument, {static_cast<std::int32_t>(*number)}};
}

/// 0: none.
std::uint64_t correlationIn(std::string_view value) {
    const auto number = parseInteger(bare(value));
    if (!number || *number <= 0 || static_cast<std::uint64_t>(*number) >= kNoCorrelation) return 0;
    return static_cast<std::uint64_t>(*number);
}

/// The id of asynchronous work as a number: its own, or one that its text gives.
std::uint64_t asyncNumber(const Event& event) {
    const auto number = parseInteger(bare(event.id));
    if (number && *number > 0 && static_cast<std::uint64_t>(*number) < kNoCorrelation)
        return static_cast<std::uint64_t>(*number);
    return std::hash<std::string>{}(EventPairs::asyncKey(event)) % kNoCorrelation;
}

std::shared_ptr<CollectiveJoin::Operations> operationsOf(TraceMapper::Setting& setting) {
    if (setting.operations == nullptr)
        setting.operations = std::make_shared<CollectiveJoin::Operations>();
    return setting.operations;
}

}  // namespace

TraceMapper::TraceMapper(TraceBuilder& builder, ImportAccount& account, const Setting& setting)
    : m_builder(&builder),
      m_account(&account),
      m_setting(setting),
      m_lanes(builder, setting.rank),
      m_collectives(builder, setting.rank, setting.worldSize, operationsOf(m_setting)),
      m_memory(builder, m_lanes, setting.rank, setting.hostMemory),
      m_pairs({[this](const EventPairs::Part& begin, const EventPairs::Part& end) {
                   addPair(begin, end);
               },
               [this](const char* reason) { reject(reason); }},
              setting.sortsPairs),
      m_device(setting.device) {
    builder.deriveSteps(setting.rank);
}

void TraceMapper::add(Event& event, const Category& category) {
    ++m_account->read;
    if (event.text.empty())
        return reject(event.isObject ? kMalformed : "no event: an element that is no object");
    m_repaired = false;
    const std::string_view phase = bare(event.phase);
    if (phase.size() != 1) return reject(phase.empty() ? "no phase (ph)" : "unknown phase (ph)");
    const std::uint64_t kept = m_account->kept;
    switch (phase.front()) {
        case 'X':
            addComplete(event, category);
            break;
        case 'i':
        case 'I':
        case 'R':
        case 'n':
        case 'T':
        case 'p':
            addInstant(event);
            break;
        case 's':
        case 't':
        case 'f':
            addFlow(event);
            break;
        case 'M':
            addMetadata(event);
            break;
        case 'C':
            addCounter(event);
            break;
        case 'b':
        case 'e':
        case 'S':
        case 'F':
            if (bare(event.id).empty() && event.id2.empty())
                return reject("an asynchronous event without an id");
            [[fallthrough]];
        case 'B':
        case 'E':
            if (const auto time = timeOf(event)) return m_pairs.add(event, *time);
            return reject("no time, or one out of range");
        default:
            return reject("a phase (ph) that profilers of training do not write");
    }
    if (m_account->kept == kept) return;
    if (event.flags.nonFinite) m_account->repair("NaN or an infinity, kept as text");
    noteRepair();
}

void TraceMapper::noteRepair() {
    if (m_repaired) m_account->repair("a time that was negative or finer than 1 ns");
}

std::optional<std::int64_t> TraceMapper::nanoseconds(std::string_view value) {
    const auto parsed = parseMicroseconds(bare(value));
    if (!parsed) return std::nullopt;
    if (parsed->rounded) m_repaired = true;
    return parsed->value;
}

std::optional<Timestamp> TraceMapper::timeOf(const Event& event) {
    const auto time = nanoseconds(event.time);
    if (!time) return std::nullopt;
    // Time and both parts of the shift lie within 2^61, so that the sum does not overflow.
    const Timestamp shifted{*time + m_setting.shiftNs};
    if (shifted.ns > kTimeLimit || shifted.ns < -kTimeLimit) return std::nullopt;
    return shifted;
}

/// Splits the arguments but for the correlation, which the span has itself, and returns that.
std::uint64_t TraceMapper::splitArguments(Event& event, bool correlates) {
    std::uint64_t correlation = 0;
    const auto at = std::find_if(event.members.begin(), event.members.end(),
                                 [](const Member& m) { return m.key == "correlation"; });
    if (correlates && at != event.members.end()) {
        correlation = correlationIn(at->value);
        if (correlation != 0) event.members.erase(at);
    } else if (correlates) {
        // As XLA and Paddle have it; it stays among the arguments, which are written as they were.
        for (const char* key : {"correlation_id", "correlation id"})
            if (correlation == 0) correlation = correlationIn(valueOf(event.members, key));
    }
    m_builder->split(m_setting.rank, event.members, event.flags.nonFinite, m_split);
    return correlation;
}

std::optional<SpanEvent> TraceMapper::spanOf(Event& event, const Category& category,
                                             std::string_view name) {
    const auto start = timeOf(event);
    if (!start) return std::nullopt;
    SpanEvent span;
    span.start = *start;
    span.correlation = splitArguments(event, correlates(category));
    if (category.kernel && span.correlation == 0) {
        // Without one it would not count as a kernel.
        span.correlation = kNoCorrelation + m_uncorrelated++;
    }
    span.name = m_builder->intern(m_setting.rank, name);
    if (category.name == kAsync.name && !category.device) {
        span.correlation = asyncNumber(event);
        const std::string row = std::string(bare(event.category)).append(kAsyncEnding);
        span.lane =
            m_lanes.lane(bare(event.process), kAsync.name, {row, category.role, false, false});
    } else {
        span.lane = m_lanes.lane(bare(event.process), bare(event.thread), category);
    }
    return span;
}

/// With the arguments in m_split.
void TraceMapper::addSpan(const SpanEvent& span, const Category& category) {
    m_builder->add(m_setting.rank, span, m_split);
    if (category.role == LaneRole::kRuntime && span.correlation != 0)
        for (const RankId other : m_setting.sameProcess)
            m_builder->addLaunch(other, span.correlation, span.start);
    m_ended = std::max(m_ended, span.end());
}

/// Kernels that communicate are known by their names, or by what they carry of a collective.
Category TraceMapper::withRole(Category category, const Event& event, std::string_view name) {
    if (category.kernel && category.role == LaneRole::kCompute &&
        (m_collectiveNames.has(name) || !valueOf(event.members, "Collective name").empty()))
        category.role = LaneRole::kCommunication;
    return category;
}

void TraceMapper::addComplete(Event& event, const Category& ofRow) {
    const std::string_view name = nameOf(event, m_scratch);
    const Category category = withRole(ofRow, event, name);
    auto duration = nanoseconds(event.duration);
    if (!duration) return reject("no duration");
    if (*duration > kTimeLimit) return reject("a time out of range");
    if (*duration < 0) {
        duration = 0;
        m_repaired = true;
    }
    auto span = spanOf(event, category, name);
    if (!span) return reject("no time, or one out of range");
    span->duration = {*duration};
    noteSpan(event, category, *span, name);
    addSpan(*span, category);
    keep();
}

void TraceMapper::noteSpan(const Event& event, const Category& category, const SpanEvent& span,
                           std::string_view name) {
    if (category.role == LaneRole::kCommunication)
        m_collectives.addKernel(name, event.members, span.range());
    if (category.device) {
        if (m_device.empty() && category.role != LaneRole::kRange) m_device = bare(event.process);
        return;
    }
    if (m_hostProcess.empty() && category.role != LaneRole::kRange)
        m_hostProcess = bare(event.process);
    if (name == "record_param_comms") m_collectives.addOperation(event.members, span.range());
    const bool behind = !valueOf(event.members, kBehindLastStep).empty();
    if (category.role == LaneRole::kRuntime || behind) return;
    if (m_setting.firstStep) m_optimizerSteps.note(name, span.range());
    if (const auto step = stepOf(event, name)) {
        m_builder->markStep(m_setting.rank, *step, span.range());
        for (const RankId other : m_setting.sameProcess)
            m_builder->markStep(other, *step, span.range());
    }
}

void TraceMapper::addInstant(Event& event) {
    const auto time = timeOf(event);
    if (!time) return reject("no time, or one out of range");
    if (isMemory(event)) {
        if (m_memory.takes(event)) return addMemory(event, *time);
        m_memory.addSamples(event, *time);
    }
    const std::string_view own = bare(event.category);
    InstantEvent instant;
    instant.time = *time;
    instant.scope = isAt(event.scope, "g")   ? InstantScope::kGlobal
                    : isAt(event.scope, "p") ? InstantScope::kProcess
                                             : InstantScope::kThread;
    splitArguments(event, false);
    instant.name = m_builder->intern(m_setting.rank, textOf(event.name, m_nameScratch));
    instant.lane = m_lanes.lane(bare(event.process), bare(event.thread),
                                {own.empty() ? "instant" : std::string(own).append(", instant"),
                                 LaneRole::kRange, false, false});
    m_builder->add(m_setting.rank, instant, m_split);
    m_ended = std::max(m_ended, instant.time);
    keep();
}

void TraceMapper::addFlow(const Event& event) {
    const auto time = timeOf(event);
    if (!time) return reject("no time, or one out of range");
    const std::string_view idText = bare(event.id);
    if (idText.empty()) return reject("a flow without an id");
    FlowEvent flow;
    flow.time = *time;
    if (const auto id = parseInteger(idText); id && *id >= 0) {
        flow.id = static_cast<std::uint64_t>(*id);
    } else {
        flow.id = std::hash<std::string_view>{}(idText);
        flow.idText = m_builder->intern(m_setting.rank, textOf(event.id, m_nameScratch));
    }
    flow.name = m_builder->intern(m_setting.rank, textOf(event.name, m_nameScratch));
    flow.category = m_builder->intern(m_setting.rank, textOf(event.category, m_nameScratch));
    const bool start = isAt(event.phase, "s");
    const bool end = isAt(event.phase, "f");
    flow.point = start ? FlowPoint::kStart : end ? FlowPoint::kEnd : FlowPoint::kStep;
    if (end && !isAt(event.bindingPoint, "e")) flow.binding = FlowBinding::kNext;
    const auto [thread, lane] = m_lanes.flows(bare(event.process), bare(event.thread));
    flow.lane = lane;
    m_builder->add(m_setting.rank, thread, flow,
                   event.members.empty() ? std::string_view{} : event.arguments);
    m_ended = std::max(m_ended, flow.time);
    if (isAt(event.category, flow_words::kForwardBackward) && flow.idText == kEmptyString &&
        flow.id > 0) {
        const LaneId operators =
            m_lanes.laneIfUsed(bare(event.process), bare(event.thread), categoryOf("cpu_op"));
        m_builder->mark(m_setting.rank, operators, flow.time, flow.id,
                        start ? Phase::kForward : Phase::kBackward);
    }
    keep();
}

void TraceMapper::addMetadata(const Event& event) {
    nameLanes(event);
    if (!event.flags.nonFinite && !keepMetadata(event))
        return reject("a metadata event behind the first megabyte of them");
    keep();
}

void TraceMapper::nameRow(const Event& event) {
    nameLanes(event);
    if (!event.flags.nonFinite) static_cast<void>(keepMetadata(event));
}

void TraceMapper::nameLanes(const Event& event) {
    const std::string name = textOf(event.name);
    const auto text = [&](const char* key) { return textOf(valueOf(event.members, key)); };
    if (name == "process_name" || name == "process_labels") {
        // "python", then "CPU" or "GPU 0": the label says more.
        const std::string label = text(name == "process_name" ? "name" : "labels");
        if (!label.empty()) m_lanes.nameProcess(bare(event.process), label);
    } else if (name == "thread_name") {
        m_lanes.nameThread(bare(event.process), bare(event.thread), text("name"));
    }
}

bool TraceMapper::keepMetadata(const Event& event) {
    if (const auto known = m_metadataPlaces.find(event.text); known != m_metadataPlaces.end()) {
        m_metadata.splice(m_metadata.end(), m_metadata, known->second);
        return true;
    }
    if (m_metadataBytes + event.text.size() > kMostMetadataEvents) return false;
    m_metadataBytes += event.text.size() + 1;
    m_metadata.emplace_back(event.text);
    m_metadataPlaces.emplace(m_metadata.back(), std::prev(m_metadata.end()));
    return true;
}

std::string TraceMapper::metadataEvents() const {
    std::string events;
    for (const std::string& event : m_metadata) events.append(events.empty() ? "" : ",") += event;
    return events;
}

void TraceMapper::addCounter(const Event& event) {
    const auto time = timeOf(event);
    if (!time) return reject("no time, or one out of range");
    bool any = false;
    const std::string name = textOf(event.name);
    const std::string id = textOf(event.id);
    for (const Member& member : event.members) {
        const auto value = numberOf(bare(member.value));
        if (!value) continue;
        const std::string series = textOf(std::string("\"").append(member.key).append("\""));
        const LaneId lane = m_lanes.counter(bare(event.process), name, series, id);
        m_builder->add(m_setting.rank, CounterEvent{*time, lane, *value});
        any = true;
    }
    if (!any) return reject("a counter without a number");
    m_ended = std::max(m_ended, *time);
    keep();
}

/// One span with the arguments of both; those of the end win.
void TraceMapper::addPair(const EventPairs::Part& begin, const EventPairs::Part& end) {
    m_repaired = false;
    static_cast<void>(readEvent(end.text, m_part));
    std::vector<Member> more = std::move(m_part.members);
    bool nonFinite = m_part.flags.nonFinite;
    static_cast<void>(readEvent(begin.text, m_part));
    for (const Member& member : more) {
        const auto same = std::find_if(m_part.members.begin(), m_part.members.end(),
                                       [&](const Member& m) { return m.key == member.key; });
        if (same == m_part.members.end())
            m_part.members.push_back(member);
        else
            same->value = member.value;
    }
    m_part.flags.nonFinite |= nonFinite;
    nonFinite = m_part.flags.nonFinite;
    const std::string name = textOf(m_part.name);
    const Category category = withRole(categoryIn(m_part, *m_setting.rows), m_part, name);
    auto span = spanOf(m_part, category, name);
    if (!span) return;
    m_repaired |= end.time < begin.time;
    span->duration = std::max(Duration{}, end.time - begin.time);
    noteSpan(m_part, category, *span, name);
    addSpan(*span, category);
    m_account->kept += 2;
    if (nonFinite) m_account->repair("NaN or an infinity, kept as text");
    noteRepair();
}

void TraceMapper::addMemory(const Event& event, Timestamp time) {
    if (const char* reason = m_memory.add(event, time)) return reject(reason);
    m_ended = std::max(m_ended, time);
    keep();
}

void OptimizerSteps::note(std::string_view name, TimeRange range) {
    if (!name.starts_with("Optimizer.step#")) return;
    auto runs = m_runs.find(name);
    if (runs == m_runs.end() && m_runs.size() < kMostNames)
        runs = m_runs.emplace(std::string(name), std::vector<TimeRange>{}).first;
    if (runs != m_runs.end() && runs->second.size() < kMostRuns) runs->second.push_back(range);
}

void OptimizerSteps::mark(TraceBuilder& builder, const std::vector<RankId>& ranks,
                          std::int32_t first) const {
    std::vector<TimeRange> runs;
    const auto byBegin = [](const TimeRange& a, const TimeRange& b) { return a.begin < b.begin; };
    for (const auto& [name, each] : m_runs) {
        std::vector<TimeRange> sorted = each;
        std::sort(sorted.begin(), sorted.end(), byBegin);
        if (runs.empty() || byBegin(sorted.front(), runs.front())) runs = std::move(sorted);
    }
    for (std::size_t i = 1; i < runs.size(); ++i) {
        if (runs[i].end < runs[i - 1].end) continue;
        const NamedStep step{StepNaming::kOptimizer, {first + static_cast<std::int32_t>(i) - 1}};
        for (const RankId rank : ranks)
            builder.markStep(rank, step, {runs[i - 1].end, runs[i].end});
    }
}

void TraceMapper::finish() {
    m_pairs.finish();
    m_memory.finish();
    m_collectives.finish();
    if (m_setting.firstStep) {
        std::vector<RankId> ranks = m_setting.sameProcess;
        ranks.push_back(m_setting.rank);
        m_optimizerSteps.mark(*m_builder, ranks, *m_setting.firstStep);
    }
    m_lanes.finish();
}

}  // namespace shardscope::interchange::kineto
