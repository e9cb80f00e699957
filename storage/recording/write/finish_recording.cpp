#include "storage/recording/write/finish_recording.h"

#include "storage/columns/arguments.h"
#include "storage/columns/pyramid.h"
#include "storage/columns/stored_kinds.h"
#include "storage/recording/file/memory_tally.h"
#include "storage/recording/file/packed_rows.h"
#include "storage/recording/file/recording_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <tuple>
#include <vector>

namespace shardscope::storage {
namespace {

constexpr auto kMergeUpTo = static_cast<std::int64_t>(columns::kStoredChunkEvents);
/// A chunk at least this full stays as it is.
constexpr std::int64_t kFullEnough = kMergeUpTo / 2;
/// What taking a chunk away costs, in events that are merged.
constexpr std::int64_t kChunkEffort = 200;
constexpr double kEffortASecond = 18e6;
/// Chunks that are merged lie among others: of each page one part is rewritten after the other.
constexpr const char* kMergeCache = "PRAGMA cache_size=-65536";
/// What a vacuum always may write, and what it writes a second.
constexpr double kSettleUpTo = 512e6, kSettledASecond = 60e6;
/// It does so twice, first into a file of its own, and others need the disk too.
constexpr double kFreeForVacuum = 4;
/// Up to here decoding all there is takes some milliseconds, and compressing it harder a fraction
/// of a second.
constexpr std::int64_t kSmallRecording = 500'000;
/// And up to here a view of all of it needs no summaries.
constexpr std::int64_t kWithoutPyramids = 200'000;
/// Below this, half-empty pages would be a good part of the file: it gets small pages.
constexpr std::int64_t kSmallFile = std::int64_t{4} << 20;

struct Part {
    std::int64_t id = 0;
    std::int64_t count = 0;
};
struct Group {
    EventKind kind = EventKind::kSpan;
    RankId rank;
    std::vector<Part> parts;
    std::int64_t count = 0;

    [[nodiscard]] std::int64_t chunks() const { return static_cast<std::int64_t>(parts.size()); }
    [[nodiscard]] std::int64_t effort() const { return count + kChunkEffort * chunks(); }
};

/// Those that save the most chunks for the least effort, until it is used up.
void keepSmallest(std::vector<Group>& groups, std::int64_t effort) {
    std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
        return a.count * b.chunks() < b.count * a.chunks();
    });
    std::size_t kept = 0;
    for (std::int64_t used = 0; kept < groups.size() && used < effort; ++kept)
        used += groups[kept].effort();
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(kept), groups.end());
    // As they lie in the file.
    std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
        return a.parts.front().id < b.parts.front().id;
    });
}

/// Runs of neighbours that fit into one chunk together.
Result<std::vector<Group>> findGroups(Connection& connection) {
    auto select = connection.prepare(
        "SELECT kind, rank, lane, id, count FROM chunks INDEXED BY chunks_directory WHERE kind "
        "IN " +
        columns::storedKindsInSql() + " ORDER BY kind, rank, lane, id");
    if (!select) return failure(select);
    std::vector<Group> groups;
    std::tuple<std::int64_t, std::int64_t, std::int64_t> lane{-1, -1, -1};
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) break;
        const Part part{select->integer(3), select->integer(4)};
        const std::tuple next{select->integer(0), select->integer(1), select->integer(2)};
        const bool fits = !groups.empty() && next == lane && part.count < kFullEnough &&
                          groups.back().count + part.count <= kMergeUpTo;
        lane = next;
        if (!fits)
            groups.push_back({static_cast<EventKind>(select->integer(0)),
                              {static_cast<std::uint32_t>(select->integer(1))},
                              {},
                              0});
        groups.back().parts.push_back(part);
        groups.back().count += part.count;
    }
    std::erase_if(groups, [](const Group& group) { return group.parts.size() < 2; });
    return groups;
}

class Merger {
public:
    static Result<Merger> create(Connection& connection) {
        Merger merger;
        for (const auto& [sql, into] :
             {std::pair{"SELECT data FROM chunks WHERE id=?", &merger.m_select},
              std::pair{"DELETE FROM chunks WHERE id=?", &merger.m_remove},
              std::pair{"UPDATE chunks SET first_ns=?, last_ns=?, count=?, bytes=?, data=?"
                        " WHERE id=?",
                        &merger.m_update},
              std::pair{"SELECT before FROM memory_state WHERE chunk=?", &merger.m_before},
              std::pair{"DELETE FROM memory_state WHERE chunk=?", &merger.m_removeState},
              std::pair{"UPDATE memory_state SET peak_ns=?, peak_bytes=?, peak=? WHERE chunk=?",
                        &merger.m_updateState}}) {
            auto statement = connection.prepare(sql);
            if (!statement) return failure(statement);
            into->emplace(std::move(*statement));
        }
        return merger;
    }

