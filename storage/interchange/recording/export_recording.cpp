// A part of a recording as a recording of its own.
#include "storage/columns/chunk.h"
#include "storage/interchange/argument_splitter.h"
#include "storage/interchange/export.h"
#include "storage/interchange/output_file.h"
#include "storage/recording/recording_writer.h"

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>

namespace shardscope::interchange {
namespace {

using storage::RecordingReader;
using storage::RecordingWriter;

/// Strings of one rank that the part needs, numbered anew.
class StringSubset {
public:
    StringSubset(RecordingReader& reader, RankId rank) : m_reader(&reader), m_rank(rank) {}

    StringId keep(StringId id) {
        if (id == kEmptyString) return id;
        return idOf(id.value, std::string(m_reader->text(m_rank, id)));
    }
    /// The same text, marked as standing for what was there before the part begins.
    StringId keepMarked(StringId id) {
        const std::string text(m_reader->text(m_rank, id));
        return idOf(kMark | id.value,
                    text.empty() ? "(alive before the part)" : text + " (alive before the part)");
    }
    /// A text that the part needs and the recording may not have by itself.
    StringId intern(std::string_view text) {
        if (const auto at = m_interned.find(text); at != m_interned.end()) return at->second;
        m_texts.emplace_back(text);
        const StringId id{static_cast<std::uint32_t>(m_texts.size())};
        m_interned.emplace(text, id);
        return id;
    }
    [[nodiscard]] const std::vector<std::string>& texts() const { return m_texts; }

private:
    static constexpr std::uint64_t kMark = std::uint64_t{1} << 32;

    StringId idOf(std::uint64_t key, std::string text) {
        const auto next = static_cast<std::uint32_t>(m_texts.size() + 1);
        const auto [at, added] = m_ids.try_emplace(key, StringId{next});
        if (added) m_texts.push_back(std::move(text));
        return at->second;
    }

    RecordingReader* m_reader;
    RankId m_rank;
    std::unordered_map<std::uint64_t, StringId> m_ids;
    std::map<std::string, StringId, std::less<>> m_interned;
    std::vector<std::string> m_texts;
};

/// Arguments of one rank's spans, split and numbered anew.
class ArgumentSubset {
public:
    ArgumentSubset(RecordingReader& reader, RecordingWriter& writer, RankId rank,
                   StringSubset& strings)
        : m_reader(&reader),
          m_rank(rank),
          m_splitter([&strings](std::string_view text) { return strings.intern(text); }),
          m_table([&writer, rank](StringId first, const columns::ArgumentRows& rows) {
              return writer.addArguments(rank, first, rows);
          }) {}

    StringId keep(StringId id) {
        const std::string_view json = m_reader->text(m_rank, id);
        if (json.empty()) return m_table.addNone();
        m_values.clear();
        const columns::ArgumentForm form = m_splitter.split(json, m_values);
        return m_table.add(form, m_values);
    }
    Result<void> flush() { return m_table.flush(); }

private:
    RecordingReader* m_reader;
    RankId m_rank;
    ArgumentSplitter m_splitter;
    ArgumentTable m_table;
    std::vector<std::int64_t> m_values;
};

class Trimmer {
public:
    Trimmer(RecordingReader& reader, RecordingWriter& writer, const ExportOptions& options,
            RecordingSummary summary)
        : m_reader(reader), m_writer(writer), m_options(options), m_all(std::move(summary)) {
        const TimeRange whole{m_all.bounds.begin, {m_all.bounds.end.ns + 1}};
        m_range = options.range ? options.range->intersection(whole) : whole;
        m_cut = m_range != whole;
    }

    Result<ExportAccount> run() {
        auto done = writeFacts();
        std::size_t lanes = 0;
        for (const LaneFacts& lane : m_all.lanes) {
            const double share = static_cast<double>(lanes++) /
                                 static_cast<double>(std::max<std::size_t>(m_all.lanes.size(), 1));
            if (m_options.progress && !m_options.progress(share))
                return failure(ErrorCode::kCancelled, "the export was cancelled");
            if (done && wanted(lane.rank)) done = writeLane(lane);
        }
        for (const RankFacts& rank : m_all.ranks)
            if (done && wanted(rank.rank)) done = writeRank(rank);
        if (done) done = finish();
        if (!done) return failure(done);
        m_account.events = m_writer.events().total();
        return m_account;
    }

private:
    [[nodiscard]] bool wanted(RankId rank) const {
        return m_options.ranks.empty() || std::find(m_options.ranks.begin(), m_options.ranks.end(),
                                                    rank) != m_options.ranks.end();
    }
    StringSubset& stringsOf(RankId rank) {
        return m_strings.try_emplace(rank, m_reader, rank).first->second;
    }

