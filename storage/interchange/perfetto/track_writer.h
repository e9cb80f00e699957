// Packets of a Perfetto trace: TracePacket and TrackEvent, written without Perfetto's SDK.
//
// One packet sequence. Names, categories and names of annotations are interned: written once, in
// the packet that uses them first. Field numbers are those of perfetto/protos/perfetto/trace.
#pragma once

#include "storage/interchange/formats/export_writer.h"
#include "storage/model/recording.h"

#include <protozero/pbf_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope::interchange {

enum class CounterUnit : std::uint8_t { kNone = 0, kNanoseconds = 1, kCount = 2, kBytes = 3 };

/// What a slice's BEGIN says besides its time.
struct TrackSlice {
    std::string_view name;
    std::string_view category;
    std::vector<std::uint64_t> flows{};     ///< that begin or go on here
    std::vector<std::uint64_t> flowEnds{};  ///< that end here
};

class TrackWriter {
public:
    using Uuid = std::uint64_t;

    /// Trace time is recording time + `shift` (Perfetto knows none below 0). `startedUnixNs` is
    /// the wall clock at recording time 0; 0: not known.
    TrackWriter(ExportWriter& writer, Duration shift, std::int64_t startedUnixNs);

    /// `description` says what the track is of (descriptions.h).
    Uuid addProcess(std::int32_t pid, std::string_view name, std::string_view description);
    /// Shown below its process in the order they are added.
    Uuid addTrack(Uuid process, std::string_view name, std::string_view description);
    Uuid addCounter(Uuid process, const LaneFacts& lane, CounterUnit unit,
                    std::string_view description);

    /// Annotations of the next slice, from a JSON object; other text is kept as it is.
    void annotate(std::string_view name, std::string_view value);
    void annotate(std::string_view name, std::int64_t value);
    void annotateArguments(std::string_view json);
    /// Likewise with the names as they are.
    void annotateFact(std::string_view json);

    void begin(Uuid track, Timestamp time, const TrackSlice& slice);
    void end(Uuid track, Timestamp time);
    void instant(Uuid track, Timestamp time, const TrackSlice& slice);
    void sample(Uuid counter, Timestamp time, double value);

private:
    /// Names of one kind; those new since the last packet wait in `fresh`.
    struct Interned {
        std::unordered_map<std::string, std::uint64_t> ids;
        std::string fresh;
    };
    /// Texts are known by what tells them apart well enough, so that memory does not hold them.
    struct InternedTexts {
        std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> ids;  ///< by hash and size
        std::size_t bytes = 0;                                             ///< of all texts
        std::string fresh;
    };
    void annotateJson(std::string_view json, bool arguments);
    std::uint64_t internText(std::string_view text);
    std::uint64_t intern(Interned& names, std::uint32_t field, std::string_view name);
    Uuid describe(std::string descriptor);
    void packet(const std::string& body, std::uint32_t flags);
    void start(std::uint32_t type, Uuid track, Timestamp time, const TrackSlice& slice);
    [[nodiscard]] std::string event(Uuid track, std::uint32_t type) const;
    void eventPacket(Timestamp time, const std::string& event);

    ExportWriter& m_writer;
    Duration m_shift;
    Uuid m_lastUuid = 0;
    std::int32_t m_lastOrder = 0;
    Interned m_names, m_categories, m_annotationNames;
    InternedTexts m_texts;
    std::string m_annotations;  ///< of the next slice, encoded
    std::string m_packet, m_framed;
};

}  // namespace shardscope::interchange