    Result<void> merge(const Group& group) {
        Result<void> merged;
        columns::withStoredKind(group.kind, [&]<class Event>(columns::StoredKind<Event>) {
            merged = mergeAs<Event>(group);
        });
        return merged;
    }

private:
    template <class Event>
    Result<void> mergeAs(const Group& group) {
        using Stored = columns::StoredKind<Event>;
        std::vector<Event> events;
        events.reserve(static_cast<std::size_t>(group.count));
        for (const Part& part : group.parts) {
            auto row = m_select->bind(1, part.id).step();
            if (!row) return failure(row);
            auto decoded = Stored::decode(m_select->blob(0));
            m_select->reset();
            if (!decoded) return failure(decoded);
            events.insert(events.end(), decoded->begin(), decoded->end());
        }
        const auto earlier = [](const Event& a, const Event& b) {
            return Stored::timeOf(a) < Stored::timeOf(b);
        };
        const bool inOrder = std::is_sorted(events.begin(), events.end(), earlier);
        // Memory is counted in the order of arrival; frees must not move before allocations.
        if (!inOrder && group.kind == EventKind::kMemory) return {};
        if (!inOrder) std::stable_sort(events.begin(), events.end(), earlier);
        if (auto stored = store(group, Stored::encode(group.rank, events)); !stored) return stored;
        if constexpr (std::is_same_v<Event, MemoryEvent>) return storeState(group, events);
        return {};
    }

    Result<void> store(const Group& group, const columns::ChunkBytes& bytes) {
        auto header = columns::decodeHeader(bytes);
        if (!header) return failure(header);
        for (std::size_t i = 1; i < group.parts.size(); ++i)
            if (auto removed = m_remove->bind(1, group.parts[i].id).run(); !removed) return removed;
        return m_update->bind(1, header->first.ns)
            .bind(2, header->last.ns)
            .bind(3, std::int64_t{header->count})
            .bind(4, static_cast<std::int64_t>(bytes.size()))
            .bind(5, std::span<const std::byte>(bytes))
            .bind(6, group.parts.front().id)
            .run();
    }

    Result<void> storeState(const Group& group, const std::vector<MemoryEvent>& events) {
        auto row = m_before->bind(1, group.parts.front().id).step();
        if (!row) return failure(row);
        if (!*row) return failure(ErrorCode::kFailure, "a memory chunk has no memory state");
        MemoryTally tally = MemoryTally::startingAt(MemoryTally::fromBlob(m_before->blob(0)));
        m_before->reset();
        tally.restartPeak(events.front().time);
        for (const MemoryEvent& event : events) tally.apply(event);
        for (std::size_t i = 1; i < group.parts.size(); ++i)
            if (auto removed = m_removeState->bind(1, group.parts[i].id).run(); !removed)
                return removed;
        const auto peak = MemoryTally::toBlob(tally.atPeak());
        return m_updateState->bind(1, tally.peakTime().ns)
            .bind(2, tally.peak().count)
            .bind(3, std::span<const std::byte>(peak))
            .bind(4, group.parts.front().id)
            .run();
    }

    std::optional<Statement> m_select, m_remove, m_update;
    std::optional<Statement> m_before, m_removeState, m_updateState;
};

/// Levels that may be emptied: lone spans of higher ones are asked for by every view.
constexpr int kLastThinned = 4;

template <class Summary>
bool isWorthIt(const Result<std::vector<Summary>>& summaries) {
    if (!summaries) return true;
    std::uint64_t events = 0;
    for (const Summary& summary : *summaries) events += summary.count;
    return events >= columns::kWorthStoring * summaries->size();
}

Result<std::int64_t> eventsIn(Connection& connection) {
    return connection.integer("SELECT coalesce(sum(count), 0) FROM chunks");
}

struct Thinned {
    std::int64_t id;
    bool spans;
    bool removed;  ///< of a level on which a missing segment is no empty one
};

Result<std::vector<Thinned>> findThin(Connection& connection, std::int64_t events) {
    auto select = connection.prepare(
        fmt::format("SELECT p.id, p.data, l.role, level FROM pyramid p"
                    " JOIN lanes l ON l.rank=p.rank AND l.lane=p.lane WHERE level<={}",
                    kLastThinned));
    if (!select) return failure(select);
    std::vector<Thinned> thin;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return thin;
        const bool spans = select->integer(2) != static_cast<std::int64_t>(LaneRole::kCounter);
        const bool worth = events > kSmallRecording &&
                           (spans ? isWorthIt(columns::decodeSpanSummaries(select->blob(1)))
                                  : isWorthIt(columns::decodeCounterSummaries(select->blob(1))));
        const bool removed = select->integer(3) < columns::kFirstLevelAlwaysStored;
        if (!worth) thin.push_back({select->integer(0), spans, removed});
    }
}

}  // namespace

double finishSeconds(RunStatus status, Timestamp ended) {
    constexpr double kAtLeast = 2;
    if (status != RunStatus::kFinished) return kAtLeast;
    return std::max(kAtLeast, static_cast<double>(ended.ns) * 1e-12);
}

Result<void> mergeSmallChunks(Connection& connection, double seconds) {
    if (auto set = connection.execute(kMergeCache); !set) return set;
    auto groups = findGroups(connection);
    if (!groups) return failure(groups);
    keepSmallest(*groups, static_cast<std::int64_t>(seconds * kEffortASecond));
    auto merger = Merger::create(connection);
    if (!merger) return failure(merger);
    for (const Group& group : *groups)
        if (auto merged = merger->merge(group); !merged) return merged;
    return {};
}