    ArgumentSubset& argumentsOf(RankId rank) {
        return m_arguments.try_emplace(rank, m_reader, m_writer, rank, stringsOf(rank))
            .first->second;
    }

    Result<void> writeFacts() {
        for (const HostFacts& host : m_all.hosts)
            if (auto done = m_writer.addHost(host); !done) return done;
        for (const DeviceFacts& device : m_all.devices)
            if (wanted(device.rank))
                if (auto done = m_writer.putDevice(device); !done) return done;
        for (const MemoryTheory& theory : m_all.memoryTheory)
            if (wanted(theory.rank))
                if (auto done = m_writer.addMemoryTheory(theory); !done) return done;
        for (const MetricPoint& metric : m_all.metrics)
            if (m_range.contains(metric.time))
                if (auto done = m_writer.addMetric(metric); !done) return done;
        for (const Diagnostic& diagnostic : m_all.diagnostics)
            if (!diagnostic.rank || wanted(*diagnostic.rank))
                if (auto done = m_writer.addDiagnostic(diagnostic); !done) return done;
        return writeSteps();
    }

    /// Steps that lie whole within the part: half a one would be taken for a fast one.
    Result<void> writeSteps() {
        std::map<RankId, std::pair<std::uint64_t, std::uint64_t>> before;  // emitted, dropped
        for (StepFacts step : m_all.steps) {
            if (!wanted(step.rank)) continue;
            auto& [emitted, dropped] = before[step.rank];
            if (step.end <= m_range.begin) {
                emitted = step.emitted;
                dropped = step.dropped;
            }
            if (step.start < m_range.begin || step.end > m_range.end) continue;
            step.emitted -= std::min(emitted, step.emitted);
            step.dropped -= std::min(dropped, step.dropped);
            m_dropped[step.rank] = step.dropped;
            if (auto done = m_writer.addStep(step); !done) return done;
        }
        return {};
    }

    Result<void> writeLane(const LaneFacts& lane) {
        // Lanes of memory are made from memory events again.
        if (lane.lane.value >= memoryLane({}).value) return {};
        if (auto done = m_writer.addLane(lane); !done) return done;
        return lane.role == LaneRole::kCounter ? writeSamples(lane) : writeSpans(lane);
    }

    template <class Event, class Encode>
    Result<void> writeChunks(RankId rank, std::span<const Event> events, Encode encode) {
        constexpr std::size_t kMost = columns::kStoredChunkEvents;
        for (std::size_t at = 0; at < events.size(); at += kMost) {
            const auto part = events.subspan(at, std::min(kMost, events.size() - at));
            if (auto done = m_writer.addChunk(encode(rank, part)); !done) return done;
        }
        m_stored[rank] += events.size();
        return m_writer.flush();
    }

    Result<void> writeSpans(const LaneFacts& lane) {
        auto spans = m_reader.spans(lane.rank, lane.lane, m_range);
        if (!spans) return failure(spans);
        StringSubset& strings = stringsOf(lane.rank);
        ArgumentSubset& arguments = argumentsOf(lane.rank);
        for (SpanEvent& span : *spans) {
            span.name = strings.keep(span.name);
            span.arguments = columns::isArguments(span.arguments) ? arguments.keep(span.arguments)
                                                                  : strings.keep(span.arguments);
        }
        if (auto stored = arguments.flush(); !stored) return stored;
        return writeChunks<SpanEvent>(lane.rank, *spans, columns::encodeSpans);
    }

    Result<void> writeSamples(const LaneFacts& lane) {
        auto samples = m_reader.samples(lane.rank, lane.lane, m_range);
        if (!samples) return failure(samples);
        // The value in force when the part begins.
        if (!samples->empty()) {
            CounterEvent& first = samples->front();
            first.time = std::max(first.time, m_range.begin);
        }
        return writeChunks<CounterEvent>(lane.rank, *samples, columns::encodeCounters);
    }

    Result<void> writeMemory(RankId rank) {
        StringSubset& strings = stringsOf(rank);
        std::vector<MemoryEvent> events;
        if (m_cut) {
            auto alive = m_reader.liveMemory(rank, m_range.begin - Duration{1});
            if (!alive) return failure(alive);
            m_synthetic += alive->size();
            for (MemoryEvent& block : *alive) {
                block.time = m_range.begin;
                block.owner = strings.keepMarked(block.owner);
                events.push_back(block);
            }
        }
        auto own = m_reader.memoryEvents(rank, m_range);
        if (!own) return failure(own);
        for (MemoryEvent& event : *own) {
            event.owner = strings.keep(event.owner);
            events.push_back(event);
        }
        return writeChunks<MemoryEvent>(rank, events, columns::encodeMemory);
    }

