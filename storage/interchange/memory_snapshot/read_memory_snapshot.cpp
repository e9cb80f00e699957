// A PyTorch CUDA memory snapshot into a recording: memory events, bytes reserved, what ran out.
#include "storage/interchange/import.h"
#include "storage/interchange/json_text.h"
#include "storage/interchange/memory_snapshot/snapshot_json.h"
#include "storage/interchange/memory_snapshot/snapshot_walk.h"
#include "storage/interchange/memory_snapshot/stored_snapshot.h"
#include "storage/model/allocator_lanes.h"
#include "storage/model/rank_facts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace shardscope::interchange {
namespace {

class SnapshotImport {
public:
    SnapshotImport(const ReaderRequest& request, const PickleDocument& document)
        : m_request(request), m_document(document), m_builder(*request.builder) {}

    Result<ReaderResult> run() {
        const std::vector<std::size_t> devices = devicesOf(m_document);
        if (devices.empty())
            return failure(ErrorCode::kUnreadable,
                           "the memory snapshot is empty: it was taken before anything was "
                           "allocated on a GPU, or without _record_memory_history");
        const std::int64_t firstUs = firstTimeUs(m_document);
        m_result.rank = m_request.rank;
        m_result.zeroNs = m_request.zeroNs.value_or(firstUs * 1000);
        m_result.baseUnixNs = firstUs == 0 ? 0 : m_result.zeroNs;
        m_result.run.startedUnixNs = m_result.baseUnixNs;
        m_result.run.worldSize = 1;
        std::vector<std::size_t> used = memoryDevicesOf(m_document);
        if (used.empty()) used = devices;
        std::set_difference(devices.begin(), devices.end(), used.begin(), used.end(),
                            std::inserter(m_notedOn, m_notedOn.begin()));
        for (const std::size_t device : used) {
            // A process that used several devices: each is drawn as a rank of its own.
            const auto index = used.size() == 1 ? 0u : static_cast<std::uint32_t>(device);
            this->device(device, {m_request.rank.value + index}, firstUs);
            if (index > 0) m_result.moreRanks.push_back({m_request.rank.value + index});
            m_result.run.worldSize =
                std::max(m_result.run.worldSize, static_cast<std::int32_t>(index) + 1);
            if (m_request.progress && !m_request.progress(1.0))
                return failure(ErrorCode::kCancelled, "the import was cancelled");
            if (auto fine = m_builder.state(); !fine) return failure(fine);
        }
        m_result.run.configJson = configJson();
        if (used.size() > 1)
            m_result.account.notes.emplace_back("the snapshot has " + std::to_string(used.size()) +
                                                " devices: each became a rank of its own");
        return m_result;
    }

private:
    [[nodiscard]] Timestamp timeOf(std::int64_t us) {
        const Timestamp time{us * 1000 - m_result.zeroNs};
        m_result.ended = std::max(m_result.ended, time + Duration{1});
        return time;
    }

    void device(std::size_t device, RankId rank, std::int64_t startUs) {
        RankFacts facts;
        facts.rank = rank;
        facts.device = "CUDA device " + std::to_string(device);
        facts.peakSource = "a memory snapshot does not say it";
        m_builder.putRank(facts);
        const std::string process = "GPU " + std::to_string(device);
        const LaneId reserved = m_builder.lane(rank, {process, "reserved"}, LaneRole::kCounter,
                                               kSnapshotReserved, "bytes");
        SnapshotLanes lanes;
        lanes.rank = rank;
        lanes.device = static_cast<std::int64_t>(device);
        lanes.history =
            m_builder.laneIfUsed(rank, {process, "allocator"}, LaneRole::kRange, kSnapshotHistory);
        lanes.state =
            m_builder.laneIfUsed(rank, {process, "state"}, LaneRole::kRange, kSnapshotSegments);
        SnapshotListener listener;
        listener.allocation = [&](const SnapshotAllocation& a) { allocation(rank, a); };
        listener.incident = [&](const SnapshotIncident& incident) {
            const Timestamp time = timeOf(incident.timeUs);
            if (m_reserved != incident.reserved || incident.action.empty())
                m_builder.add(rank,
                              CounterEvent{time, reserved, static_cast<double>(incident.reserved)});
            m_reserved = incident.reserved;
            if (!incident.action.empty()) this->incident(rank, lanes.history, time, incident);
        };
        walkDevice(m_document, device, startUs, listener, m_result.account);
        if (m_lanes.empty()) notesOf(rank);
        annotations(lanes, process);
        segments(lanes);
        m_lanes.push_back(lanes);
    }

