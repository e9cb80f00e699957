#include "storage/recording/read/local_reader.h"

#include "storage/model/host_facts.h"
#include "storage/model/input_file.h"
#include "storage/model/process_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/file/collective_bounds.h"
#include "storage/recording/file/packed_rows.h"
#include "storage/recording/file/recording_file.h"
#include "storage/recording/file/row_checksums.h"
#include "storage/recording/file/row_sql.h"
#include "storage/recording/read/collective_rows.h"
#include "storage/recording/read/flow_arrows.h"
#include "storage/recording/read/questions.h"
#include "storage/recording/read/view_loader.h"
#include "storage/sqlite/sqlite_error.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace shardscope::storage {
namespace {

/// The run's one row, and whether it was finalised.
Result<void> readRun(Connection& connection, RecordingSummary& summary) {
    auto select =
        connection.prepare("SELECT " + columnList(tableOf<RunFacts>()) + ", finalised FROM run");
    if (!select) return failure(select);
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return {};
        summary.run = rowOf<RunFacts>(*select);
        summary.complete = select->integer(columnCount(tableOf<RunFacts>())) != 0;
    }
}

template <class Rows>
Result<void> readInto(Connection& connection, Rows& into) {
    auto rows = readRows<typename Rows::value_type>(connection);
    if (!rows) return failure(rows);
    into = std::move(*rows);
    return {};
}

/// They come by time, as a rule: to have SQLite sort a long run's takes a third of their reading.
void sortByTime(SharedRows<MetricPoint>& metrics) {
    const auto before = [](const MetricPoint& a, const MetricPoint& b) { return a.time < b.time; };
    if (!std::is_sorted(metrics.begin(), metrics.end(), before))
        std::stable_sort(metrics.own().begin(), metrics.own().end(), before);
}

Result<void> readTables(Connection& connection, RecordingSummary& summary) {
    if (auto done = readRun(connection, summary); !done) return done;
    if (auto done = readInto(connection, summary.hosts); !done) return done;
    if (auto done = readInto(connection, summary.clocks); !done) return done;
    if (auto done = readInto(connection, summary.ranks); !done) return done;
    if (auto done = readInto(connection, summary.devices); !done) return done;
    if (auto done = readInto(connection, summary.lanes); !done) return done;
    if (auto done = readInto(connection, summary.steps); !done) return done;
    if (auto done = readInto(connection, summary.metrics); !done) return done;
    sortByTime(summary.metrics);
    if (auto done = readInto(connection, summary.memoryTheory); !done) return done;
    if (auto done = readInto(connection, summary.facts); !done) return done;
    if (auto done = readInto(connection, summary.processes); !done) return done;
    if (auto done = readInto(connection, summary.diagnostics); !done) return done;
    std::erase_if(summary.memoryTheory,
                  [](const MemoryTheory& theory) { return !isOne(theory.category); });
    auto detail = readDetail(connection);
    if (!detail) return failure(detail);
    summary.detail = std::move(*detail);
    return {};
}

void extend(TimeRange& bounds, TimeRange other) {
    if (bounds == TimeRange{}) bounds = other;
    bounds.begin = std::min(bounds.begin, other.begin);
    bounds.end = std::max(bounds.end, other.end);
}

/// Of a finalised file as it says, of any other by its rows.
Result<CollectiveBounds> collectivesOf(Connection& connection, bool finalised) {
    if (finalised) {
        const auto stored = storedCollectives(connection);
        if (!stored) return failure(stored);
        if (*stored) return **stored;
    }
    return countCollectives(connection);
}

/// Everything stored: chunks, steps, collectives, metrics.
Result<void> readBounds(Connection& connection, const ChunkDirectory& chunks,
                        RecordingSummary& summary) {
    summary.bounds = chunks.bounds();
    for (const StepFacts& step : summary.steps) extend(summary.bounds, step.range());
    for (const MetricPoint& metric : summary.metrics)
        extend(summary.bounds, {metric.time, metric.time});
    const auto collectives = collectivesOf(connection, summary.complete);
    if (!collectives) return failure(collectives);
    summary.events.collectives = collectives->count;
    if (collectives->count != 0) extend(summary.bounds, collectives->range);
    return {};
}

