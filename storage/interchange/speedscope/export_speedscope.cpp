// speedscope's JSON: one evented profile a track, integers in nanoseconds of the recording's clock.
//
// A profile is written while its lane is read. A lane with overlapping spans is read once more for
// every million spans on its extra tracks.
#include "storage/interchange/formats.h"
#include "storage/interchange/formats/export_scope.h"
#include "storage/interchange/formats/export_writer.h"
#include "storage/interchange/formats/nested_tracks.h"
#include "storage/interchange/json_text.h"
#include "storage/interchange/output_kind.h"
#include "storage/model/rank_facts.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

namespace shardscope::interchange {
namespace {

class SpeedscopeExport {
public:
    SpeedscopeExport(ExportScope& scope, ExportWriter& writer) : m_scope(scope), m_writer(writer) {
        m_writer.write(
            "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
            "\"exporter\":\"shardscope\",\"name\":");
        const RunFacts& run = scope.summary().run;
        m_writer.write(
            jsonString(run.model.empty() ? "imported trace" : run.model + " " + run.strategy));
        m_writer.write(",\"activeProfileIndex\":0,\n\"profiles\":[");
    }
    Result<void> lane(const LaneFacts& lane) {
        std::vector<std::size_t> sizes;  // spans of each track
        auto first = walk(lane, [&](std::size_t track, const Edge& edge) {
            sizes.resize(std::max(sizes.size(), track + 1));
            if (edge.opens) ++sizes[track];
            if (track == 0) write(lane, 0, edge);
        });
        if (!first) return first;
        close();
        for (std::size_t track = 1; track < sizes.size();) {
            std::size_t end = track, spans = 0;
            while (end < sizes.size() && (end == track || spans + sizes[end] <= kMostKept))
                spans += sizes[end++];
            if (auto done = extraTracks(lane, track, end); !done) return done;
            track = end;
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

    /// A span opens or closes.
    struct Edge {
        bool opens = false;
        Timestamp at;
        StringId name;
    };
    /// Spans of extra tracks that are held in memory at a time: 32 MB.
    static constexpr std::size_t kMostKept = 1'000'000;

    template <class Use>
    Result<void> walk(const LaneFacts& lane, Use use) {
        Tracks tracks;
        const auto begin = [&](std::size_t at, const Tracks::Track& track) {
            use(at,
                Edge{true, clipped(lane.rank, track.back().span.start), track.back().span.name});
        };
        const auto end = [&](std::size_t at, const Tracks::Track& track) {
            use(at, Edge{false, clipped(lane.rank, track.back().end), track.back().span.name});
        };
        auto walked =
            m_scope.forEachSpan(lane, [&](const SpanEvent& span) { tracks.add(span, begin, end); });
        if (walked) tracks.finish(end);
        return walked;
    }
    /// Those of [first, end): the lane is read once for all of them.
    Result<void> extraTracks(const LaneFacts& lane, std::size_t first, std::size_t end) {
        std::vector<std::vector<Edge>> edges(end - first);
        auto walked = walk(lane, [&](std::size_t track, const Edge& edge) {
            if (track >= first && track < end) edges[track - first].push_back(edge);
        });
        if (!walked) return walked;
        for (std::size_t i = 0; i < edges.size(); ++i) {
            for (const Edge& edge : edges[i]) write(lane, first + i, edge);
            close();
        }
        return {};
    }
    void write(const LaneFacts& lane, std::size_t track, const Edge& edge) {
        if (!m_last) head(lane, track, edge.at);
        line(m_last.has_value(), edge.opens ? "O" : "C", edge.at, frame(lane.rank, edge.name));
        m_last = edge.at;
        m_events += edge.opens ? 1 : 0;
    }
    /// The profile at hand, if one was begun.
    void close() {
        if (m_last) m_writer.write("],\"endValue\":" + std::to_string(m_last->ns) + "}");
        m_last.reset();
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
    [[nodiscard]] Timestamp clipped(RankId rank, Timestamp time) const {
        const TimeRange range = m_scope.range(rank);
        return std::clamp(time, range.begin, range.end);
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
    std::optional<Timestamp> m_last;  ///< of the profile at hand
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

Format speedscopeFormat() {
    return {.name = "speedscope",
            .file = "a speedscope file",
            .writes = "for speedscope.app",
            .ending = ".speedscope.json",
            .write = exportSpeedscope};
}

}  // namespace shardscope::interchange
