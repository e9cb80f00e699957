#include "storage/interchange/kineto/in/trace_mapper.h"

#include "storage/interchange/collective_kernels.h"
#include "storage/interchange/decimal.h"
#include "storage/model/flow_words.h"

#include <charconv>
#include <cmath>
#include <functional>
#include <limits>

namespace shardscope::interchange::kineto {
namespace {

constexpr std::size_t kMostOpen = 100'000;
constexpr std::size_t kMostMemoryDevices = 1024;
constexpr std::int64_t kTimeLimit = std::int64_t{1} << 59;
constexpr std::int64_t kMostBlock = std::int64_t{1} << 50;
constexpr std::size_t kMostMetadataEvents = std::size_t{1} << 20;

/// Whether `correlation` joins events of this category with others.
bool correlates(const Category& category) {
    return category.device || category.role == LaneRole::kRuntime;
}

/// A value without its quotes; escapes stay (pids, tids and categories have none).
std::string_view bare(std::string_view value) {
    return isString(value) ? value.substr(1, value.size() - 2) : value;
}

bool isAt(std::string_view value, std::string_view text) {
    return bare(value) == text;
}

std::string threadKey(const Event& event) {
    return std::string(bare(event.process)).append("\n").append(bare(event.thread));
}

std::optional<double> numberOf(std::string_view value) {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
    return number;
}

std::optional<std::int64_t> integerOf(const Event& event, std::string_view key) {
    return parseInteger(bare(valueOf(event.members, key)));
}

}  // namespace

TraceMapper::TraceMapper(TraceBuilder& builder, ImportAccount& account, const Setting& setting)
    : m_builder(&builder),
      m_account(&account),
      m_setting(setting),
      m_lanes(builder, setting.rank),
      m_collectives(builder, setting.rank, setting.worldSize) {
    builder.deriveSteps(setting.rank);
}

void TraceMapper::add(Event& event) {
    ++m_account->read;
    if (event.text.empty())
        return reject(event.isObject ? "malformed JSON" : "no event: an element that is no object");
    m_repaired = false;
    const std::string_view phase = bare(event.phase);
    if (phase.size() != 1) return reject(phase.empty() ? "no phase (ph)" : "unknown phase (ph)");
    const std::uint64_t kept = m_account->kept;
    switch (phase.front()) {
        case 'X':
            addComplete(event);
            break;
        case 'i':
        case 'I':
        case 'R':
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
        case 'B':
            addBegin(event);
            break;
        case 'E':
            addEnd(event);
            break;
        default:
            return reject("a phase (ph) that profilers of training do not write");
    }
    if (m_account->kept == kept) return;
    if (event.flags.nonFinite) m_account->repair("NaN or an infinity, kept as text");
    if (m_repaired) m_account->repair("a time that was text, negative or finer than 1 ns");
}

std::optional<std::int64_t> TraceMapper::nanoseconds(std::string_view value) {
    if (isString(value)) m_repaired = true;
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
        const auto number = parseInteger(at->value);
        if (number && *number > 0 && static_cast<std::uint64_t>(*number) < kNoCorrelation) {
            correlation = static_cast<std::uint64_t>(*number);
            event.members.erase(at);
        }
    }
    m_builder->split(m_setting.rank, event.members, event.flags.nonFinite, m_split);
    return correlation;
}

std::optional<SpanEvent> TraceMapper::spanOf(Event& event, const Category& category) {
    const auto start = timeOf(event);
    if (!start) return std::nullopt;
    SpanEvent span;
    span.start = *start;
    span.correlation = splitArguments(event, correlates(category));
    if (category.kernel && span.correlation == 0) {
        // Without one it would not count as a kernel.
        span.correlation = kNoCorrelation + m_uncorrelated++;
    }
    span.name = m_builder->intern(m_setting.rank, textOf(event.name, m_nameScratch));
    span.lane = m_lanes.lane(bare(event.process), bare(event.thread), category);
    return span;
}

/// With the arguments in m_split.
void TraceMapper::addSpan(const SpanEvent& span) {
    m_builder->add(m_setting.rank, span, m_split);
    m_ended = std::max(m_ended, span.end());
}

void TraceMapper::addComplete(Event& event) {
    Category category = categoryOf(bare(event.category));
    const std::string_view name = textOf(event.name, m_scratch);
    if (category.kernel && category.role == LaneRole::kCompute &&
        (isCollectiveKernel(name) || !valueOf(event.members, "Collective name").empty()))
        category.role = LaneRole::kCommunication;
    auto duration = nanoseconds(event.duration);
    if (!duration) return reject("no duration");
    if (*duration > kTimeLimit) return reject("a time out of range");
    if (*duration < 0) {
        duration = 0;
        m_repaired = true;
    }
    auto span = spanOf(event, category);
    if (!span) return reject("no time, or one out of range");
    span->duration = {*duration};
    noteSpan(event, category, *span, name);
    addSpan(*span);
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
    if (category.role != LaneRole::kRuntime && !behind) noteStep(name, span);
}

void TraceMapper::noteStep(std::string_view name, const SpanEvent& span) {
    if (const auto step = stepIn(name)) m_builder->markStep(m_setting.rank, *step, span.range());
}

