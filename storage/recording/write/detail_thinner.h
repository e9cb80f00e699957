// Keeps a recording that is being written within a size: takes detail of the oldest steps out of
// it, by whole steps, first what only the level full holds, then everything but steps and metrics.
// What is left and why is a row of the table `detail` in the same transaction. Part of the writer.
//
// Half of the allowed size is for full detail, the newest; the rest for steps at level light. Pages
// that become free are used again; the file never shrinks while it is written.
#pragma once

#include "storage/model/size_limit.h"
#include "storage/recording/write/detail_remover.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::storage {

/// A row of `collectives` without its arrivals, as SQLite stores it.
inline constexpr std::int64_t kCollectiveRowBytes = 110;

class DetailThinner {
public:
    /// Both must outlive it.
    DetailThinner(Connection& connection, ChunkWriter& chunks, const SizeLimit& limit)
        : m_connection(&connection),
          m_chunks(&chunks),
          m_remover(connection, chunks),
          m_limit(limit) {}

    /// Between two transactions. Takes out so much that the file can go on growing for a while;
    /// nothing where it is far from its limit.
    /// `more` is about to be written.
    Result<void> keepWithin(Bytes more);

    /// What the file may take now, log included.
    [[nodiscard]] Bytes allowed() const { return m_limit.allowed(m_chunks->newest()); }
    /// Bytes of pages in use.
    [[nodiscard]] Result<Bytes> used();
    /// Whether the file as it lies on the disk may take so much more.
    [[nodiscard]] bool hasRoomFor(Bytes bytes);
    /// Whether anything was taken out so far.
    [[nodiscard]] bool hasThinned() const { return !m_reach.empty(); }
    /// True once: nothing is left to take out, and the file reaches its limit all the same.
    [[nodiscard]] bool takeExceeded();

private:
    Result<void> apply(const std::vector<StoredChunk>& chunks, const ThinPlan& plan);
    Result<void> apply(const std::vector<StoredChunk>& chunks, const ThinPlan& plan, RankId rank);
    Result<std::optional<ThinPlan>> planNext(const std::vector<StoredChunk>& chunks,
                                             std::int64_t goal);
    Result<std::optional<ThinPlan>> planLevel(const std::vector<StoredChunk>& chunks,
                                              CaptureLevel left, std::int64_t goal,
                                              std::int64_t rowBytes);
    Result<std::optional<ThinPlan>> planAll(const std::vector<StoredChunk>& chunks);
    Result<std::int64_t> firstStepAfter(Timestamp time, std::int64_t first, std::int64_t last);
    Result<std::map<RankId, Timestamp>> startsOf(std::int64_t step);
    Result<std::int64_t> collectiveBytes();

    /// How far detail was taken out, by what is left of it.
    struct Reach {
        StepIndex through = kNoStep;
        std::map<RankId, Timestamp> until;
    };

    [[nodiscard]] Reach reach(CaptureLevel left) const;

    Connection* m_connection;
    ChunkWriter* m_chunks;
    DetailRemover m_remover;
    SizeLimit m_limit;
    std::map<CaptureLevel, Reach> m_reach;
    bool m_exceeded = false;
    bool m_saidExceeded = false;
};

}  // namespace shardscope::storage