Result<void> thinPyramids(Connection& connection) {
    const auto events = eventsIn(connection);
    if (!events) return failure(events);
    if (*events <= kWithoutPyramids) return connection.execute("DELETE FROM pyramid");
    const auto thin = findThin(connection, *events);
    if (!thin) return failure(thin);
    auto update = connection.prepare("UPDATE pyramid SET through_chunk=0, data=? WHERE id=?");
    auto remove = connection.prepare("DELETE FROM pyramid WHERE id=?");
    if (!update || !remove) return update ? failure(remove) : failure(update);
    const auto noSpans = columns::encodeSummaries(std::span<const columns::SpanSummary>{});
    const auto noSamples = columns::encodeSummaries(std::span<const columns::CounterSummary>{});
    for (const Thinned& segment : *thin) {
        if (segment.removed) {
            if (auto done = remove->bind(1, segment.id).run(); !done) return done;
            continue;
        }
        update->bind(1, std::span<const std::byte>(segment.spans ? noSpans : noSamples))
            .bind(2, segment.id);
        if (auto done = update->run(); !done) return done;
    }
    return {};
}

namespace {

Result<void> packTable(Connection& connection, const char* table,
                       Result<columns::ChunkBytes> (*pack)(std::span<const std::byte>)) {
    const std::string name(table);
    auto select = connection.prepare("SELECT id, data FROM " + name);
    auto update = connection.prepare("UPDATE " + name + " SET bytes=?, data=? WHERE id=?");
    if (!select || !update) return select ? failure(update) : failure(select);
    // Not while rows are read: an update may move what is still to come.
    std::vector<std::pair<std::int64_t, columns::ChunkBytes>> packed;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) break;
        auto smaller = pack(select->blob(1));
        if (!smaller) return failure(smaller);
        if (smaller->size() < select->blob(1).size())
            packed.emplace_back(select->integer(0), std::move(*smaller));
    }
    for (const auto& [id, bytes] : packed) {
        auto done = update->bind(1, static_cast<std::int64_t>(bytes.size()))
                        .bind(2, std::span<const std::byte>(bytes))
                        .bind(3, id)
                        .run();
        if (!done) return done;
    }
    return {};
}

}  // namespace

Result<void> packSmall(Connection& connection) {
    const auto events = eventsIn(connection);
    if (!events) return failure(events);
    if (*events <= kSmallRecording) {
        if (auto done = packTable(connection, "chunks", columns::packedSmall); !done) return done;
        if (auto done = packTable(connection, "arguments", columns::packedSmallArguments); !done)
            return done;
        if (auto done = packRows(connection); !done) return done;
    }
    return copyLongTables(connection);
}

namespace {

/// Each waits for readers as long as a connection does.
constexpr int kCheckpoints = 12;

/// All of the log into the file.
Result<void> emptyLog(Connection& connection) {
    for (int i = 0; i < kCheckpoints; ++i) {
        const auto busy = connection.integer("PRAGMA wal_checkpoint(TRUNCATE)");
        if (!busy) return failure(busy);
        if (*busy == 0) return {};
    }
    return failure(ErrorCode::kFailure, "another program reads on in it");
}

/// Whether a tenth of the file is free pages, and there is place and time to give them back.
bool isWorthVacuum(Connection& connection, double seconds) {
    const auto free = connection.integer("SELECT freelist_count FROM pragma_freelist_count");
    const auto pages = connection.integer("SELECT page_count FROM pragma_page_count");
    const auto size = connection.integer("SELECT page_size FROM pragma_page_size");
    if (!free || !pages || !size || *free * 10 <= *pages) return false;
    const auto bytes = static_cast<double>((*pages - *free) * *size);
    if (bytes <= kSettleUpTo) return true;
    std::error_code error;
    const auto disk = std::filesystem::space(connection.path(), error);
    return !error && bytes <= seconds * kSettledASecond &&
           bytes * kFreeForVacuum <= static_cast<double>(disk.available);
}

}  // namespace

Result<void> settleIntoOneFile(Connection& connection, double seconds, bool room) {
    // Merging leaves free pages. A vacuum is atomic by itself: before, during and after it the file
    // is complete.
    const auto bytes = connection.integer(
        "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    const bool small = bytes && *bytes < kSmallFile;
    if (room && !small && isWorthVacuum(connection, seconds))
        static_cast<void>(connection.execute("VACUUM"));
    auto whole = emptyLog(connection);
    // Fails while a reader has the file open. Nothing is lost then: the file is complete and only
    // keeps an empty -wal beside it until its last reader closes.
    const auto plain = connection.execute("PRAGMA journal_mode=DELETE");
    // The size of pages is set by a vacuum, but not in WAL mode. A journal that a kill leaves is
    // applied by the next reader.
    if (room && small && plain)
        static_cast<void>(
            connection.execute("PRAGMA page_size=" + std::to_string(kSmallPage) + "; VACUUM"));
    return whole;
}

}  // namespace shardscope::storage