    Result<void> writeCollectives(RankId rank) {
        auto events = m_reader.rankEvents(rank, m_range);
        if (!events) return failure(events);
        std::vector<CollectiveEvent>& collectives = events->collectives;
        StringSubset& strings = stringsOf(rank);
        for (CollectiveEvent& event : collectives) {
            event.algorithm = strings.keep(event.algorithm);
            event.protocol = strings.keep(event.protocol);
        }
        std::stable_sort(
            collectives.begin(), collectives.end(),
            [](const CollectiveEvent& a, const CollectiveEvent& b) { return a.start < b.start; });
        return writeChunks<CollectiveEvent>(rank, collectives, columns::encodeCollectives);
    }

    Result<void> writeRank(RankFacts rank) {
        if (auto done = writeMemory(rank.rank); !done) return done;
        if (auto done = writeCollectives(rank.rank); !done) return done;
        if (auto done = m_writer.addStrings(rank.rank, {1}, stringsOf(rank.rank).texts()); !done)
            return done;
        if (m_cut) rank.dropped = m_dropped[rank.rank];
        rank.emitted = m_stored[rank.rank] + rank.dropped;
        return m_writer.putRank(rank);
    }

    Result<void> finish() {
        if (m_cut || !m_options.ranks.empty()) {
            const Diagnostic part{
                Severity::kNote,
                "part",
                "this recording is a part of a longer one: from " +
                    std::to_string(m_range.begin.seconds()) + " s to " +
                    std::to_string(m_range.end.seconds()) + " s" +
                    (m_options.ranks.empty()
                         ? std::string()
                         : ", " + std::to_string(m_options.ranks.size()) + " of its ranks"),
                "Open the whole recording for what lies outside.",
                std::nullopt,
                m_range.begin,
                1};
            if (auto done = m_writer.addDiagnostic(part); !done) return done;
        }
        if (m_synthetic > 0)
            m_account.notes.push_back(
                std::to_string(m_synthetic) +
                " blocks were alive before the part: they are allocated at its beginning, marked "
                "\"(alive before the part)\"");
        const RunStatus status =
            m_all.run.status == RunStatus::kRecording ? RunStatus::kStopped : m_all.run.status;
        return m_writer.finalise(status, std::min(m_range.end, m_all.run.ended));
    }

    RecordingReader& m_reader;
    RecordingWriter& m_writer;
    const ExportOptions& m_options;
    RecordingSummary m_all;
    TimeRange m_range;
    bool m_cut = false;
    std::map<RankId, StringSubset> m_strings;
    std::map<RankId, ArgumentSubset> m_arguments;  ///< stands on its rank's strings
    std::map<RankId, std::uint64_t> m_stored;
    std::map<RankId, std::uint64_t> m_dropped;
    std::size_t m_synthetic = 0;
    ExportAccount m_account;
};

Result<void> checkScope(const RecordingSummary& summary, const ExportOptions& options) {
    for (const RankId rank : options.ranks) {
        const auto is = [&](const RankFacts& facts) { return facts.rank == rank; };
        if (std::none_of(summary.ranks.begin(), summary.ranks.end(), is))
            return failure(ErrorCode::kUsage,
                           "the recording has no rank " + std::to_string(rank.value) + ": it has " +
                               std::to_string(summary.ranks.size()) + " ranks, counted from 0");
    }
    const TimeRange whole{summary.bounds.begin, {summary.bounds.end.ns + 1}};
    if (options.range && options.range->intersection(whole).empty())
        return failure(
            ErrorCode::kUsage,
            "nothing was recorded between " + std::to_string(options.range->begin.seconds()) +
                " s and " + std::to_string(options.range->end.seconds()) +
                " s: the recording reaches from " + std::to_string(whole.begin.seconds()) +
                " s to " + std::to_string(whole.end.seconds()) + " s");
    return {};
}

}  // namespace

Result<ExportAccount> exportRecording(RecordingReader& reader, const ExportOptions& options) {
    auto summary = reader.summary();
    if (!summary) return failure(summary);
    if (auto good = checkScope(*summary, options); !good) return failure(good);
    auto file = OutputFile::reserve(options.output, options.overwrite);
    if (!file) return failure(file);
    const RunFacts run = summary->run;
    auto account = [&]() -> Result<ExportAccount> {
        auto writer = RecordingWriter::create(file->part(), run, true);
        if (!writer) return failure(writer);
        return Trimmer(reader, *writer, options, std::move(*summary)).run();
    }();
    if (!account) return account;
    if (auto moved = file->commit(); !moved) return failure(moved);
    account->files.push_back(options.output);
    return account;
}

}  // namespace shardscope::interchange