/// What is stored of ranks beyond what they had counted, by rank: one that was ended after its last
/// word may have more, and that is no part of what others lack. Rows of collectives are gone
/// through only where the sums differ.
Result<std::uint64_t> readUncounted(Connection& connection, const ChunkDirectory& chunks,
                                    const RecordingSummary& summary) {
    std::map<std::uint32_t, std::uint64_t> known, emitted;
    std::uint64_t allKnown = summary.events.total(), allEmitted = 0;
    for (const DetailFacts& facts : summary.detail) {
        known[facts.rank.value] += facts.removed.value_or(0);
        allKnown += facts.removed.value_or(0);
    }
    for (const RankFacts& rank : summary.ranks) {
        known[rank.rank.value] += rank.dropped;
        allKnown += rank.dropped;
        emitted[rank.rank.value] += rank.emitted;
        allEmitted += rank.emitted;
    }
    if (allEmitted == 0 || allEmitted == allKnown) return 0;
    for (const ChunkDirectory::Lane& lane : chunks.lanes())
        for (const ChunkEntry& chunk : *lane.chunks) known[lane.rank.value] += chunk.count;
    auto select = connection.prepare("SELECT rank, count(*) FROM collectives GROUP BY rank");
    if (!select) return failure(select);
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) break;
        known[static_cast<std::uint32_t>(select->integer(0))] +=
            static_cast<std::uint64_t>(select->integer(1));
    }
    std::uint64_t uncounted = 0;
    for (const auto& [rank, count] : known) uncounted += count - std::min(count, emitted[rank]);
    return uncounted;
}

/// Of a smaller file there is not much to wait for.
constexpr Bytes kLeastReadAhead{std::int64_t{128} << 20};

Bytes sizeOf(const std::string& path) {
    std::error_code missing;
    const auto size = std::filesystem::file_size(path, missing);
    return missing ? Bytes{} : Bytes{static_cast<std::int64_t>(size)};
}

}  // namespace

Result<std::unique_ptr<RecordingReader>> openRecording(
    const std::string& path, std::size_t threads, const std::shared_ptr<const KnownChunks>& known) {
    return LocalReader::open(path, threads, known);
}

Result<std::unique_ptr<RecordingReader>> LocalReader::open(
    const std::string& path, std::size_t threads, const std::shared_ptr<const KnownChunks>& known) {
    std::unique_ptr<LocalReader> reader(new LocalReader(path, threads));
    reader->m_file = fileState(path);
    Visit visit(*reader);
    if (known && known->file == reader->m_file) {
        if (auto connected = reader->connect(); !connected) return failure(connected);
        if (!reader->m_growing && reader->m_runId == known->runId)
            reader->m_events.take(known->directory);
    }
    if (auto begun = visit.begin(); !begun) return failure(begun);
    return std::unique_ptr<RecordingReader>(std::move(reader));
}

/// Not where the file was written since it was first looked at.
std::shared_ptr<const KnownChunks> LocalReader::knownChunks() const {
    if (m_events.growing() || m_file.empty() || fileState(m_path) != m_file) return nullptr;
    return std::make_shared<KnownChunks>(KnownChunks{m_file, m_runId, m_events.directory()});
}

Result<void> LocalReader::connect() {
    if (m_connection) return {};
    auto connection = openReadingConnection(m_path);
    if (!connection) return failure(connection);
    // A growing recording is read in one state per call; it may be finalised meanwhile.
    if (auto begun = connection->execute("BEGIN"); !begun) return begun;
    auto run = connection->prepare("SELECT id, finalised, world_size FROM run");
    if (!run) return failure(run);
    auto row = run->step();
    if (!row) return failure(row);
    if (!*row)
        return failure(ErrorCode::kUnreadable,
                       m_path + " holds no run: it is damaged, record again");
    const std::string id(run->text(0));
    if (!m_runId.empty() && id != m_runId)
        return failure(ErrorCode::kUnreadable,
                       m_path + " was replaced by another recording: open it again");
    m_runId = id;
    m_growing = run->integer(1) == 0;
    if (run->integer(2) < 0 || run->integer(2) > kMostRanks)
        return failure(ErrorCode::kUnreadable,
                       m_path + " claims to be of " + std::to_string(run->integer(2)) +
                           " ranks: it is damaged; keep what is sound of it with " +
                           repairCommand(m_path));
    run->reset();
    m_unpacked = false;
    if (!m_growing) readAhead(*connection);
    if (!m_growing)
        if (auto done = unpack(*connection); !done) return done;
    if (!m_growing)
        if (auto ended = connection->execute("COMMIT"); !ended) return ended;
    m_connection.emplace(std::move(*connection));
    return {};
}

