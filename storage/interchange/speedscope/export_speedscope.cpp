// speedscope's JSON: one evented profile a track, integers in nanoseconds of the recording's clock.
//
// A profile is written while its lane is read. A lane with overlapping spans is read once for each
// of its tracks, so that nothing has to be kept.
#include "storage/interchange/formats/export_scope.h"
#include "storage/interchange/formats/export_writer.h"
#include "storage/interchange/formats/nested_tracks.h"
#include "storage/interchange/json_text.h"
#include "storage/interchange/output_kind.h"

#include <algorithm>
#include <unordered_map>

namespace shardscope::interchange {
namespace {

class SpeedscopeExport {
public:
    SpeedscopeExport(ExportScope& scope, ExportWriter& writer) : m_scope(scope), m_writer(writer) {
        m_writer.write(
            "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
            "\"exporter\":\"shardscope\",\"name\":");
        m_writer.write(jsonString(scope.summary().run.model + " " + scope.summary().run.strategy));
        m_writer.write(",\"activeProfileIndex\":0,\n\"profiles\":[");
    }
    Result<void> lane(const LaneFacts& lane) {
        std::size_t tracks = 1;
        for (std::size_t track = 0; track < tracks; ++track) {
            auto count = profile(lane, track);
            if (!count) return failure(count);
            tracks = *count;
        }
        return {};
    }
    void finish() {
        m_writer.write("],\n\"shared\":{\"frames\":[");
        for (std::size_t i = 0; i < m_frames.size(); ++i)
            m_writer.write((i > 0 ? ",\n" : "\n") + ("{\"name\":" + m_frames[i] + "}"));
        m_writer.write("]}}\n");
    }
    [[nodiscard]] std::uint64_t events() const { return m_events; }

private:
    struct Nothing {};
    using Tracks = NestedTracks<Nothing>;

    /// One of a lane's tracks; returns how many the lane has.
    Result<std::size_t> profile(const LaneFacts& lane, std::size_t wanted) {
        Tracks tracks;
        bool begun = false;
        Timestamp last;
        const auto put = [&](const char* type, Timestamp at, const SpanEvent& span) {
            if (!begun) head(lane, wanted, at);
            line(begun, type, at, frame(lane.rank, span.name));
            begun = true;
            last = at;
        };
        const auto begin = [&](std::size_t at, const Tracks::Track& track) {
            if (at == wanted) put("O", clipped(track.back().span.start), track.back().span);
            if (at == wanted) ++m_events;
        };
        const auto end = [&](std::size_t at, const Tracks::Track& track) {
            if (at == wanted) put("C", clipped(track.back().end), track.back().span);
        };
        auto walked =
            m_scope.forEachSpan(lane, [&](const SpanEvent& span) { tracks.add(span, begin, end); });
        if (!walked) return failure(walked);
        tracks.finish(end);
        if (begun) m_writer.write("],\"endValue\":" + std::to_string(last.ns) + "}");
        return tracks.count();
    }
    void head(const LaneFacts& lane, std::size_t track, Timestamp start) {
        std::string name = "rank " + std::to_string(lane.rank.value) + " " + lane.name;
        if (track > 0) name += " (overlapping " + std::to_string(track) + ")";
        m_writer.write(m_profiles++ > 0 ? ",\n" : "\n");
        m_writer.write("{\"type\":\"evented\",\"name\":" + jsonString(name) +
                       ",\"unit\":\"nanoseconds\",\"startValue\":" + std::to_string(start.ns) +
                       ",\"events\":[");
    }
    void line(bool more, const char* type, Timestamp at, std::size_t frame) {
        std::string text = more ? ",\n{\"type\":\"" : "\n{\"type\":\"";
        text += type;
        text += "\",\"frame\":" + std::to_string(frame) + ",\"at\":" + std::to_string(at.ns) + "}";
        m_writer.write(text);
    }
    [[nodiscard]] Timestamp clipped(Timestamp time) const {
        return std::clamp(time, m_scope.range().begin, m_scope.range().end);
    }
    std::size_t frame(RankId rank, StringId id) {
        const std::string_view name = m_scope.reader().text(rank, id);
        std::string quoted = jsonString(name.empty() ? "(unnamed)" : name);
        const auto [at, fresh] = m_frameIds.try_emplace(quoted, m_frames.size());
        if (fresh) m_frames.push_back(std::move(quoted));
        return at->second;
    }

    ExportScope& m_scope;
    ExportWriter& m_writer;
    std::size_t m_profiles = 0;
    std::uint64_t m_events = 0;
    std::vector<std::string> m_frames;  ///< JSON strings
    std::unordered_map<std::string, std::size_t> m_frameIds;
};

}  // namespace

Result<ExportAccount> exportSpeedscope(storage::RecordingReader& reader,
                                       const ExportOptions& options) {
    auto scope = ExportScope::of(reader, options);
    if (!scope) return failure(scope);
    auto writer = ExportWriter::open(outputOf(options, kSpeedscopeFile));
    if (!writer) return failure(writer);
    SpeedscopeExport speedscope(*scope, *writer);
    for (const RankId rank : scope->ranks())
        for (const LaneFacts& lane : scope->lanes(rank)) {
            if (lane.role == LaneRole::kCounter) continue;
            if (auto done = speedscope.lane(lane); !done)
                return failure(done, "exporting for speedscope");
        }
    if (speedscope.events() == 0)
        return failure(ErrorCode::kUsage,
                       "no span lies within what is to be exported: choose "
                       "other ranks or a wider range");
    speedscope.finish();
    if (auto done = writer->finish(); !done) return failure(done);
    return ExportAccount{speedscope.events(),
                         {options.output},
                         {"speedscope holds spans: no counters, memory events or arguments"}};
}

}  // namespace shardscope::interchange