    /// What the process noted on devices that it does not use goes to its first rank.
    void notesOf(RankId rank) {
        for (const std::size_t device : m_notedOn) {
            const std::string name = "notes on device " + std::to_string(device);
            const LaneId lane = m_builder.laneIfUsed(
                rank, {"GPU " + std::to_string(device), "notes"}, LaneRole::kRange, name);
            SnapshotListener listener;
            listener.allocation = [](const SnapshotAllocation&) {};
            listener.incident = [&](const SnapshotIncident& incident) {
                if (!incident.action.empty())
                    this->incident(rank, lane, timeOf(incident.timeUs), incident);
            };
            walkDevice(m_document, device, 0, listener, m_result.account);
        }
    }
    [[nodiscard]] bool isOf(PickleValue annotation, const SnapshotLanes& lanes) const {
        const std::int64_t device = m_document.integer(annotation, "device").value_or(0);
        return device == lanes.device || (m_lanes.empty() && device >= 0 &&
                                          m_notedOn.contains(static_cast<std::size_t>(device)));
    }

    /// Members of a dict as JSON, but for those that `holds(key, value)` says the event has itself.
    template <class Holds>
    std::string membersOf(PickleValue dict, std::string json, Holds holds) {
        const auto& members = m_document.members(dict);
        for (std::size_t i = 0; i + 1 < members.size(); i += 2) {
            const std::string_view key = m_document.text(members[i]);
            if (key.empty() || holds(key, members[i + 1])) continue;
            const std::string* const value = textOf(members[i + 1]);
            if (value == nullptr) {
                m_result.account.repair("a value nested deeper than any snapshot, left out");
                continue;
            }
            json.append(json.size() > 1 ? "," : "").append(jsonString(key)).append(":");
            json += *value;
        }
        return json += '}';
    }
    /// Stacks are shared by many events.
    const std::string* textOf(PickleValue value) {
        const bool shared = value.kind == PickleKind::kList || value.kind == PickleKind::kDict;
        const auto key = std::pair(value.kind, value.index);
        if (shared)
            if (const auto known = m_texts.find(key); known != m_texts.end())
                return known->second ? &*known->second : nullptr;
        auto text = jsonOf(m_document, value);
        if (!shared) {
            m_text = std::move(text);
            return m_text ? &*m_text : nullptr;
        }
        if (m_textBytes > kMostTexts) m_texts.clear(), m_textBytes = 0;
        m_textBytes += text ? text->size() : 0;
        const auto& kept = m_texts.emplace(key, std::move(text)).first->second;
        return kept ? &*kept : nullptr;
    }
    static std::string front(std::int64_t index) {
        return index < 0 ? "{" : "{\"entry\":" + std::to_string(index);
    }