/// What the first question asks for, and the first picture.
void LocalReader::readAhead(Connection& connection) {
    if (sizeOf(m_path) < kLeastReadAhead) return;
    m_readAhead.start(connection, {"chunks_directory", "steps", "metrics", "memory_state",
                                   "sqlite_autoindex_strings_1", "sqlite_autoindex_pyramid_1"});
}

Result<void> LocalReader::unpack(Connection& connection) {
    if (m_unpacked) return {};
    const TemporaryWrites writes(connection);
    const auto made = unpackRows(connection);
    if (!made) return failure(made);
    m_unpacked = true;
    m_packed = !made->empty();
    return {};
}

Result<void> LocalReader::Visit::begin() {
    if (auto connected = m_reader->connect(); !connected) return connected;
    m_reader->m_pyramid.begin(m_reader->m_growing);
    if (m_reader->m_growing) m_reader->m_collectives.forget();
    return m_reader->m_events.refresh(*m_reader->m_connection);
}

Result<void> LocalReader::loadStrings(Connection& connection, RankId rank) {
    if (auto done = unpack(connection); !done) return done;
    Strings& strings = m_strings[rank];
    auto select = connection.prepare("SELECT id, text FROM strings WHERE rank=? AND id>?");
    if (!select) return failure(select);
    select->bind(1, std::int64_t{rank.value}).bind(2, strings.lastId);
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) break;
        const std::int64_t id = select->integer(0);
        strings.texts.emplace(static_cast<std::uint32_t>(id), select->text(1));
        strings.lastId = std::max(strings.lastId, id);
    }
    strings.whole = !m_growing || m_packed;
    return {};
}

std::string_view LocalReader::knownString(RankId rank, StringId id) const {
    const auto strings = m_strings.find(rank);
    if (strings == m_strings.end()) return {};
    const auto at = strings->second.texts.find(id.value);
    return at == strings->second.texts.end() ? std::string_view{} : at->second;
}

std::string_view LocalReader::string(Connection& connection, RankId rank, StringId id) {
    const std::string_view found = knownString(rank, id);
    if (!found.empty() || m_strings[rank].whole) return found;
    // An unreadable string is an unknown one; the call that needs the file says why.
    if (!loadStrings(connection, rank)) return {};
    return knownString(rank, id);
}

std::string_view LocalReader::text(RankId rank, StringId id) {
    if (id == kEmptyString) return {};
    const auto known = [&](RankId of, StringId each) {
        const std::string_view found = knownString(of, each);
        return found.empty() ? std::nullopt : std::optional(found);
    };
    // What was read before needs no file, which a recording that grows is opened for each time.
    const auto before =
        columns::isArguments(id) ? m_arguments.known(rank, id, known) : known(rank, id);
    if (before) return *before;
    Visit visit(*this);
    if (!connect()) return {};
    Connection& connection = visit.connection();
    if (!columns::isArguments(id)) return string(connection, rank, id);
    if (m_growing) m_arguments.forgetDirectory();
    return m_arguments.text(connection, rank, id, [&](RankId of, StringId each) {
        const std::string_view found = string(connection, of, each);
        return found.empty() ? std::nullopt : std::optional(found);
    });
}

struct LocalReader::Answers {
    LocalReader& reader;
    Connection& connection;

