#include "profiler/collectors/cupti/correlator.h"

#include "profiler/collectors/cupti/span_texts.h"
#include "profiler/collectors/cupti/traced_calls.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace shardscope::collectors::cupti {
namespace {

constexpr int kLongestWait = 2;  // flushes: until the next-but-one

template <class... Ts>
struct Overloaded : Ts... {
    using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

template <class T>
concept OnDevice = requires(const T& record) {
    record.work;
};

/// Orders records of equal content alike, whatever order they came in.
std::tuple<std::int64_t, std::int64_t, std::size_t, std::uint64_t> orderOf(const Record& record) {
    const auto [start, end, id] = std::visit(
        Overloaded{[](const AllocationRecord& a) {
                       return std::tuple{a.time, a.time, a.address};
                   },
                   [](const ExternalRecord&) {
                       return std::tuple{std::int64_t{0}, std::int64_t{0}, std::uint64_t{0}};
                   },
                   [](const EventRecord&) {
                       return std::tuple{std::int64_t{0}, std::int64_t{0}, std::uint64_t{0}};
                   },
                   [](const OverheadRecord& o) {
                       return std::tuple{o.time.start, o.time.end, std::uint64_t{o.kind}};
                   },
                   [](const OnDevice auto& r) {
                       return std::tuple{r.work.time.start, r.work.time.end,
                                         std::uint64_t{r.work.correlation}};
                   },
                   [](const auto& r) {
                       return std::tuple{r.time.start, r.time.end, std::uint64_t{r.correlation}};
                   }},
        record);
    return {start, end, record.index(), id};
}

}  // namespace

Correlator::Correlator(capture::DeviceSink& sink, const RecordClock& clock,
                       const KernelNames& names, const GraphNodes& nodes,
                       const CorrelatorLimits& limits)
    : m_sink(sink),
      m_clock(clock),
      m_names(names),
      m_nodes(nodes),
      m_limits(limits),
      m_lanes(sink),
      m_launches(limits.launches),
      m_events(limits.events) {}

bool Correlator::checked(const Interval& time) {
    if (time.start == 0 && time.end == 0) {
        ++m_counts.untimed;
        return false;
    }
    if (time.end < time.start) {
        ++m_counts.reversed;
        return false;
    }
    return true;
}

void Correlator::noteCall(const CallRecord& call) {
    if (call.correlation == 0) return;
    Launch& launch = m_launches[call.correlation];
    // A driver call within a runtime call shares its correlation id and begins later.
    launch.startNs = launch.called ? std::min(launch.startNs, call.time.start) : call.time.start;
    launch.called = true;
    launch.thread = call.thread;
    launch.byRuntime = launch.byRuntime || call.domain == CallDomain::kRuntime;
}

void Correlator::noteExternal(const ExternalRecord& external) {
    if (external.correlation == 0) return;
    Launch& launch = m_launches[external.correlation];
    if (external.stack == capture::AnnotationStack::kContext) {
        launch.context = external.id;
    } else {
        launch.ncclLaunch = external.id;
    }
}

void Correlator::add(const std::vector<Record>& records) {
    for (const Record& record : records) {
        const bool keep =
            std::visit(Overloaded{[&](const ExternalRecord& r) {
                                      noteExternal(r);
                                      return false;
                                  },
                                  [&](const EventRecord& r) {
                                      if (r.eventSync != kNoSyncId) m_events[r.eventSync] = r;
                                      return false;
                                  },
                                  [&](const AllocationRecord& r) { return r.onDevice; },
                                  [&](const CallRecord& r) {
                                      const bool good = checked(r.time);
                                      if (good) noteCall(r);
                                      return good;
                                  },
                                  [&](const KernelRecord& r) {
                                      ++m_counts.kernels;
                                      return checked(r.work.time);
                                  },
                                  [&](const OnDevice auto& r) { return checked(r.work.time); },
                                  [&](const auto& r) { return checked(r.time); }},
                       record);
        if (keep) m_pending.push_back({record, 0});
    }
    if (m_pending.size() > m_limits.pending) {
        drawReady(m_pending.size() - m_limits.pending / 2);
    }
}

void Correlator::settle(bool launchesTraced) {
    m_patience = launchesTraced ? kLongestWait : std::max(0, m_patience - 1);
    drawReady(0);
    for (Pending& pending : m_pending) ++pending.age;
}

void Correlator::finish() {
    drawReady(m_pending.size());
}

bool Correlator::workReady(const DeviceWork& work, int age) const {
    const Launch* launch = launchOf(work.correlation);
    if (launch == nullptr || !launch->called) return work.correlation == 0;
    // An annotation precedes its call, so one flush later there is none to come.
    return launch->context.has_value() || age >= 1;
}

bool Correlator::kernelReady(const KernelRecord& kernel, int age) const {
    if (!workReady(kernel.work, age)) return false;
    // NCCL's own annotation is a record apart from the context.
    if (!m_names.at(kernel.name).collective || age >= 1) return true;
    const Launch* launch = launchOf(kernel.work.correlation);
    return launch == nullptr || launch->ncclLaunch != 0;
}

bool Correlator::callReady(const CallRecord& call, int age) const {
    const Launch* launch = launchOf(call.correlation);
    if (launch == nullptr) return true;
    // A driver call is drawn only if no runtime call turns up around it.
    return age >= 1 || (launch->context.has_value() && launch->byRuntime);
}

bool Correlator::syncReady(const SyncRecord& sync) const {
    const Launch* launch = launchOf(sync.correlation);
    if (launch == nullptr || !launch->called) return false;
    return sync.eventSync == kNoSyncId || m_events.find(sync.eventSync) != nullptr;
}

bool Correlator::ready(const Pending& pending) const {
    if (pending.age >= m_patience) return true;
    return std::visit(
        Overloaded{[&](const CallRecord& r) { return callReady(r, pending.age); },
                   [&](const SyncRecord& r) { return syncReady(r); },
                   [&](const AllocationRecord& r) { return r.time <= m_allocationsUntil; },
                   [&](const KernelRecord& r) { return kernelReady(r, pending.age); },
                   [&](const OnDevice auto& r) { return workReady(r.work, pending.age); },
                   [](const auto&) { return true; }},
        pending.record);
}

/// Up to here allocations can be summed: those of one flush ago, and what came late before them.
std::int64_t Correlator::lastSettledAllocation() const {
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (const Pending& pending : m_pending) {
        const auto* allocation = std::get_if<AllocationRecord>(&pending.record);
        if (allocation != nullptr && pending.age >= 1) last = std::max(last, allocation->time);
    }
    return last;
}

void Correlator::drawReady(std::size_t regardless) {
    m_allocationsUntil = lastSettledAllocation();
    std::vector<Record> batch;
    std::vector<Pending> kept;
    for (std::size_t i = 0; i < m_pending.size(); ++i) {
        if (i < regardless || ready(m_pending[i])) {
            batch.push_back(m_pending[i].record);
        } else {
            kept.push_back(m_pending[i]);
        }
    }
    m_pending = std::move(kept);
    std::sort(batch.begin(), batch.end(),
              [](const Record& a, const Record& b) { return orderOf(a) < orderOf(b); });
    for (const Record& record : batch) {
        std::visit([this](const auto& r) { draw(r); }, record);
    }
    if (!m_spans.empty()) m_sink.spans(std::exchange(m_spans, {}));
    if (!m_counters.empty()) m_sink.counters(std::exchange(m_counters, {}));
}

const Correlator::Launch* Correlator::launchOf(std::uint32_t correlation) const {
    return correlation == 0 ? nullptr : m_launches.find(correlation);
}

Correlator::Attribution Correlator::attributionOf(const Launch* launch,
                                                  std::uint64_t graphNode) const {
    Attribution result;
    if (launch != nullptr) {
        result.known = launch->context.has_value();
        if (result.known) result.context = capture::unpack(*launch->context);
        result.ncclLaunch = launch->ncclLaunch;
    }
    const auto captured = graphNode == 0 ? std::nullopt : m_nodes.find(graphNode);
    if (!captured) return result;
    const StepIndex replayed = result.context.step;
    result.known = true;
    result.context = captured->context;
    if (replayed != kNoStep) result.context.step = replayed;
    if (result.ncclLaunch == 0) result.ncclLaunch = captured->ncclLaunch;
    return result;
}

Timestamp Correlator::at(std::int64_t realtime) const {
    return m_sink.at(m_clock.toMonotonic(realtime));
}

SpanEvent Correlator::span(const Interval& time, const Attribution& attribution) const {
    SpanEvent span;
    // One conversion for both ends: the wall clock may have been set in between.
    const std::int64_t startNs = m_clock.toMonotonic(time.start);
    span.start = m_sink.at(startNs);
    span.duration = m_sink.at(startNs + (time.end - time.start)) - span.start;
    span.step = attribution.context.step;
    span.layer = attribution.context.layer;
    span.phase = attribution.context.phase;
    return span;
}

std::uint64_t Correlator::correlationOf(const DeviceWork& work) {
    return work.correlation != 0 ? work.correlation : ++m_lastSynthetic;
}

const std::string& Correlator::operatorText(StringId name) {
    std::string& text = m_operators[name];
    if (text.empty() && name != kEmptyString) text = m_sink.text(name);
    return text;
}

void Correlator::draw(const KernelRecord& kernel) {
    const Launch* launch = launchOf(kernel.work.correlation);
    const Attribution attribution = attributionOf(launch, kernel.work.graphNode);
    const KernelName& name = m_names.at(kernel.name);
    if (attribution.known) ++m_counts.attributed;
    if (kernel.work.graphNode != 0) ++m_counts.replayed;
    if (launch != nullptr && launch->called &&
        kernel.work.time.start < launch->startNs - m_limits.earlyNs) {
        ++m_counts.early;
    }
    SpanEvent drawn = span(kernel.work.time, attribution);
    drawn.lane = m_lanes.stream(kernel.work.stream,
                                name.collective ? StreamUse::kCollectives : StreamUse::kKernels);
    drawn.name = m_sink.intern(name.shown);
    drawn.arguments = m_sink.intern(
        kernelArguments(kernel, name, operatorText(attribution.context.operatorName)));
    if (!name.collective) drawn.correlation = correlationOf(kernel.work);
    m_spans.push_back(drawn);
    if (attribution.ncclLaunch != 0) {
        m_sink.collectiveKernel({attribution.ncclLaunch, drawn.start, drawn.end(), drawn.name,
                                 kernel.work.graphNode != 0});
    }
}

void Correlator::draw(const CopyRecord& copy) {
    const Attribution attribution =
        attributionOf(launchOf(copy.work.correlation), copy.work.graphNode);
    SpanEvent drawn = span(copy.work.time, attribution);
    drawn.lane = m_lanes.stream(copy.work.stream, StreamUse::kCopies);
    drawn.name = m_sink.intern(copyName(copy));
    drawn.arguments =
        m_sink.intern(copyArguments(copy, operatorText(attribution.context.operatorName)));
    drawn.correlation = correlationOf(copy.work);
    m_spans.push_back(drawn);
}

void Correlator::draw(const SetRecord& set) {
    const Attribution attribution =
        attributionOf(launchOf(set.work.correlation), set.work.graphNode);
    SpanEvent drawn = span(set.work.time, attribution);
    drawn.lane = m_lanes.stream(set.work.stream, StreamUse::kCopies);
    drawn.name = m_sink.intern("set memory");
    drawn.arguments =
        m_sink.intern(setArguments(set, operatorText(attribution.context.operatorName)));
    drawn.correlation = correlationOf(set.work);
    m_spans.push_back(drawn);
}

void Correlator::draw(const GraphRecord& graph) {
    const Attribution attribution = attributionOf(launchOf(graph.work.correlation), 0);
    SpanEvent drawn = span(graph.work.time, attribution);
    drawn.lane = m_lanes.stream(graph.work.stream, StreamUse::kKernels);
    drawn.name = m_sink.intern("CUDA graph");
    drawn.arguments =
        m_sink.intern(graphArguments(graph, operatorText(attribution.context.operatorName)));
    drawn.correlation = correlationOf(graph.work);
    m_spans.push_back(drawn);
}

void Correlator::draw(const CallRecord& call) {
    const Launch* launch = launchOf(call.correlation);
    if (call.domain == CallDomain::kDriver && launch != nullptr && launch->byRuntime) return;
    const Attribution attribution = attributionOf(launch, 0);
    const TracedCall* known = findCall(call.domain, call.id);
    if (known != nullptr && launchesKernel(*known) && call.result == 0) ++m_counts.launches;
    SpanEvent drawn = span(call.time, attribution);
    drawn.lane = m_lanes.calls(call.thread);
    drawn.name = m_sink.intern(callName(call));
    drawn.arguments =
        m_sink.intern(callArguments(call, operatorText(attribution.context.operatorName)));
    drawn.correlation = call.correlation;
    m_spans.push_back(drawn);
}

void Correlator::draw(const SyncRecord& sync) {
    const Launch* launch = launchOf(sync.correlation);
    const Attribution attribution = attributionOf(launch, 0);
    const EventRecord* recorded =
        sync.eventSync == kNoSyncId ? nullptr : m_events.find(sync.eventSync);
    SpanEvent drawn = span(sync.time, attribution);
    drawn.lane = m_lanes.waits(launch == nullptr ? 0 : launch->thread);
    drawn.name = m_sink.intern(syncName(sync));
    drawn.arguments = m_sink.intern(
        syncArguments(sync, recorded, operatorText(attribution.context.operatorName)));
    drawn.correlation = sync.correlation;
    m_spans.push_back(drawn);
}

void Correlator::draw(const AllocationRecord& allocation) {
    if (allocation.allocates) {
        std::uint64_t& held = m_allocations[allocation.address];
        m_allocatedBytes += allocation.bytes - held;  // held: its release was lost
        held = allocation.bytes;
    } else {
        const auto found = m_allocations.find(allocation.address);
        if (found == m_allocations.end()) return;  // from before tracing began
        m_allocatedBytes -= found->second;
        m_allocations.erase(found);
    }
    m_counters.push_back(
        {at(allocation.time), m_lanes.allocations(), static_cast<double>(m_allocatedBytes)});
}

void Correlator::draw(const OverheadRecord& overhead) {
    SpanEvent drawn = span(overhead.time, {});
    drawn.lane = m_lanes.overhead();
    drawn.name = m_sink.intern(overheadName(overhead));
    m_spans.push_back(drawn);
}

}  // namespace shardscope::collectors::cupti
