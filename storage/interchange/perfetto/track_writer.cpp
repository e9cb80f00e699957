#include "storage/interchange/perfetto/track_writer.h"

#include "storage/interchange/perfetto/annotations.h"

#include <cmath>
#include <functional>
#include <utility>

namespace shardscope::interchange {
namespace {

using protozero::pbf_writer;

// Trace
constexpr std::uint32_t kPacket = 1;
// TracePacket
constexpr std::uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11,
                        kInternedData = 12, kSequenceFlags = 13, kTrackDescriptor = 60,
                        kFirstPacket = 87;
constexpr std::uint32_t kStateCleared = 1, kNeedsState = 2;
// TrackDescriptor
constexpr std::uint32_t kUuid = 1, kTrackName = 2, kProcess = 3, kParent = 5, kCounter = 8,
                        kChildOrdering = 11, kSiblingOrder = 12, kDescription = 14;
constexpr std::int32_t kExplicitOrder = 3;
// TrackEvent
constexpr std::uint32_t kCategoryIds = 3, kAnnotations = 4, kType = 9, kNameId = 10,
                        kEventTrack = 11, kCounterValue = 30, kDoubleValue = 44, kFlows = 47,
                        kEndingFlows = 48;
constexpr std::uint32_t kBegin = 1, kEnd = 2, kInstant = 3, kSample = 4;
// InternedData
constexpr std::uint32_t kEventCategories = 1, kEventNames = 2, kAnnotationNames = 3,
                        kAnnotationTexts = 29;
// ClockSnapshot
constexpr std::uint32_t kRealTime = 1, kBootTime = 6;

std::string clock(std::uint32_t id, std::int64_t time) {
    std::string bytes;
    pbf_writer writer(bytes);
    writer.add_uint32(1, id);
    writer.add_uint64(2, static_cast<std::uint64_t>(time));
    return bytes;
}

}  // namespace

TrackWriter::TrackWriter(ExportWriter& writer, Duration shift, std::int64_t startedUnixNs)
    : m_writer(writer), m_shift(shift) {
    std::string body;
    pbf_writer packetWriter(body);
    packetWriter.add_bool(kFirstPacket, true);
    if (startedUnixNs > 0) {
        std::string snapshot;
        pbf_writer snapshotWriter(snapshot);
        snapshotWriter.add_message(1, clock(kBootTime, shift.ns));
        snapshotWriter.add_message(1, clock(kRealTime, startedUnixNs));
        snapshotWriter.add_uint32(2, kBootTime);
        packetWriter.add_message(kClockSnapshot, snapshot);
    }
    packet(body, kStateCleared | kNeedsState);
}

void TrackWriter::packet(const std::string& body, std::uint32_t flags) {
    m_packet = body;
    {
        pbf_writer writer(m_packet);
        writer.add_uint32(kSequenceId, 1);
        if (flags != 0) writer.add_uint32(kSequenceFlags, flags);
        std::string interned;
        for (Interned* names : {&m_categories, &m_names, &m_annotationNames}) {
            interned += names->fresh;
            names->fresh.clear();
        }
        interned += std::exchange(m_texts.fresh, {});
        if (!interned.empty()) writer.add_message(kInternedData, interned);
    }
    m_framed.clear();
    pbf_writer(m_framed).add_message(kPacket, m_packet);
    m_writer.write(m_framed);
}

TrackWriter::Uuid TrackWriter::describe(std::string descriptor) {
    pbf_writer(descriptor).add_uint64(kUuid, ++m_lastUuid);
    std::string body;
    pbf_writer(body).add_message(kTrackDescriptor, descriptor);
    packet(body, 0);
    return m_lastUuid;
}

TrackWriter::Uuid TrackWriter::addProcess(std::int32_t pid, std::string_view name,
                                          std::string_view description) {
    std::string process;
    pbf_writer processWriter(process);
    processWriter.add_int32(1, pid);
    processWriter.add_string(6, name.data(), name.size());
    std::string descriptor;
    pbf_writer writer(descriptor);
    writer.add_message(kProcess, process);
    writer.add_enum(kChildOrdering, kExplicitOrder);
    writer.add_string(kDescription, description.data(), description.size());
    return describe(descriptor);
}

TrackWriter::Uuid TrackWriter::addTrack(Uuid process, std::string_view name,
                                        std::string_view description) {
    std::string descriptor;
    pbf_writer writer(descriptor);
    writer.add_string(kTrackName, name.data(), name.size());
    writer.add_uint64(kParent, process);
    writer.add_int32(kSiblingOrder, ++m_lastOrder);
    writer.add_string(kDescription, description.data(), description.size());
    return describe(descriptor);
}

TrackWriter::Uuid TrackWriter::addCounter(Uuid process, const LaneFacts& lane, CounterUnit unit,
                                          std::string_view description) {
    std::string counter;
    pbf_writer counterWriter(counter);
    if (unit != CounterUnit::kNone)
        counterWriter.add_enum(3, static_cast<std::int32_t>(unit));
    else if (!lane.unit.empty())
        counterWriter.add_string(6, lane.unit);
    std::string descriptor;
    pbf_writer writer(descriptor);
    writer.add_string(kTrackName, lane.name);
    writer.add_string(kDescription, description.data(), description.size());
    writer.add_uint64(kParent, process);
    writer.add_int32(kSiblingOrder, ++m_lastOrder);
    // An empty message too: it is what makes the track a counter.
    writer.add_message(kCounter, counter);
    return describe(descriptor);
}

std::uint64_t TrackWriter::intern(Interned& names, std::uint32_t field, std::string_view name) {
    const auto [at, fresh] = names.ids.try_emplace(std::string(name), names.ids.size() + 1);
    if (fresh) {
        std::string entry;
        pbf_writer writer(entry);
        writer.add_uint64(1, at->second);
        writer.add_string(2, name.data(), name.size());
        pbf_writer(names.fresh).add_message(field, entry);
    }
    return at->second;
}

/// 0 where there are more than are worth remembering.
std::uint64_t TrackWriter::internText(std::string_view text) {
    constexpr std::size_t kMostTexts = 1'000'000;
    constexpr std::size_t kMostBytes = std::size_t{32} << 20;  // readers hold them all
    const std::pair key{std::hash<std::string_view>{}(text), text.size()};
    const auto known = m_texts.ids.find(key);
    if (known != m_texts.ids.end()) return known->second;
    m_texts.bytes += text.size();
    if (m_texts.ids.size() >= kMostTexts || m_texts.bytes > kMostBytes) return 0;
    const std::uint64_t id = m_texts.ids.size() + 1;
    m_texts.ids.emplace(key, id);
    std::string entry;
    pbf_writer writer(entry);
    writer.add_uint64(1, id);
    writer.add_bytes(2, text.data(), text.size());
    pbf_writer(m_texts.fresh).add_message(kAnnotationTexts, entry);
    return id;
}

void TrackWriter::annotate(std::string_view name, std::string_view value) {
    appendAnnotation(m_annotations, kAnnotations, intern(m_annotationNames, kAnnotationNames, name),
                     value);
}

void TrackWriter::annotate(std::string_view name, std::int64_t value) {
    appendAnnotation(m_annotations, kAnnotations, intern(m_annotationNames, kAnnotationNames, name),
                     value);
}

void TrackWriter::annotateArguments(std::string_view json) {
    annotateJson(json, true);
}

void TrackWriter::annotateFact(std::string_view json) {
    annotateJson(json, false);
}

void TrackWriter::annotateJson(std::string_view json, bool arguments) {
    const AnnotationIds ids{
        [this](std::string_view name) { return intern(m_annotationNames, kAnnotationNames, name); },
        [this](std::string_view text) { return internText(text); }};
    appendJsonAnnotations(m_annotations, kAnnotations, json, arguments, ids);
}

std::string TrackWriter::event(Uuid track, std::uint32_t type) const {
    std::string bytes;
    pbf_writer writer(bytes);
    writer.add_uint32(kType, type);
    writer.add_uint64(kEventTrack, track);
    return bytes;
}

void TrackWriter::eventPacket(Timestamp time, const std::string& event) {
    std::string body;
    pbf_writer writer(body);
    writer.add_uint64(kTimestamp, static_cast<std::uint64_t>((time + m_shift).ns));
    writer.add_message(kTrackEvent, event);
    packet(body, kNeedsState);
}

void TrackWriter::start(std::uint32_t type, Uuid track, Timestamp time, const TrackSlice& slice) {
    std::string bytes = event(track, type);
    pbf_writer writer(bytes);
    writer.add_uint64(kNameId, intern(m_names, kEventNames, slice.name));
    writer.add_uint64(kCategoryIds, intern(m_categories, kEventCategories, slice.category));
    for (const std::uint64_t flow : slice.flows) writer.add_fixed64(kFlows, flow);
    for (const std::uint64_t flow : slice.flowEnds) writer.add_fixed64(kEndingFlows, flow);
    bytes += std::exchange(m_annotations, {});
    eventPacket(time, bytes);
}

void TrackWriter::begin(Uuid track, Timestamp time, const TrackSlice& slice) {
    start(kBegin, track, time, slice);
}

void TrackWriter::instant(Uuid track, Timestamp time, const TrackSlice& slice) {
    start(kInstant, track, time, slice);
}

void TrackWriter::end(Uuid track, Timestamp time) {
    eventPacket(time, event(track, kEnd));
}

void TrackWriter::sample(Uuid counter, Timestamp time, double value) {
    std::string bytes = event(counter, kSample);
    pbf_writer writer(bytes);
    // Whole numbers stand as such; beyond 2^53 a double has no other.
    if (std::abs(value) < 0x1p62 && value == std::floor(value))
        writer.add_int64(kCounterValue, static_cast<std::int64_t>(value));
    else
        writer.add_double(kDoubleValue, value);
    eventPacket(time, bytes);
}

}  // namespace shardscope::interchange
