#include "storage/recording/repair/salvage_recording.h"

#include "storage/columns/arguments.h"
#include "storage/columns/stored_kinds.h"
#include "storage/model/repaired.h"
#include "storage/recording/file/output_file.h"
#include "storage/recording/file/packed_rows.h"
#include "storage/recording/file/part_files.h"
#include "storage/recording/file/recording_file.h"
#include "storage/recording/file/row_checksums.h"
#include "storage/recording/repair/damaged_file.h"
#include "storage/recording/write/finish_recording.h"
#include "storage/recording/write/row_writer.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>

namespace shardscope::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFarChunk = 1 << 20;

/// What is known of a chunk besides its data: from the index, or from its row.
struct ChunkFacts {
    EventKind kind = EventKind::kSpan;
    RankId rank;
    LaneId lane;
    TimeRange range;
    std::uint64_t count = 0;
};

void learn(const Statement& row, std::map<std::int64_t, ChunkFacts>& chunks) {
    const auto small = [&](int column) { return static_cast<std::uint32_t>(row.integer(column)); };
    const auto count = static_cast<std::uint64_t>(row.integer(6));
    const bool stored =
        columns::withStoredKind(static_cast<EventKind>(row.integer(1)), [](auto) {});
    const bool sane = stored && row.integer(1) == (row.integer(1) & 0xff) &&
                      count <= columns::kMaxChunkEvents && row.integer(5) >= row.integer(4);
    if (!sane) {
        chunks.try_emplace(row.integer(0));
        return;
    }
    chunks[row.integer(0)] = {static_cast<EventKind>(row.integer(1)),
                              {small(2)},
                              {small(3)},
                              {{row.integer(4)}, {row.integer(5)}},
                              count};
}

/// Every chunk that the index or the table knows of.
std::map<std::int64_t, ChunkFacts> findChunks(Connection& damaged,
                                              std::vector<TolerantScan::Gap>& gaps) {
    std::map<std::int64_t, ChunkFacts> chunks;
    const auto use = [&](const Statement& row) { learn(row, chunks); };
    // From both ends: an index needs no more, it is only a second opinion.
    for (const char* order : {"ASC", "DESC"}) {
        auto index = damaged.prepare(
            std::string("SELECT id, kind, rank, lane, first_ns, last_ns, count FROM chunks INDEXED "
                        "BY chunks_directory WHERE kind IN ") +
            columns::storedKindsInSql() + " ORDER BY kind " + order);
        while (index) {
            const auto row = index->step();
            if (!row || !*row) break;
            if (index->integer(0) > 0 && index->integer(0) < kFarChunk * 64) use(*index);
        }
    }
    TolerantScan scan(damaged,
                      "SELECT id, kind, rank, lane, first_ns, last_ns, count FROM chunks NOT "
                      "INDEXED WHERE id BETWEEN ?1 AND ?2",
                      "id");
    const auto largest = damaged.integer("SELECT max(id) FROM chunks NOT INDEXED");
    std::int64_t high = chunks.empty() ? kFarChunk : chunks.rbegin()->first;
    if (largest) high = std::max(chunks.empty() ? 0 : high, *largest);
    scan.read(1, std::min(high, kFarChunk * 64), use);
    gaps = scan.gaps();
    return chunks;
}

class ChunkSaver {
public:
    ChunkSaver(SalvageContext& context, ChunkWriter& writer, Statement select)
        : m_context(context), m_writer(writer), m_select(std::move(select)) {}

    Result<void> save(std::int64_t id, const ChunkFacts& facts) {
        std::vector<std::byte> bytes;
        const auto row = m_select.bind(1, id).step();
        if (row && *row) {
            const auto blob = m_select.blob(0);
            bytes.assign(blob.begin(), blob.end());
        }
        m_select.reset();
        const auto header = columns::decodeHeader(bytes);
        if (!header || !references(bytes, *header)) {
            // A chunk that neither row nor index describes may not have been one.
            if (facts.count > 0) lose(facts);
            return {};
        }
        if (auto stored = m_writer.add(*header, bytes); !stored) return stored;
        ++m_context.account.chunks;
        m_context.events[header->rank] += header->count;
        m_context.ranks.insert(header->rank.value);
        for (const columns::LaneCount& lane : header->lanes)
            noteLane(header->rank, lane.lane, header->kind);
        TimeRange& bounds = m_context.bounds;
        if (bounds == TimeRange{}) bounds = {header->first, header->last};
        bounds = {std::min(bounds.begin, header->first), std::max(bounds.end, header->last)};
        return {};
    }

private:
    void noteLane(RankId rank, LaneId lane, EventKind kind) {
        // Flows lie on a lane of something else.
        auto& known = m_context.lanes.try_emplace({rank, lane}, kind).first->second;
        if (kind != EventKind::kFlow) known = kind;
    }

