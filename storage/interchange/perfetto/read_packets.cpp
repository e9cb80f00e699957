#include "storage/interchange/perfetto/read_packets.h"

#include "storage/interchange/account.h"
#include "storage/interchange/decimal.h"
#include "storage/interchange/event_text.h"
#include "storage/interchange/json_text.h"
#include "storage/interchange/perfetto/annotations.h"
#include "storage/interchange/perfetto/fact_instants.h"

#include <protozero/pbf_reader.hpp>

#include <limits>

namespace shardscope::interchange {
namespace {

using protozero::pbf_reader;

// TracePacket
constexpr std::uint32_t kTimestamp = 8, kTrackEvent = 11, kInternedData = 12, kSequenceFlags = 13,
                        kTrackDescriptor = 60;
constexpr std::uint32_t kStateCleared = 1;
// TrackDescriptor
constexpr std::uint32_t kUuid = 1, kProcess = 3, kParent = 5, kDescription = 14;
// TrackEvent
constexpr std::uint32_t kCategoryIds = 3, kAnnotations = 4, kType = 9, kNameId = 10,
                        kEventTrack = 11, kCounterValue = 30, kDoubleValue = 44;
constexpr std::uint32_t kBegin = 1, kEnd = 2, kInstant = 3, kSample = 4;
// InternedData
constexpr std::uint32_t kEventCategories = 1, kEventNames = 2, kAnnotationNames = 3,
                        kAnnotationTexts = 29;
constexpr std::int64_t kTimeLimit = std::int64_t{1} << 59;
constexpr char kPacketKey = 0x0a;

std::string_view viewOf(const protozero::data_view& view) {
    return {view.data(), view.size()};
}

/// Length of the packet at the front and of what says it; nothing: not all of that is there.
struct Framing {
    std::size_t head = 0;
    std::uint64_t size = 0;
};
std::optional<Framing> framingOf(std::string_view bytes) {
    Framing framing{1, 0};
    for (int shift = 0; shift < 64; shift += 7) {
        if (framing.head >= bytes.size()) return std::nullopt;
        const auto byte = static_cast<unsigned char>(bytes[framing.head++]);
        framing.size |= std::uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) return framing;
    }
    framing.size = std::numeric_limits<std::uint64_t>::max();
    return framing;
}

}  // namespace

struct PerfettoReader::Event {
    std::uint32_t type = 0;
    std::uint64_t track = 0;
    std::string_view name, category;
    double value = 0;
    SpanEvent span;                   ///< the slice's own annotations
    std::string arguments;            ///< JSON object of the others
    std::optional<std::string> text;  ///< of arguments that are no object
};

tl::unexpected<Error> PerfettoReader::refuse(const std::string& why) const {
    return failure(ErrorCode::kUnreadable, m_name + " " + why);
}

tl::unexpected<Error> PerfettoReader::foreign() const {
    return refuse(
        "is a Perfetto trace that Shardscope did not write: convert it with Perfetto's `traceconv "
        "json FILE FILE.json`, and import that");
}

Result<std::size_t> PerfettoReader::take(std::string_view bytes) {
    std::size_t taken = 0;
    try {
        while (taken < bytes.size()) {
            const std::string_view rest = bytes.substr(taken);
            if (rest.front() != kPacketKey)
                return refuse("is no Perfetto trace: byte " + std::to_string(m_offset + taken) +
                              " begins no packet");
            const auto framing = framingOf(rest);
            if (!framing) break;
            if (framing->size > m_limits.mostPacket)
                return refuse("is no Perfetto trace of Shardscope: the packet at byte " +
                              std::to_string(m_offset + taken) + " is larger than any it writes");
            if (rest.size() - framing->head < framing->size) break;
            if (auto done = packet(rest.substr(framing->head, framing->size)); !done)
                return failure(done);
            taken += framing->head + static_cast<std::size_t>(framing->size);
        }
    } catch (const protozero::exception& error) {
        return refuse("is damaged: the packet at byte " + std::to_string(m_offset + taken) +
                      " is malformed (" + error.what() + ")");
    }
    m_offset += taken;
    return taken;
}

void PerfettoReader::finish(std::size_t rest) {
    if (rest > 0) m_handler->reject(kCutOff);
    clear();
}

void PerfettoReader::clear() {
    for (; m_open > 0; --m_open) m_handler->reject("a begin without an end");
    m_categories.clear();
    m_names.clear();
    m_annotationNames.clear();
    m_texts.clear();
    m_nameBytes = 0;
    m_tracks.clear();
}