    Result<RecordingSummary> operator()(const Summary&) const {
        if (auto done = reader.unpack(connection); !done) return failure(done);
        return readSummary(connection, reader.m_events.directory());
    }
    auto operator()(const EventsOfRank& asked) const {
        return reader.eventsOfRank(connection, asked.rank, asked.range);
    }
    auto operator()(const SpansOfLane& asked) const {
        return reader.m_events.spans(connection, asked.rank, asked.lane, asked.range);
    }
    auto operator()(const SpansNaming& asked) const {
        return reader.m_events.spansNaming(connection, asked.rank, asked.lane, asked.range,
                                           asked.texts);
    }
    auto operator()(const SpansInView& asked) const {
        return loader().spans(asked.lanes, sensibleOf(asked.view));
    }
    auto operator()(const CountersInView& asked) const {
        return loader().counters(asked.lanes, sensibleOf(asked.view));
    }
    auto operator()(const SamplesOfLane& asked) const {
        return reader.m_events.samples(connection, asked.rank, asked.lane, asked.range);
    }
    auto operator()(const MemoryOfRank& asked) const {
        return reader.m_events.moments<MemoryEvent>(connection, asked.rank, {}, asked.range);
    }
    auto operator()(const LiveMemory& asked) const {
        return reader.memoryAt(connection, asked.rank, asked.time);
    }
    auto operator()(const InstantsOfLane& asked) const {
        return reader.m_events.moments<InstantEvent>(connection, asked.rank, asked.lane,
                                                     asked.range);
    }
    auto operator()(const FlowsOfLane& asked) const {
        return reader.m_events.moments<FlowEvent>(connection, asked.rank, asked.lane, asked.range);
    }
    Result<std::vector<CollectiveEvent>> operator()(const CollectivesOfKeys& asked) const {
        if (auto done = reader.unpack(connection); !done) return failure(done);
        return reader.m_collectives.find(connection, asked.rank, asked.keys);
    }
    auto operator()(const ArrowsOfSpan& asked) const {
        return findArrows(connection, reader.m_events,
                          {asked.rank, asked.lane, asked.start, asked.depth});
    }

private:
    [[nodiscard]] ViewLoader loader() const {
        return {connection, reader.m_events, reader.m_pyramid, !reader.m_growing};
    }
    static View sensibleOf(const View& view) {
        return {sensible(view.range), view.resolution, view.generation};
    }
};

namespace {

/// Who finds a damaged piece does not know the file.
Error withRemedy(Error error, const std::string& path) {
    const bool isPiece = error.code == ErrorCode::kUnreadable &&
                         error.message.find("damaged there") != std::string::npos &&
                         error.message.find("`shardscope repair ") == std::string::npos;
    if (isPiece)
        error.message =
            path + ": " + error.message + "; keep what is sound of it with " + repairCommand(path);
    return error;
}

}  // namespace

Result<void> LocalReader::answer(const AnyRequest& request) {
    const auto find = [&]<class Asked>(const Asked& asked) -> Result<typename Asked::Answer> {
        if constexpr (std::is_same_v<Asked, SqlQuery>)
            return runQuery(asked);
        else {
            Visit visit(*this);
            if (auto begun = visit.begin(); !begun) return failure(begun);
            return Answers{*this, visit.connection()}(asked);
        }
    };
    return std::visit(
        [&](const auto& each) -> Result<void> {
            auto found = find(each.asked);
            if (!found) return tl::unexpected<Error>(withRemedy(found.error(), m_path));
            each.answer = std::move(*found);
            return {};
        },
        request);
}

Result<RecordingSummary> readSummary(Connection& connection, const ChunkDirectory& chunks) {
    RecordingSummary summary;
    if (auto done = readTables(connection, summary); !done) return failure(done);
    summary.events = chunks.counts();
    summary.chunkBytes = chunks.bytes();
    if (auto done = readBounds(connection, chunks, summary); !done) return failure(done);
    const auto uncounted = readUncounted(connection, chunks, summary);
    if (!uncounted) return failure(uncounted);
    summary.uncounted = *uncounted;
    // A file whose checksums cannot be read has none to hold it to; `info --verify` says so.
    // Whether rows of collectives were lost shows only in reading all of them.
    const std::map<std::string, std::uint64_t> known{{"collectives", summary.events.collectives},
                                                     {"metrics", summary.metrics.size()},
                                                     {"steps", summary.steps.size()}};
    if (auto lost = lostRows(connection, known)) summary.lostRows = std::move(*lost);
    if (!summary.complete) summary.run.ended = summary.bounds.end;
    summary.fileSize = sizeOf(connection.path()) + sizeOf(connection.path() + "-wal");
    return summary;
}

}  // namespace shardscope::storage