    void allocation(RankId rank, const SnapshotAllocation& block) {
        MemoryEvent event;
        event.time = timeOf(block.timeUs);
        event.address = block.address;
        event.size = {block.size};
        event.action = block.action;
        const PickleValue frame = chosenFrame(m_document, block.frames);
        std::string_view name = m_document.text(frame, "name");
        const std::string_view file = m_document.text(frame, "filename");
        std::string_view owner = name;
        event.category = categoryOf(name, owner);
        if (event.category == MemoryCategory::kOther && owner == name && !file.empty() &&
            file != "??") {
            const std::string place = std::string(name) + " " +
                                      std::string(file.substr(file.rfind('/') + 1)) + ":" +
                                      std::to_string(m_document.integer(frame, "line").value_or(0));
            event.owner = m_builder.intern(rank, place);
        } else {
            event.owner = m_builder.intern(rank, owner);
        }
        m_builder.add(rank, event, argumentsOf(block));
    }
    /// What the entry says beside what the event says.
    std::string argumentsOf(const SnapshotAllocation& block) {
        if (block.index < 0) {
            const std::string* const frames = textOf(block.frames);
            const bool any = frames != nullptr && !m_document.items(block.frames).empty();
            return any ? "{\"frames\":" + *frames + "}" : std::string();
        }
        const bool allocated = block.action == MemoryAction::kAllocate;
        std::string json = front(block.index);
        for (const char* key : {"addr", "size", "time_us"})
            if (!m_document.has(block.entry, key)) json.append(",\"").append(key).append("\":null");
        return membersOf(block.entry, std::move(json), [&](auto key, PickleValue value) {
            if (key == "action")
                return m_document.text(value) == (allocated ? "alloc" : "free_completed");
            if (value.kind != PickleKind::kInteger) return false;
            return (key == "addr" && static_cast<std::uint64_t>(value.integer) == block.address) ||
                   (key == "size" && value.integer == block.size) ||
                   (key == "time_us" && value.integer == block.timeUs);
        });
    }

    void incident(RankId rank, LaneId lane, Timestamp time, const SnapshotIncident& incident) {
        InstantEvent instant;
        instant.time = time;
        instant.lane = lane;
        instant.name = m_builder.intern(rank, incident.action);
        std::string json = front(incident.index);
        if (!m_document.has(incident.entry, "time_us")) json += ",\"time_us\":null";
        m_builder.add(rank, instant,
                      membersOf(incident.entry, std::move(json), [&](auto key, PickleValue value) {
                          return key == "action" ||
                                 (key == "time_us" && value.kind == PickleKind::kInteger);
                      }));
        if (incident.action != "oom") return;
        m_builder.addDiagnostic(
            {Severity::kProblem, "out-of-memory",
             "rank " + std::to_string(rank.value) + " ran out of device memory: " +
                 std::to_string(incident.size) + " bytes were asked for, " +
                 std::to_string(incident.deviceFree) + " bytes of the device were free and " +
                 std::to_string(incident.reserved) + " bytes were held by PyTorch's allocator",
             "See what is alive at that time on the memory page.", rank, time, 1});
    }

    /// Segments and their blocks as they are at the end, an instant each.
    void segments(const SnapshotLanes& lanes) {
        InstantEvent instant;
        instant.time = m_result.ended - Duration{1};
        instant.lane = lanes.state;
        std::int64_t number = -1;
        std::set<std::uint32_t> seen;
        for (const PickleValue segment :
             m_document.items(m_document.member(m_document.root, "segments"))) {
            ++number;
            if (m_document.integer(segment, "device").value_or(0) != lanes.device) continue;
            const std::string of = "{\"segment\":" + std::to_string(number);
            const PickleValue blocks = m_document.member(segment, "blocks");
            const auto state = [&](const char* name, PickleValue dict) {
                instant.name = m_builder.intern(lanes.rank, name);
                m_builder.add(lanes.rank, instant, membersOf(dict, of, [](auto key, PickleValue) {
                                  return key == "blocks";
                              }));
            };
            state("segment", segment);
            // A list that is referred to again and again would make much out of little.
            if (blocks.kind != PickleKind::kList || !seen.insert(blocks.index).second) continue;
            for (const PickleValue block : m_document.items(blocks)) state("block", block);
        }
    }

    /// What the export needs to write the snapshot again.
    std::string configJson() {
        std::string document = membersOf(m_document.root, "{", [](auto key, PickleValue) {
            return key == "segments" || key == "device_traces" || key == "external_annotations";
        });
        const auto devices =
            m_document.items(m_document.member(m_document.root, "device_traces")).size();
        return snapshotConfig({m_lanes, static_cast<std::int64_t>(devices), document});
    }