void TraceMapper::addInstant(Event& event) {
    if (isAt(event.name, "[memory]")) {
        const auto time = timeOf(event);
        if (!time) return reject("no time, or one out of range");
        return addMemory(event, *time);
    }
    const auto time = timeOf(event);
    if (!time) return reject("no time, or one out of range");
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
    const std::string name = textOf(event.name);
    const auto text = [&](const char* key) { return textOf(valueOf(event.members, key)); };
    if (name == "process_name" || name == "process_labels") {
        // "python", then "CPU" or "GPU 0": the label says more.
        const std::string label = text(name == "process_name" ? "name" : "labels");
        if (!label.empty()) m_lanes.nameProcess(bare(event.process), label);
    } else if (name == "thread_name") {
        m_lanes.nameThread(bare(event.process), bare(event.thread), text("name"));
    }
    if (!event.flags.nonFinite && !keepMetadata(event))
        return reject("a metadata event behind the first megabyte of them");
    keep();
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
    for (const Member& member : event.members) {
        const auto value = numberOf(bare(member.value));
        if (!value) continue;
        const std::string series = textOf(std::string("\"").append(member.key).append("\""));
        const LaneId lane = m_lanes.counter(bare(event.process), name, series);
        m_builder->add(m_setting.rank, CounterEvent{*time, lane, *value});
        any = true;
    }
    if (!any) return reject("a counter without a number");
    m_ended = std::max(m_ended, *time);
    keep();
}

void TraceMapper::addBegin(Event& event) {
    if (m_openCount == kMostOpen) return reject("more begun events than any program has open");
    const Category category = categoryOf(bare(event.category));
    auto span = spanOf(event, category);
    if (!span) return reject("no time, or one out of range");
    m_open[threadKey(event)].push_back({*span, textOf(event.name), m_split, !correlates(category)});
    ++m_openCount;
    // Kept once its end is there.
}

void TraceMapper::addEnd(const Event& event) {
    const auto at = m_open.find(threadKey(event));
    if (at == m_open.end() || at->second.empty()) return reject("an end without a begin");
    const auto time = timeOf(event);
    if (!time) return reject("no time, or one out of range");
    Open open = std::move(at->second.back());
    at->second.pop_back();
    if (at->second.empty()) m_open.erase(at);
    --m_openCount;
    open.span.duration = {std::max<std::int64_t>(0, (*time - open.span.start).ns)};
    if (*time < open.span.start) m_repaired = true;
    if (open.host) noteStep(open.name, open.span);
    m_split = std::move(open.arguments);
    addSpan(open.span);
    m_account->kept += 2;
}

/// Remembers what a device held before its earliest event, wherever that stands in the file.
void TraceMapper::noteAlive(const std::string& device, std::int64_t before, Timestamp time) {
    const auto at = m_alive.find(device);
    if (at != m_alive.end()) {
        if (time < at->second.time) at->second = {time, before};
    } else if (m_alive.size() < kMostMemoryDevices) {
        m_alive.emplace(device, Alive{time, before});
    }
}

void TraceMapper::addBlocksBefore() {
    for (const auto& [device, alive] : m_alive) {
        if (alive.bytes <= 0 || alive.bytes > kMostBlock) continue;
        MemoryEvent before;
        before.time = alive.time;
        before.size = {alive.bytes};
        before.owner = m_builder->intern(m_setting.rank, "alive before the trace (" + device + ")");
        m_builder->addFirst(m_setting.rank, before);
    }
}

void TraceMapper::addMemory(const Event& event, Timestamp time) {
    const auto bytes = integerOf(event, "Bytes");
    if (!bytes || *bytes == 0) return reject("a memory event without bytes");
    if (*bytes < -kMostBlock || *bytes > kMostBlock)
        return reject("a memory event of more bytes than there are");
    const bool onHost = integerOf(event, "Device Type").value_or(0) == 0;
    const std::string device =
        onHost ? "cpu" : "cuda:" + std::to_string(integerOf(event, "Device Id").value_or(0));
    const auto total = integerOf(event, "Total Allocated");
    if (total) {
        if (*total >= 0 && *total <= kMostBlock) noteAlive(device, *total - *bytes, time);
        const LaneId lane = m_lanes.counter(device, "allocated", device);
        m_builder->add(m_setting.rank, CounterEvent{time, lane, static_cast<double>(*total)});
    }
    if (const auto reserved = integerOf(event, "Total Reserved"); reserved && !onHost) {
        const LaneId lane = m_lanes.counter(device, "reserved", device);
        m_builder->add(m_setting.rank, CounterEvent{time, lane, static_cast<double>(*reserved)});
    }
    MemoryEvent memory;
    memory.time = time;
    memory.address = static_cast<std::uint64_t>(integerOf(event, "Addr").value_or(0));
    memory.size = {std::abs(*bytes)};
    memory.action = *bytes > 0 ? MemoryAction::kAllocate : MemoryAction::kFree;
    memory.owner = m_builder->intern(m_setting.rank, device);
    m_builder->add(m_setting.rank, memory);
    m_ended = std::max(m_ended, time);
    keep();
}

void TraceMapper::finish() {
    for (const auto& [thread, open] : m_open)
        for (std::size_t i = 0; i < open.size(); ++i) reject("a begin without an end");
    m_open.clear();
    addBlocksBefore();
    m_collectives.finish();
    m_lanes.finish();
}

}  // namespace shardscope::interchange::kineto
