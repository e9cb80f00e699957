#include "storage/recording/write/recording_writer.h"

#include "storage/model/host_facts.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/file/packed_rows.h"
#include "storage/recording/file/recording_file.h"
#include "storage/recording/file/row_checksums.h"
#include "storage/recording/file/row_sql.h"
#include "storage/recording/read/event_source.h"
#include "storage/recording/write/chunk_writer.h"
#include "storage/recording/write/detail_thinner.h"
#include "storage/recording/write/finish_recording.h"
#include "storage/recording/write/row_writer.h"
#include "storage/sqlite/connection.h"

#include <unistd.h>

#include <algorithm>

namespace shardscope::storage {
namespace {

/// Of a limited size, what may come between two looks at it: a log that holds it fits beside.
constexpr std::int64_t kPartOfLimit = 32;
constexpr std::int64_t kPageBytes = kLargePage, kMostLogPages = 4000;

}  // namespace

struct RecordingWriter::State {
    WriterLock lock;  ///< outlives the connection
    std::string path;
    std::unique_ptr<Connection> connection;  ///< parts below refer to it
    RowWriter rows;
    ChunkWriter chunks;

    /// Opens a transaction unless one is open. A full disk rolls back by itself, so the database
    /// is asked rather than a flag.
    Result<void> begin() {
        if (connection->inTransaction()) return {};
        return connection->execute("BEGIN IMMEDIATE");
    }
    template <class Store>
    Result<void> store(Store what) {
        if (auto begun = begin(); !begun) return begun;
        return noteLoss(what());
    }
    /// All of `what`, or nothing.
    template <class Store>
    Result<void> inTransaction(Store what) {
        auto transaction = Transaction::begin(*connection);
        if (!transaction) return failure(transaction);
        if (auto done = what(); !done) return done;
        return transaction->commit();
    }
    Result<void> noteLoss(Result<void> result) {
        // An open transaction that is gone took with it what came since the last flush.
        if (!result && !connection->inTransaction()) lost = true;
        return result;
    }

    /// Pyramids hold what was rolled back as well: then those stored before are the last. Readers
    /// take the chunks for the rest.
    Result<void> writePyramids(PyramidStore::Which which) {
        return lost ? Result<void>{} : chunks.writePyramids(which);
    }

    [[nodiscard]] Result<void> requirePlace() const;

    Result<void> checkpoint() { return connection->execute("PRAGMA wal_checkpoint(PASSIVE)"); }
    Result<void> commit() { return noteLoss(connection->execute("COMMIT")); }
    /// Commits and thins what is too much, so that pyramids have room, which are stored then.
    Result<void> commitWithin(PyramidStore::Which which);
    Result<void> noteExceeded();
    [[nodiscard]] bool hasRoomToMerge();

    std::optional<DetailThinner> thinner;  ///< of a recording with a limit
    std::int64_t unflushed = 0;            ///< bytes of chunks since the last commit

