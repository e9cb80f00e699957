#include "storage/interchange/kineto/out/recorded_rank.h"

#include "storage/interchange/decimal.h"
#include "storage/interchange/event_text.h"
#include "storage/interchange/kineto/out/trace_events.h"
#include "storage/model/argument_words.h"
#include "storage/model/flow_words.h"
#include "storage/model/rank_facts.h"

namespace shardscope::interchange::kineto_out {
namespace {

/// Process ids up to here are devices'.
constexpr std::int64_t kMostDevices = 1024;
constexpr std::int64_t kHostPid = 1'000'000;

/// From one row to the next of what would overlap on it (Kineto's step for "(sync)" rows).
constexpr std::int64_t kRowStep = 1'000'000;

std::string member(const char* key, std::string_view value) {
    std::string text;
    text += '"';
    text.append(key).append("\":");
    appendString(text, value);
    return text;
}

}  // namespace

RecordedRank::RecordedRank(ExportScope& exported, const WalkSetting& setting,
                           TraceEventSink& events)
    : scope(exported),
      sink(events),
      rank(setting.rank),
      clockNs(setting.clockNs),
      lanes(exported.lanes(setting.rank)) {
    for (const LaneFacts& lane : lanes) device = device || isStreamLane(lane.lane);
    choosePids();
}

void RecordedRank::choosePids() {
    const RecordingSummary& summary = scope.summary();
    std::int64_t pid = kHostPid + rank.value;
    deviceId = rank.value;
    for (const RankFacts& facts : summary.ranks)
        if (facts.rank == rank && facts.pid > kMostDevices) pid = facts.pid;
    for (const DeviceFacts& facts : summary.devices)
        if (facts.rank == rank && facts.sharedBy > 1) deviceId = 0;
    hostPid = std::to_string(pid);
    devicePid = std::to_string(deviceId);
}

void RecordedRank::nameProcesses(RowTable& rows) const {
    constexpr std::int64_t kDevicesBelow = 5'000'000;
    const std::string title = rankTitle(scope.summary(), rank);
    rows.nameProcess(hostPid, title, "CPU", rank.value);
    const std::string label = "GPU " + std::to_string(deviceId);
    rows.nameProcess(devicePid, title, device ? label : "work and collectives as kernels",
                     kDevicesBelow + deviceId);
}

void RecordedRank::addDevice(RecordedArguments& arguments, std::int64_t stream) const {
    const auto add = [&](const char* key, std::int64_t otherwise) {
        arguments.add(key, arguments.ownInteger(key).value_or(otherwise));
    };
    add("device", deviceId);
    add("context", 1);
    add("stream", stream);
}

void RecordedRank::flow(char phase, const TraceEvent& of, std::uint64_t id) const {
    TraceEvent event;
    event.phase = phase;
    event.category = event.name = flow_words::kLaunch;
    event.row = of.row;
    event.startNs = of.startNs;
    event.flow = id;
    sink.add(event);
}

void RowTable::metadata(const TraceRow& row, const char* name, const std::string& arguments) {
    TraceEvent event;
    event.phase = 'M';
    event.name = name;
    event.row = &row;
    event.arguments = arguments;
    m_sink->add(event);
}

void RowTable::nameProcess(const std::string& pid, const std::string& name,
                           const std::string& label, std::int64_t order) {
    const TraceRow row{pid, "0"};
    metadata(row, "process_name", member("name", name));
    metadata(row, "process_labels", member("labels", label));
    metadata(row, "process_sort_index", "\"sort_index\":" + std::to_string(order));
}

std::int64_t RowTable::freeFrom(const std::string& pid, std::int64_t tid) {
    while (!m_used.insert({pid, tid}).second) tid += kRowStep;
    return tid;
}

Rows RowTable::of(const std::string& pid, std::int64_t tid, const std::string& name) {
    return {pid, freeFrom(pid, tid), name, {}};
}

const TraceRow& RowTable::row(Rows& rows, std::size_t index) {
    while (rows.rows.size() <= index) {
        const bool first = rows.rows.empty();
        // Those before are taken: to try them all again would take long where rows are many.
        if (!first) rows.last = freeFrom(rows.pid, rows.last + kRowStep);
        const std::int64_t tid = rows.last;
        rows.rows.push_back({rows.pid, std::to_string(tid)});
        metadata(rows.rows.back(), "thread_name",
                 member("name", first ? rows.name : rows.name + " (overlapping)"));
    }
    return rows.rows[index];
}

void RecordedArguments::begin(std::string_view object) {
    m_members.clear();
    m_keys.clear();
    m_own.clear();
    m_object.clear();
    if (object.empty()) return;
    m_object.append("{").append(m_check.members(object)).append("}");
    TextFlags flags;
    const char* end = m_object.data() + m_object.size();
    if (readMembers(m_object.data(), end, m_own, flags) != end) m_own.clear();
}

std::string RecordedArguments::own(std::string_view key) const {
    const std::string_view value = valueOf(m_own, key);
    return value.empty() ? std::string() : textOf(value);
}

std::optional<std::int64_t> RecordedArguments::ownInteger(std::string_view key) const {
    return parseInteger(valueOf(m_own, key));
}

bool RecordedArguments::key(std::string_view key) {
    for (const auto& [at, size] : m_keys)
        if (std::string_view(m_members).substr(at, size) == key) return false;
    m_members.append(m_members.empty() ? "\"" : ",\"");
    m_keys.emplace_back(m_members.size(), key.size());
    m_members.append(key).append("\":");
    return true;
}

void RecordedArguments::addOwn(bool device) {
    for (const Member& member : m_own) {
        if (member.key == "correlation") continue;  // the event's own
        const std::string_view name = device                   ? kinetoArgument(member.key)
                                      : member.key == "stream" ? "on stream"
                                      : member.key == "shapes" ? "Input Dims"
                                                               : member.key;
        if (key(name)) m_members.append(member.value);
    }
}

void RecordedArguments::addPlace(const SpanEvent& span) {
    if (span.step != kNoStep) add("step", std::int64_t{span.step.value});
    if (span.layer != kNoLayer) add("layer", layerTitle(span.layer));
    if (span.phase != Phase::kNone) add("phase", toWord(span.phase));
}

void RecordedArguments::add(std::string_view name, std::int64_t value) {
    if (key(name)) appendInteger(m_members, value);
}

void RecordedArguments::add(std::string_view name, std::string_view value) {
    if (key(name)) appendString(m_members, value);
}

void RecordedArguments::addNumber(std::string_view name, double value) {
    if (key(name)) appendNumber(m_members, value);
}

void addCollective(RecordedArguments& arguments, const CollectiveEvent& collective,
                   const GroupFacts& group) {
    const bool world = collective.group == 0;
    const std::int64_t all = collective.size.count / bytesOf(collective.dtype);
    const std::int64_t part = world && group.worldSize > 0 ? all / group.worldSize : all;
    const bool gathers = collective.operation == CollectiveOp::kAllGather;
    const bool scatters = collective.operation == CollectiveOp::kReduceScatter;
    arguments.add("Collective name", collectiveName(collective.operation));
    if (collective.dtype != DataType::kUnknown)
        arguments.add("dtype", scalarTypeName(collective.dtype));
    if (collective.size != kUnknownSize) {
        arguments.add("In msg nelems", gathers ? part : all);
        arguments.add("Out msg nelems", scatters ? part : all);
    }
    if (world) arguments.add("Group size", std::int64_t{group.worldSize});
    arguments.add("Process Group Name", std::to_string(collective.group));
    if (world) {
        constexpr std::int32_t kMostNamed = 64;  // Kineto cuts long lists as well
        std::string ranks = "[";
        for (std::int32_t rank = 0; rank < std::min(group.worldSize, kMostNamed); ++rank)
            ranks.append(rank == 0 ? "" : ", ").append(std::to_string(rank));
        arguments.add("Process Group Description", "default_pg");
        arguments.add("Process Group Ranks",
                      ranks + (group.worldSize > kMostNamed ? ", ...]" : "]"));
    }
    arguments.add("Rank", std::int64_t{group.rank});
    arguments.add("Seq", static_cast<std::int64_t>(collective.sequence));
    if (collective.cause != Cause::kNone) arguments.add("cause", toWord(collective.cause));
    if (collective.step != kNoStep) arguments.add("step", std::int64_t{collective.step.value});
    if (collective.layer != kNoLayer) arguments.add("layer", layerTitle(collective.layer));
}

}  // namespace shardscope::interchange::kineto_out