Result<void> PerfettoReader::packet(std::string_view bytes) {
    std::int64_t time = 0;
    std::string_view track, interned, descriptor;
    bool hasEvent = false;
    pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case varintField(kTimestamp):
                time = static_cast<std::int64_t>(reader.get_uint64());
                break;
            case bytesField(kTrackEvent):
                track = viewOf(reader.get_view());
                hasEvent = true;
                break;
            case bytesField(kInternedData):
                interned = viewOf(reader.get_view());
                break;
            case varintField(kSequenceFlags):
                if ((reader.get_uint32() & kStateCleared) != 0) clear();
                break;
            case bytesField(kTrackDescriptor):
                descriptor = viewOf(reader.get_view());
                break;
            default:
                reader.skip();
        }
    }
    if (!interned.empty())
        if (auto done = intern(interned); !done) return done;
    if (!descriptor.empty())
        if (auto done = describe(descriptor); !done) return done;
    return hasEvent ? event(track, time) : Result<void>{};
}

Result<void> PerfettoReader::intern(std::string_view bytes) {
    pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
        Names* names = reader.tag_and_type() == bytesField(kEventCategories)   ? &m_categories
                       : reader.tag_and_type() == bytesField(kEventNames)      ? &m_names
                       : reader.tag_and_type() == bytesField(kAnnotationNames) ? &m_annotationNames
                       : reader.tag_and_type() == bytesField(kAnnotationTexts) ? &m_texts
                                                                               : nullptr;
        if (names == nullptr) {
            reader.skip();
            continue;
        }
        pbf_reader entry = reader.get_message();
        std::uint64_t id = 0;
        std::string_view text;
        while (entry.next()) {
            if (entry.tag_and_type() == varintField(1))
                id = entry.get_uint64();
            else if (entry.tag_and_type() == bytesField(2))
                text = viewOf(entry.get_view());
            else
                entry.skip();
        }
        constexpr std::size_t kEntryBytes = 96;  // what the map itself takes
        m_nameBytes += text.size() + kEntryBytes;
        if (m_nameBytes > m_limits.mostNames)
            return refuse("has more names than any recording: it is damaged");
        (*names)[id] = text;
    }
    return {};
}

Result<void> PerfettoReader::describe(std::string_view bytes) {
    std::uint64_t uuid = 0, parent = 0;
    bool isProcess = false;
    std::string_view description;
    pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
        if (reader.tag_and_type() == varintField(kUuid))
            uuid = reader.get_uint64();
        else if (reader.tag_and_type() == varintField(kParent))
            parent = reader.get_uint64();
        else if (reader.tag_and_type() == bytesField(kDescription))
            description = viewOf(reader.get_view());
        else {
            isProcess = isProcess || reader.tag_and_type() == bytesField(kProcess);
            reader.skip();
        }
    }
    if (m_tracks.size() >= m_limits.mostTracks)
        return refuse("has more tracks than any recording: it is damaged");
    Track track;
    if (isProcess) {
        const auto process = parseProcess(description);
        if (!process) return foreign();
        if (++m_ranks > m_limits.mostRanks)
            return refuse("has more than " + std::to_string(m_limits.mostRanks) +
                          " ranks: export and import them in parts");
        track.rank = process->rank.rank;
        track.shift = process->shift;
        m_handler->process(*process);
    } else {
        const auto above = m_tracks.find(parent);
        if (above == m_tracks.end() || above->second.kind != Kind::kProcess) return foreign();
        track.rank = above->second.rank;
        track.shift = above->second.shift;
        if (auto lane = parseLane(description)) {
            lane->rank = track.rank;
            track.lane = lane->lane;
            track.kind = lane->role == LaneRole::kCounter ? Kind::kCounter : Kind::kLane;
            m_handler->lane(*lane);
        } else if (isFacts(description)) {
            track.kind = Kind::kFacts;
        } else {
            return foreign();
        }
    }
    m_tracks[uuid] = std::move(track);
    return {};
}

/// One of the slice's own, or one of its arguments.
void PerfettoReader::annotation(std::string_view bytes, Event& event) const {
    pbf_reader reader(bytes.data(), bytes.size());
    std::uint64_t id = 0;
    while (reader.next())
        if (reader.tag_and_type() == varintField(1))
            id = reader.get_uint64();
        else
            reader.skip();
    const auto name = m_annotationNames.find(id);
    if (name == m_annotationNames.end()) return;
    const std::string value = annotationValue(bytes, [this](std::uint64_t text) {
        const auto at = m_texts.find(text);
        return at == m_texts.end() ? std::string_view{} : std::string_view(at->second);
    });
    const std::string& key = name->second;
    if (key == "arguments") {
        event.text = textOf(value);
        return;
    }
    if (!event.arguments.empty()) event.arguments += ',';
    appendString(event.arguments, key);
    (event.arguments += ':') += value;
}