    /// Something was rolled back: the recording can no longer be finalised as whole.
    bool lost = false;
    std::unique_ptr<EventSource> stored;  ///< made when first asked for
};

Result<RecordingWriter> RecordingWriter::create(const std::string& path, const RunFacts& run,
                                                bool overwrite,
                                                const std::vector<std::string>& inputs) {
    auto created = createRecordingFile(path, run, overwrite, inputs);
    if (!created) return failure(created);
    auto connection = std::make_unique<Connection>(std::move(created->connection));
    auto rows = RowWriter::create(*connection);
    if (!rows) return failure(rows);
    auto chunks = ChunkWriter::create(*connection);
    if (!chunks) return failure(chunks);
    auto state = std::make_unique<State>(
        State{std::move(created->lock), std::move(created->path), std::move(connection),
              std::move(*rows), std::move(*chunks), std::nullopt, 0, false, nullptr});
    return RecordingWriter(std::move(state));
}

RecordingWriter::RecordingWriter(std::unique_ptr<State> state) : m_state(std::move(state)) {}
RecordingWriter::RecordingWriter(RecordingWriter&&) noexcept = default;
RecordingWriter& RecordingWriter::operator=(RecordingWriter&&) noexcept = default;

/// Of a file that has lost its name: the log beside it is ours only while no other file has the
/// name.
void RecordingWriter::abandonLog() {
    m_state->connection->leaveLog();
    if (::access(m_state->path.c_str(), F_OK) == 0) return;
    for (const char* suffix : {"-wal", "-shm"}) ::unlink((m_state->path + suffix).c_str());
}

RecordingWriter::~RecordingWriter() {
    // A failure here can no longer be reported; what was flushed before is safe.
    if (m_state == nullptr) return;
    static_cast<void>(flush());
    if (!isInPlace()) abandonLog();
}

Result<void> RecordingWriter::putLibraries(const std::string& librariesJson) {
    return m_state->store([&] { return m_state->rows.putLibraries(librariesJson); });
}
Result<void> RecordingWriter::putRun(const RunFacts& run) {
    return m_state->store([&] { return m_state->rows.putRun(run); });
}
Result<void> RecordingWriter::addHost(const HostFacts& host) {
    return m_state->store([&] { return m_state->rows.put(host); });
}
Result<void> RecordingWriter::addClock(const ClockFacts& clock) {
    return m_state->store([&] { return m_state->rows.put(clock); });
}
Result<void> RecordingWriter::addLane(const LaneFacts& lane) {
    return m_state->store([&] { return m_state->rows.put(lane); });
}
Result<void> RecordingWriter::putRank(const RankFacts& rank) {
    return m_state->store([&] { return m_state->rows.put(rank); });
}
Result<void> RecordingWriter::putDevice(const DeviceFacts& device) {
    return m_state->store([&] { return m_state->rows.put(device); });
}
Result<void> RecordingWriter::addStrings(RankId rank, StringId first,
                                         const std::vector<std::string>& texts) {
    return m_state->store([&] { return m_state->rows.addStrings(rank, first, texts); });
}
Result<void> RecordingWriter::addArguments(RankId rank, StringId first,
                                           const columns::ArgumentRows& rows) {
    return m_state->store([&] { return m_state->rows.addArguments(rank, first, rows); });
}
Result<void> RecordingWriter::addStep(const StepFacts& step) {
    return m_state->store([&] { return m_state->rows.put(step); });
}
Result<void> RecordingWriter::removeSteps(RankId rank) {
    return m_state->store([&] { return m_state->rows.removeSteps(rank); });
}
Result<void> RecordingWriter::removeHost(std::int32_t host) {
    return m_state->store([&] { return m_state->rows.removeHost(host); });
}
Result<void> RecordingWriter::addMetric(const MetricPoint& metric) {
    return m_state->store([&] { return m_state->rows.put(metric); });
}
Result<void> RecordingWriter::addMemoryTheory(const MemoryTheory& theory) {
    return m_state->store([&] { return m_state->rows.put(theory); });
}
Result<void> RecordingWriter::putFact(const FactRow& fact) {
    return m_state->store([&] { return m_state->rows.put(fact); });
}
Result<void> RecordingWriter::putProcess(const ProcessFacts& process) {
    return m_state->store([&] { return m_state->rows.put(process); });
}
Result<void> RecordingWriter::addDiagnostic(const Diagnostic& diagnostic) {
    return m_state->store([&] { return m_state->rows.put(diagnostic); });
}

Result<void> RecordingWriter::addChunk(std::span<const std::byte> chunk) {
    auto header = columns::decodeHeader(chunk);
    if (!header) return failure(header);
    const auto add = [&] { return m_state->chunks.add(*header, chunk); };
    if (auto stored = m_state->store(add); !stored || !m_state->thinner) return stored;
    const auto bytes = static_cast<std::int64_t>(chunk.size());
    m_state->unflushed += header->kind == EventKind::kCollective
                              ? std::max(bytes, std::int64_t{header->count} * kCollectiveRowBytes)
                              : bytes;
    if (m_state->unflushed < m_state->thinner->allowed().count / kPartOfLimit) return {};
    return flush();
}

Result<void> RecordingWriter::limitSize(const SizeLimit& limit) {
    if (!limit.any()) return {};
    m_state->thinner.emplace(*m_state->connection, m_state->chunks, limit);
    // A log that is due is brought into the file at once, and one that was large made small again.
    const std::int64_t log = m_state->thinner->allowed().count / kPartOfLimit;
    return m_state->connection->execute(
        "PRAGMA journal_size_limit=" + std::to_string(log) +
        "; PRAGMA wal_autocheckpoint=" + std::to_string(std::min(log / kPageBytes, kMostLogPages)));
}

bool RecordingWriter::hasThinned() const {
    return m_state->thinner && m_state->thinner->hasThinned();
}

Result<void> RecordingWriter::addDetail(const DetailFacts& detail) {
    return m_state->store([&] { return putDetail(*m_state->connection, detail); });
}

Result<void> RecordingWriter::State::commitWithin(PyramidStore::Which which) {
    const std::int64_t due = thinner->allowed().count / kPartOfLimit;
    const bool much = unflushed >= due;
    unflushed = 0;
    if (auto done = commit(); !done) return done;
    const Bytes pending = lost ? Bytes{} : chunks.pyramidBytes();
    const bool all = which == PyramidStore::Which::kAll || pending.count >= due;
    if (auto kept = thinner->keepWithin(pending); !kept) {
        lost = true;  // pyramids in memory are trimmed, those in the file may not be
        return kept;
    }
    if (auto noted = noteExceeded(); !noted) return noted;
    auto done = store(
        [&] { return writePyramids(all ? PyramidStore::Which::kAll : PyramidStore::Which::kDue); });
    if (done) done = commit();
    return done && (much || all) ? checkpoint() : done;
}

Result<void> RecordingWriter::State::noteExceeded() {
    if (!thinner->takeExceeded()) return {};
    return store([&] {
        return rows.put(Diagnostic{
            Severity::kWarning, "size-limit-exceeded",
            "the recording grows past its limit of " + sizeText(thinner->allowed()) +
                ": what is never taken out of it, steps and metrics above all, takes nearly all",
            "Use a larger --max-size or --max-rate.", std::nullopt, chunks.newest(), 1});
    });
}

bool RecordingWriter::isInPlace() const {
    return m_state->lock.isAt(m_state->path);
}

Result<void> RecordingWriter::State::requirePlace() const {
    if (lock.isAt(path)) return {};
    return failure(ErrorCode::kFailure,
                   path + " was deleted, moved or replaced while it was being written");
}

Result<void> RecordingWriter::flush() {
    if (auto there = m_state->requirePlace(); !there) return there;
    if (!m_state->connection->inTransaction()) return {};
    if (m_state->thinner) return m_state->commitWithin(PyramidStore::Which::kDue);
    auto written = m_state->writePyramids(PyramidStore::Which::kDue);
    if (written) written = m_state->connection->execute("COMMIT");
    return m_state->noteLoss(std::move(written));
}

Result<void> RecordingWriter::checkpoint() {
    if (auto there = m_state->requirePlace(); !there) return there;
    return m_state->checkpoint();
}

/// Merging and packing write into the log what is in the file already, and a vacuum everything.
bool RecordingWriter::State::hasRoomToMerge() {
    if (!thinner) return true;
    const auto used = thinner->used();
    return used && thinner->hasRoomFor({2 * used->count + used->count / 4});
}

Result<void> RecordingWriter::finalise(RunStatus status, Timestamp ended, Pyramids pyramids) {
    if (auto there = m_state->requirePlace(); !there) return there;
    auto done = m_state->begin();
    if (done && m_state->thinner) {
        done = m_state->commitWithin(PyramidStore::Which::kAll);
        if (done) done = m_state->connection->execute("PRAGMA wal_checkpoint(TRUNCATE)");
    } else if (done) {
        done = m_state->noteLoss(m_state->writePyramids(PyramidStore::Which::kAll));
        if (done) done = m_state->commit();
    }
    if (!done) return done;
    const bool whole = !m_state->lost;
    // Into the file first: merging fills the log, and on a full disk what is left of it would take
    // the place that the file needs.
    const bool room =
        m_state->hasRoomToMerge() && m_state->connection->execute("PRAGMA wal_checkpoint(PASSIVE)");
    const double seconds = finishSeconds(status, ended);
    const auto finish = [&] { return m_state->rows.finishRun(status, ended, false); };
    // Readers look at the chunks anew once the status is no longer that of a run that goes on.
    // Where the disk is too full for making the recording smaller it stays as it is.
    const bool merged = whole && m_state->inTransaction([&]() -> Result<void> {
        // Both make the file smaller, but the log large before.
        if (room) {
            if (auto step = mergeSmallChunks(*m_state->connection, seconds); !step) return step;
            if (pyramids == Pyramids::kWhereTheyHelp)
                if (auto step = thinPyramids(*m_state->connection); !step) return step;
            if (auto step = packSmall(*m_state->connection); !step) return step;
        }
        return finish();
    });
    if (!merged)
        if (done = m_state->inTransaction(finish); !done) return done;
    const auto settled =
        settleIntoOneFile(*m_state->connection, seconds, room && m_state->hasRoomToMerge());
    // Only a whole recording becomes a finalised one, and last: with the mark in a log beside a
    // file that lacks most of what the mark vouches for, a copy without the log would be trusted.
    if (!whole) return {};
    if (!settled)
        return failure(ErrorCode::kFailure, m_state->path + " is not finalised (" +
                                                settled.error().message +
                                                "); all is there together with the -wal beside it");
    done = m_state->inTransaction([&]() -> Result<void> {
        if (auto marked = m_state->connection->execute("UPDATE run SET finalised=1"); !marked)
            return marked;
        return sealRows(*m_state->connection);
    });
    if (done) static_cast<void>(m_state->connection->execute("PRAGMA wal_checkpoint(TRUNCATE)"));
    return done;
}

const EventCounts& RecordingWriter::events() const {
    return m_state->chunks.events();
}

Result<std::vector<SpanEvent>> RecordingWriter::storedSpans(RankId rank, LaneId lane,
                                                            TimeRange range) {
    if (!m_state->stored) m_state->stored = std::make_unique<EventSource>();
    EventSource& stored = *m_state->stored;
    if (auto done = stored.refresh(*m_state->connection); !done) return failure(done);
    return stored.spans(*m_state->connection, rank, lane, range);
}

Result<RecordingWriter::Kept> RecordingWriter::kept() const {
    if (auto there = m_state->requirePlace(); !there) return failure(there);
    Connection& connection = *m_state->connection;
    const auto steps = connection.integer(
        "SELECT count(*) FROM (SELECT 1 FROM steps GROUP BY step"
        " HAVING count(*) >= (SELECT world_size FROM run))");
    const auto events = connection.integer("SELECT coalesce(sum(count), 0) FROM chunks");
    const auto collectives = countStoredRows(connection, "collectives");
    if (!steps || !events) return failure(steps ? events : steps);
    if (!collectives) return failure(collectives);
    return Kept{static_cast<std::int32_t>(*steps),
                static_cast<std::uint64_t>(*events + *collectives)};
}

}  // namespace shardscope::storage