    /// One end of a torch.profiler.record_function range, `index` among all of the snapshot.
    struct AnnotationEnd {
        PickleValue entry;
        std::int64_t us, index;
    };
    /// Newer snapshots have them.
    void annotations(SnapshotLanes& lanes, const std::string& process) {
        lanes.annotations = m_builder.laneIfUsed(lanes.rank, {process, "annotations"},
                                                 LaneRole::kRange, "annotations");
        lanes.loneAnnotations = m_builder.laneIfUsed(lanes.rank, {process, "lone annotations"},
                                                     LaneRole::kRange, "annotations with one end");
        std::vector<AnnotationEnd> open;
        std::int64_t index = -1;
        for (const PickleValue entry :
             m_document.items(m_document.member(m_document.root, "external_annotations"))) {
            ++index;
            if (!isOf(entry, lanes)) continue;
            const AnnotationEnd end{entry, m_document.integer(entry, "time_us").value_or(-1),
                                    index};
            if (!count(end)) continue;
            if (m_document.text(entry, "stage") == "START")
                open.push_back(end);
            else
                close(lanes, open, end);
        }
        for (const AnnotationEnd& start : open) addLone(lanes, start);
    }
    /// false: its time is none, and it is left out.
    bool count(const AnnotationEnd& end) {
        ++m_result.account.read;
        if (end.us < 0 || end.us > std::int64_t{1} << 51) {
            m_result.account.reject("a time out of range");
            return false;
        }
        ++m_result.account.kept;
        return true;
    }
    /// Ends the innermost open one of its name.
    void close(const SnapshotLanes& lanes, std::vector<AnnotationEnd>& open,
               const AnnotationEnd& end) {
        const std::string_view name = m_document.text(end.entry, "name");
        const auto start =
            std::find_if(open.rbegin(), open.rend(), [&](const AnnotationEnd& begun) {
                return m_document.text(begun.entry, "name") == name;
            });
        if (start == open.rend() || start->us > end.us) return addLone(lanes, end);
        SpanEvent span;
        span.lane = lanes.annotations;
        span.start = timeOf(start->us);
        span.duration = {(end.us - start->us) * 1000};
        m_result.ended = std::max(m_result.ended, span.end());
        span.name = m_builder.intern(lanes.rank, name);
        const std::int64_t device = m_document.integer(end.entry, "device").value_or(0);
        m_builder.add(
            lanes.rank, span,
            "{\"start\":" + std::to_string(start->index) + ",\"end\":" + std::to_string(end.index) +
                (device == lanes.device ? "" : ",\"device\":" + std::to_string(device)) + "}");
        open.erase(std::next(start).base());
    }
    void addLone(const SnapshotLanes& lanes, const AnnotationEnd& end) {
        InstantEvent instant;
        instant.time = timeOf(end.us);
        instant.lane = lanes.loneAnnotations;
        instant.name = m_builder.intern(lanes.rank, m_document.text(end.entry, "name"));
        m_builder.add(lanes.rank, instant,
                      membersOf(end.entry, front(end.index), [](auto key, PickleValue) {
                          return key == "name" || key == "time_us";
                      }));
    }

    const ReaderRequest& m_request;
    const PickleDocument& m_document;
    std::set<std::size_t> m_notedOn;  ///< devices without memory
    TraceBuilder& m_builder;
    ReaderResult m_result;
    std::int64_t m_reserved = -1;
    std::vector<SnapshotLanes> m_lanes;
    static constexpr std::size_t kMostTexts = std::size_t{64} << 20;
    std::map<std::pair<PickleKind, std::uint32_t>, std::optional<std::string>> m_texts;
    std::size_t m_textBytes = 0;
    std::optional<std::string> m_text;  ///< of what is not shared
};

}  // namespace

Result<ReaderResult> readMemorySnapshot(const ReaderRequest& request) {
    auto source = openBytes(request.path, request.title);
    if (!source) return failure(source);
    auto document = readPickle(**source);
    if (!document) return failure(document, request.title);
    if (auto fine = checkSnapshot(*document); !fine) return failure(fine, request.title);
    auto result = SnapshotImport(request, *document).run();
    if (!result) return failure(result, request.title);
    return result;
}

}  // namespace shardscope::interchange