PerfettoReader::Event PerfettoReader::parse(std::string_view bytes) const {
    Event event;
    const auto nameOf = [](const Names& names, std::uint64_t id) -> std::string_view {
        const auto at = names.find(id);
        return at == names.end() ? std::string_view{} : at->second;
    };
    pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case varintField(kType):
                event.type = reader.get_uint32();
                break;
            case varintField(kEventTrack):
                event.track = reader.get_uint64();
                break;
            case varintField(kNameId):
                event.name = nameOf(m_names, reader.get_uint64());
                break;
            case varintField(kCategoryIds):
                event.category = nameOf(m_categories, reader.get_uint64());
                break;
            case bytesField(kAnnotations):
                annotation(viewOf(reader.get_view()), event);
                break;
            case varintField(kCounterValue):
                event.value = static_cast<double>(reader.get_int64());
                break;
            case fixed64Field(kDoubleValue):
                event.value = reader.get_double();
                break;
            default:
                reader.skip();
        }
    }
    return event;
}

Result<void> PerfettoReader::event(std::string_view bytes, std::int64_t time) {
    const Event event = parse(bytes);
    const auto at = m_tracks.find(event.track);
    if (at == m_tracks.end()) return foreign();
    Track& track = at->second;
    const Timestamp when{time};
    if (when.ns < 0 || when.ns > kTimeLimit) {
        m_handler->reject("a time out of range");
        return {};
    }
    const Timestamp own = when - track.shift;
    if (track.kind == Kind::kLane && event.type == kBegin) {
        if (m_open >= m_limits.mostOpen)
            return refuse("has more slices open than any recording: it is damaged");
        begin(track, event, own);
    } else if (track.kind == Kind::kLane && event.type == kEnd) {
        end(track, own);
    } else if (track.kind == Kind::kLane && event.type == kInstant) {
        const Open open = openOf(track, event, own);
        InstantEvent instant;
        instant.time = own;
        instant.lane = track.lane;
        instant.step = open.span.step;
        instant.scope = open.scope;
        m_handler->instant(track.rank, {instant, open.name, open.arguments});
    } else if (track.kind == Kind::kCounter && event.type == kSample) {
        m_handler->sample(track.rank, {own, track.lane, event.value});
    } else if (track.kind == Kind::kFacts && event.type == kInstant) {
        std::string object;
        object += '{';
        object += event.arguments;
        object += '}';
        m_handler->fact(track.rank, {own, event.name, event.category, object});
    } else {
        m_handler->reject("an event that its track does not have");
    }
    return {};
}

PerfettoReader::Open PerfettoReader::openOf(const Track& track, const Event& event,
                                            Timestamp time) {
    Open open;
    open.span.start = time;
    open.span.lane = track.lane;
    open.name = event.name;
    std::string object;
    (object += '{') += event.arguments;
    object += '}';
    std::vector<Member> members;
    TextFlags flags;
    const char* end = object.data() + object.size();
    if (readMembers(object.data(), end, members, flags) != end) members.clear();
    for (const Member& member : members) {
        const auto number = parseInteger(member.value);
        if (member.key == "step") {
            if (number && *number >= 0 && *number <= std::numeric_limits<std::int32_t>::max())
                open.span.step = {static_cast<std::int32_t>(*number)};
        } else if (member.key == "layer") {
            open.span.layer = layerOf(textOf(member.value));
        } else if (member.key == "phase") {
            open.span.phase = phaseOf(textOf(member.value));
        } else if (member.key == "correlation") {
            open.span.correlation = static_cast<std::uint64_t>(number.value_or(0));
        } else if (member.key == "scope" && event.type == kInstant) {
            open.scope = scopeOf(textOf(member.value));
        } else {
            if (!open.arguments.empty()) open.arguments += ',';
            (open.arguments += '"').append(argumentName(member.key));
            open.arguments.append("\":").append(member.value);
        }
    }
    if (event.text) {
        open.arguments = *event.text;
    } else if (!open.arguments.empty()) {
        open.arguments.insert(open.arguments.begin(), '{');
        open.arguments += '}';
    }
    return open;
}

void PerfettoReader::begin(Track& track, const Event& event, Timestamp time) {
    track.open.push_back(openOf(track, event, time));
    ++m_open;
}

void PerfettoReader::end(Track& track, Timestamp time) {
    if (track.open.empty()) return m_handler->reject("an end without a begin");
    Open open = std::move(track.open.back());
    track.open.pop_back();
    --m_open;
    open.span.duration = {std::max<std::int64_t>(0, (time - open.span.start).ns)};
    m_handler->slice(track.rank, {track.lane, open.span, open.name, open.arguments});
}

}  // namespace shardscope::interchange