    /// Decodes the chunk and notes the strings it needs; false when it does not decode.
    bool references(std::span<const std::byte> bytes, const columns::ChunkHeader& header) {
        bool sound = false;
        columns::withStoredKind(header.kind, [&]<class Event>(columns::StoredKind<Event> stored) {
            const auto events = stored.decode(bytes);
            sound = events.has_value();
            if (sound) noteTexts(header.rank, *events);
        });
        return sound;
    }

    template <class Event>
    void noteTexts(RankId rank, const std::vector<Event>& events) {
        std::vector<std::uint32_t> arguments;
        for (const Event& event : events) {
            for (const StringId* id : columns::StoredKind<Event>::texts(event)) {
                if (columns::isArguments(*id))
                    arguments.push_back(id->value);
                else if (*id != kEmptyString)
                    m_context.strings[rank].insert(id->value);
            }
        }
        if (arguments.empty()) return;
        auto& known = m_context.arguments[rank];
        for (const IdRun& run : runsOf(arguments)) known.push_back(run);
    }

    void lose(const ChunkFacts& facts) {
        auto& lost = m_context.account.lost;
        const auto same = [&](const LostEvents& each) {
            return each.kind == facts.kind && each.rank == facts.rank && each.lane == facts.lane;
        };
        auto at = std::find_if(lost.begin(), lost.end(), same);
        if (at == lost.end())
            at = lost.insert(lost.end(), {facts.kind, facts.rank, facts.lane, 0, 0, facts.range});
        ++at->chunks;
        at->events += facts.count;
        at->range = {std::min(at->range.begin, facts.range.begin),
                     std::max(at->range.end, facts.range.end)};
    }

    SalvageContext& m_context;
    ChunkWriter& m_writer;
    Statement m_select;
};

/// Stands in for the run's row until that is read.
RunFacts standIn() {
    RunFacts run;
    run.id = std::string(32, '0');
    run.configJson = run.librariesJson = run.environmentJson = "{}";
    run.commandLine = run.product = run.model = run.strategy = "(lost)";
    return run;
}

std::string lossText(const Salvage& account) {
    std::string text =
        "this recording was salvaged from a damaged file: " + std::to_string(account.lostEvents()) +
        " events are known to be lost";
    if (account.unreceived > 0)
        text += ", and " + std::to_string(account.unreceived) +
                " that its ranks counted had never reached it";
    return text;
}

/// Status and end as the damaged file had them; a run whose writer died has failed by now.
Result<void> finish(SalvageContext& context, RowWriter& rows) {
    auto status = context.output.integer("SELECT status FROM run");
    auto ended = context.output.integer("SELECT coalesce(ended_ns, " +
                                        std::to_string(context.bounds.end.ns) + ") FROM run");
    if (!status || !ended) return failure(status ? ended : status);
    auto kept = static_cast<RunStatus>(*status);
    if (*status < 2 || *status > 5) kept = RunStatus::kFailed;
    if (!context.account.lossless()) {
        const Diagnostic repaired{Severity::kWarning,
                                  kRepairedCode,
                                  lossText(context.account),
                                  "Record again where the missing part matters.",
                                  std::nullopt,
                                  {*ended},
                                  1};
        if (auto added = rows.put(repaired); !added) return added;
    }
    if (auto ending = rows.finishRun(kept, {*ended}, true); !ending) return ending;
    return sealRows(context.output);
}

