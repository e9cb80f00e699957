#include "storage/recording/recording_writer.h"

#include "storage/recording/chunk_writer.h"
#include "storage/recording/finish_recording.h"
#include "storage/recording/recording_file.h"
#include "storage/recording/row_checksums.h"
#include "storage/recording/row_writer.h"
#include "storage/sqlite/transaction.h"

namespace shardscope::storage {

struct RecordingWriter::State {
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

    /// Something was rolled back: the recording can no longer be finalised as whole.
    bool lost = false;
};

Result<RecordingWriter> RecordingWriter::create(const std::string& path, const RunFacts& run,
                                                bool overwrite) {
    auto created = createRecordingFile(path, run, overwrite);
    if (!created) return failure(created);
    auto connection = std::make_unique<Connection>(std::move(*created));
    auto rows = RowWriter::create(*connection);
    if (!rows) return failure(rows);
    auto chunks = ChunkWriter::create(*connection);
    if (!chunks) return failure(chunks);
    auto state = std::make_unique<State>(
        State{std::move(connection), std::move(*rows), std::move(*chunks), false});
    return RecordingWriter(std::move(state));
}

RecordingWriter::RecordingWriter(std::unique_ptr<State> state) : m_state(std::move(state)) {}
RecordingWriter::RecordingWriter(RecordingWriter&&) noexcept = default;
RecordingWriter& RecordingWriter::operator=(RecordingWriter&&) noexcept = default;

RecordingWriter::~RecordingWriter() {
    // Nobody is left to hear of a failure here; what was flushed before is safe.
    if (m_state != nullptr) static_cast<void>(flush());
}

Result<void> RecordingWriter::putLibraries(const std::string& librariesJson) {
    return m_state->store([&] { return m_state->rows.putLibraries(librariesJson); });
}
Result<void> RecordingWriter::putRun(const RunFacts& run) {
    return m_state->store([&] { return m_state->rows.putRun(run); });
}
Result<void> RecordingWriter::addHost(const HostFacts& host) {
    return m_state->store([&] { return m_state->rows.addHost(host); });
}
Result<void> RecordingWriter::addLane(const LaneFacts& lane) {
    return m_state->store([&] { return m_state->rows.addLane(lane); });
}
Result<void> RecordingWriter::putRank(const RankFacts& rank) {
    return m_state->store([&] { return m_state->rows.putRank(rank); });
}
Result<void> RecordingWriter::putDevice(const DeviceFacts& device) {
    return m_state->store([&] { return m_state->rows.putDevice(device); });
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
    return m_state->store([&] { return m_state->rows.addStep(step); });
}
Result<void> RecordingWriter::addMetric(const MetricPoint& metric) {
    return m_state->store([&] { return m_state->rows.addMetric(metric); });
}
Result<void> RecordingWriter::addMemoryTheory(const MemoryTheory& theory) {
    return m_state->store([&] { return m_state->rows.addMemoryTheory(theory); });
}
Result<void> RecordingWriter::addDiagnostic(const Diagnostic& diagnostic) {
    return m_state->store([&] { return m_state->rows.addDiagnostic(diagnostic); });
}

Result<void> RecordingWriter::addChunk(std::span<const std::byte> chunk) {
    auto header = columns::decodeHeader(chunk);
    if (!header) return failure(header);
    return m_state->store([&]() -> Result<void> {
        switch (header->kind) {
            case EventKind::kSpan:
                return m_state->chunks.addSpans(header->rank, chunk);
            case EventKind::kCounter:
                return m_state->chunks.addCounters(header->rank, chunk);
            case EventKind::kMemory:
                return m_state->chunks.addMemory(header->rank, chunk);
            case EventKind::kCollective:
                return m_state->chunks.addCollectives(header->rank, chunk);
        }
        return failure(ErrorCode::kUnreadable, "a chunk of unknown kind");
    });
}

Result<void> RecordingWriter::flush() {
    if (!m_state->connection->inTransaction()) return {};
    auto written = m_state->writePyramids(PyramidStore::Which::kDue);
    if (written) written = m_state->connection->execute("COMMIT");
    return m_state->noteLoss(std::move(written));
}

Result<void> RecordingWriter::finalise(RunStatus status, Timestamp ended) {
    auto done = m_state->store([&] { return m_state->writePyramids(PyramidStore::Which::kAll); });
    if (done) done = m_state->noteLoss(m_state->connection->execute("COMMIT"));
    if (!done) return done;
    const bool whole = !m_state->lost;
    const auto finish = [&]() -> Result<void> {
        if (auto ending = m_state->rows.finishRun(status, ended, whole); !ending) return ending;
        return storeRowChecksums(*m_state->connection);
    };
    // Only a whole recording becomes a finalised one, whose readers look at its chunks anew. Where
    // the disk is too full for making it smaller it stays as it is.
    const bool merged = whole && m_state->inTransaction([&]() -> Result<void> {
        if (auto step = mergeSmallChunks(*m_state->connection); !step) return step;
        if (auto step = thinPyramids(*m_state->connection); !step) return step;
        return finish();
    });
    if (!merged)
        if (done = m_state->inTransaction(finish); !done) return done;
    settleIntoOneFile(*m_state->connection);
    return {};
}

const EventCounts& RecordingWriter::events() const {
    return m_state->chunks.events();
}

}  // namespace shardscope::storage