Result<Salvage> salvageInto(DamagedFile& damaged, const std::string& path,
                            const std::function<bool()>& goOn) {
    auto created = createRecordingFile(path, standIn(), true);
    if (!created) return failure(created);
    Connection* const output = &created->connection;
    auto writer = ChunkWriter::create(*output);
    auto rows = RowWriter::create(*output);
    if (!writer || !rows) return writer ? failure(rows) : failure(writer);
    Salvage account;
    SalvageContext context{damaged.connection(), *output, account, goOn, {}, {}, {}, {}, {}, {}};
    const auto commit = [&]() -> Result<void> {
        if (auto wanted = context.checkWanted(); !wanted) return wanted;
        return output->execute("COMMIT; BEGIN IMMEDIATE");
    };
    auto done = output->execute("BEGIN IMMEDIATE");
    if (done) done = salvageChunks(context, *writer);
    if (done) done = writer->writePyramids(PyramidStore::Which::kAll);
    if (done) done = commit();
    if (done) done = salvageRows(context);
    if (done) done = mendRows(context);
    if (done) done = mendArguments(context, *rows);
    if (done) done = commit();
    if (done) done = mergeSmallChunks(*output, kWithoutHaste);
    if (done) done = copyLongTables(*output);
    if (done) done = thinPyramids(*output);
    if (done) done = finish(context, *rows);
    if (done) done = output->execute("COMMIT");
    if (!done) return failure(done);
    account.events = writer->events();
    account.events.collectives = 0;
    for (const SalvagedTable& table : account.tables)
        if (table.name == "collectives") account.events.collectives = table.copied;
    if (done = settleIntoOneFile(*output, kWithoutHaste); !done) return failure(done);
    return account;
}

void removeAll(const std::string& path) {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
        std::error_code ignored;
        fs::remove(path + suffix, ignored);
    }
}

}  // namespace

std::uint64_t Salvage::lostEvents() const {
    return std::accumulate(
        lost.begin(), lost.end(), missed,
        [](std::uint64_t sum, const LostEvents& each) { return sum + each.events; });
}

bool Salvage::lossless() const {
    const auto whole = [](const SalvagedTable& table) {
        return table.refused == 0 && table.gaps.empty();
    };
    return lost.empty() && unreceived == 0 && missed == 0 && notes.empty() &&
           std::all_of(tables.begin(), tables.end(), whole);
}

Result<void> salvageChunks(SalvageContext& context, ChunkWriter& writer) {
    std::vector<TolerantScan::Gap> gaps;
    const auto chunks = findChunks(context.damaged, gaps);
    auto select = context.damaged.prepare("SELECT data FROM chunks NOT INDEXED WHERE id=?");
    SalvagedTable account{"chunks", 0, 0, {}};
    if (!select) {
        context.account.notes.emplace_back("the table chunks is lost: its description is damaged");
        return {};
    }
    ChunkSaver saver(context, writer, std::move(*select));
    for (const auto& [id, facts] : chunks) {
        if (auto wanted = context.checkWanted(); !wanted) return wanted;
        if (auto saved = saver.save(id, facts); !saved) return saved;
    }
    for (const TolerantScan::Gap& gap : gaps) account.gaps.push_back(gapText("id", gap));
    account.copied = context.account.chunks;
    context.account.tables.push_back(std::move(account));
    return {};
}

Result<Salvage> salvageRecording(const std::string& input, const std::string& output,
                                 bool overwrite, const std::function<bool()>& goOn) {
    std::error_code ignored;
    const OutputRequest request{output, overwrite, kRecording, {input}};
    if (auto fine = settleOutput(request); !fine) return failure(fine);
    removeDeadParts(output);
    const std::string stem = partName(output, "part");
    auto damaged = DamagedFile::open(input, stem + "-in");
    if (!damaged) return failure(damaged);
    auto salvaged = salvageInto(*damaged, stem, goOn);
    if (salvaged) {
        // It took a while.
        const PlacingLock placing(output);
        if (auto still = settleOutput(request); !still) {
            removeAll(stem);
            return failure(still);
        }
        std::error_code error;
        for (const char* suffix : {"-wal", "-shm", "-journal"})
            fs::remove(output + suffix, ignored);
        fs::rename(stem, output, error);
        if (!error) return salvaged;
        removeAll(stem);
        return failure(ErrorCode::kFailure, "cannot write " + output + ": " + error.message());
    }
    removeAll(stem);
    if (salvaged.error().code == ErrorCode::kCancelled) return salvaged;
    return failure(salvaged.error().code, "repairing " + input + ": " +
                                              withoutPart(salvaged.error().message, stem, output));
}

}  // namespace shardscope::storage
