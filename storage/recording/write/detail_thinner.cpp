#include "storage/recording/write/detail_thinner.h"

#include "storage/recording/file/row_sql.h"
#include "storage/sqlite/connection.h"

#include <algorithm>
#include <filesystem>
#include <limits>

namespace shardscope::storage {
namespace {

/// Shares of the allowed size. What is above them is for the log, and for what comes until the
/// next look.
constexpr double kThinFrom = 0.85, kThinTo = 0.80;
/// What may come in one go, and its log, before the next look: more than a part of a small limit.
constexpr double kLeastSpare = 1.3e6;
/// Of what chunks take: for steps at level light; the rest is for the newest, at full detail.
constexpr double kLightShare = 0.5;
constexpr std::int64_t kPartAtATime = 4;
/// A single step may be too large for the file: beyond so much of what is above the first share it
/// is not waited for.
constexpr double kHopeless = 1.0 / 3;
/// Of the limit, what a transaction takes out: its log is of that size, and beside the file.
constexpr double kInOneGo = 1.0 / 64;
constexpr int kMostPasses = 64;

std::int64_t sizeOf(const std::string& path) {
    std::error_code missing;
    const auto size = std::filesystem::file_size(path, missing);
    return missing ? 0 : static_cast<std::int64_t>(size);
}

}  // namespace

Result<Bytes> DetailThinner::used() {
    const auto bytes = m_connection->integer(
        "SELECT (page_count - freelist_count) * page_size"
        " FROM pragma_page_count, pragma_freelist_count, pragma_page_size");
    if (!bytes) return failure(bytes);
    return Bytes{*bytes};
}

bool DetailThinner::hasRoomFor(Bytes bytes) {
    const std::string& path = m_connection->path();
    return sizeOf(path) + sizeOf(path + "-wal") + bytes.count <= allowed().count;
}

bool DetailThinner::takeExceeded() {
    return std::exchange(m_exceeded, false);
}

Result<void> DetailThinner::keepWithin(Bytes more) {
    const auto limit = static_cast<double>(allowed().count);
    for (int pass = 0; pass < kMostPasses; ++pass) {
        auto taken = used();
        if (!taken) return failure(taken);
        const auto size = static_cast<double>(taken->count + more.count);
        const double from = std::min(kThinFrom * limit, limit - kLeastSpare);
        const double hopeless = from + kHopeless * (limit - from);
        if (size <= from) return {};
        auto chunks = listStoredChunks(*m_connection);
        if (!chunks) return failure(chunks);
        const double goal = std::min(size - from + (kThinFrom - kThinTo) * limit, kInOneGo * limit);
        auto plan = planNext(*chunks, static_cast<std::int64_t>(goal));
        if (!plan) return failure(plan);
        if (!*plan && size > hopeless) plan = planAll(*chunks);
        if (!plan) return failure(plan);
        if (!*plan) {
            if (size > hopeless && !std::exchange(m_saidExceeded, true)) m_exceeded = true;
            return {};
        }
        if (auto done = apply(*chunks, **plan); !done) return done;
    }
    return {};
}

Result<void> DetailThinner::apply(const std::vector<StoredChunk>& chunks, const ThinPlan& plan) {
    // A transaction a rank: the log is as large as the largest was.
    for (const auto& [rank, until] : plan.until)
        if (auto done = apply(chunks, plan, rank); !done) return done;
    m_reach[plan.left].through = plan.through;
    return {};
}

Result<void> DetailThinner::apply(const std::vector<StoredChunk>& chunks, const ThinPlan& plan,
                                  RankId rank) {
    auto transaction = Transaction::begin(*m_connection);
    if (!transaction) return failure(transaction);
    auto firstStep = m_connection->integer("SELECT coalesce(min(step), 0) FROM steps");
    if (!firstStep) return failure(firstStep);
    auto removed = m_remover.remove(rank, chunks, plan);
    if (!removed) return failure(removed);
    const Timestamp until = plan.until.at(rank);
    const Reach known = reach(plan.left);
    DetailFacts facts;
    facts.rank = rank;
    facts.level = plan.left;
    facts.reason =
        m_limit.rateBinds(m_chunks->newest()) ? DetailReason::kMaxRate : DetailReason::kMaxSize;
    facts.first = {known.through == kNoStep ? static_cast<std::int32_t>(*firstStep)
                                            : known.through.value + 1};
    facts.first = std::min(facts.first, plan.through);
    facts.last = plan.through;
    facts.range = {until, until};
    if (const auto before = known.until.find(rank); before != known.until.end())
        facts.range.begin = before->second;
    else if (known.through == kNoStep)
        for (const StoredChunk& chunk : chunks)
            if (chunk.rank == rank) facts.range.begin = std::min(facts.range.begin, chunk.first);
    facts.removed = removed->events;
    facts.peak = removed->peak;
    if (auto put = putDetail(*m_connection, facts); !put) return put;
    if (auto done = transaction->commit(); !done) return done;
    // Only now: what was rolled back is in the file still.
    m_reach[plan.left].until[rank] = until;
    const auto of = [&](CaptureLevel left) {
        const Reach reached = reach(left);
        const auto at = reached.until.find(rank);
        return at == reached.until.end() ? kBeginningOfTime : at->second;
    };
    const Timestamp all = of(CaptureLevel::kSteps);
    m_chunks->noteThinned(rank, {std::max(of(CaptureLevel::kLight), all), all});
    return {};
}

DetailThinner::Reach DetailThinner::reach(CaptureLevel left) const {
    const auto known = m_reach.find(left);
    return known == m_reach.end() ? Reach{} : known->second;
}

/// Rows of a group are numbered without gaps.
Result<std::int64_t> DetailThinner::collectiveBytes() {
    auto rows = m_connection->integer(
        "SELECT coalesce(sum(n), 0) FROM (SELECT max(sequence) - min(sequence) + 1 AS n"
        " FROM collectives WHERE group_id = 0 GROUP BY rank)");
    auto arrivals = m_connection->integer(
        "SELECT coalesce((SELECT length(arrivals) FROM collectives LIMIT 1), 0)");
    if (!rows || !arrivals) return rows ? arrivals : rows;
    return *rows * (kCollectiveRowBytes + *arrivals);
}

Result<std::optional<ThinPlan>> DetailThinner::planNext(const std::vector<StoredChunk>& chunks,
                                                        std::int64_t goal) {
    auto rows = collectiveBytes();
    if (!rows) return failure(rows);
    // What lies where detail is full, against all there is.
    const Reach light = reach(CaptureLevel::kLight), steps = reach(CaptureLevel::kSteps);
    const auto isFull = [&](const StoredChunk& chunk) {
        for (const Reach* each : {&light, &steps}) {
            const auto until = each->until.find(chunk.rank);
            if (until != each->until.end() && chunk.first < until->second) return false;
        }
        return true;
    };
    double full = 0, all = 0;
    std::int64_t fullOnly = 0;
    for (const StoredChunk& chunk : chunks) {
        all += static_cast<double>(chunk.bytes);
        if (isFull(chunk)) full += static_cast<double>(chunk.bytes);
        if (chunk.fullOnly) fullOnly += chunk.bytes;
    }
    const bool tooFull = fullOnly > 0 && full >= all * (1 - kLightShare);
    const auto planFor = [&](CaptureLevel left) {
        if (left == CaptureLevel::kSteps) return planLevel(chunks, left, goal, *rows);
        // A part at a time: then it is looked at again which of the two is too much.
        return planLevel(chunks, left, std::min(goal, fullOnly / kPartAtATime), 0);
    };
    auto plan = planFor(tooFull ? CaptureLevel::kLight : CaptureLevel::kSteps);
    if (!plan || *plan) return plan;
    return planFor(tooFull ? CaptureLevel::kSteps : CaptureLevel::kLight);
}

Result<std::optional<ThinPlan>> DetailThinner::planLevel(const std::vector<StoredChunk>& chunks,
                                                         CaptureLevel left, std::int64_t goal,
                                                         std::int64_t rowBytes) {
    std::vector<const StoredChunk*> candidates;
    std::int64_t bytes = 0;
    for (const StoredChunk& chunk : chunks) {
        if (left == CaptureLevel::kLight && !chunk.fullOnly) continue;
        candidates.push_back(&chunk);
        bytes += chunk.bytes;
    }
    auto first = m_connection->integer("SELECT coalesce(min(step), 0) FROM steps");
    auto last = m_connection->integer(
        "SELECT coalesce((SELECT step FROM steps GROUP BY step"
        " HAVING count(*) >= (SELECT world_size FROM run) ORDER BY step DESC LIMIT 1), -1)");
    if (!first || !last) return first ? failure(last) : failure(first);
    const StepIndex through = reach(left).through;
    if (candidates.empty() || *last < 0 || through.value >= *last) return std::optional<ThinPlan>{};
    std::sort(candidates.begin(), candidates.end(),
              [](const StoredChunk* a, const StoredChunk* b) { return a->last < b->last; });
    // Rows go along with the chunks of their time.
    const double weight =
        bytes == 0 ? 1 : 1 + static_cast<double>(rowBytes) / static_cast<double>(bytes);
    Timestamp until = candidates.front()->last;
    double freed = 0;
    for (const StoredChunk* chunk : candidates) {
        until = chunk->last;
        freed += static_cast<double>(chunk->bytes) * weight;
        if (freed >= static_cast<double>(goal)) break;
    }
    auto kept = firstStepAfter(until, *first, *last);
    if (!kept) return failure(kept);
    *kept = std::max(*kept, std::int64_t{through.value} + 2);
    auto starts = startsOf(*kept);
    if (!starts) return failure(starts);
    ThinPlan plan{left, {static_cast<std::int32_t>(*kept - 1)}, std::move(*starts)};
    return std::optional(std::move(plan));
}

/// Whatever there is up to now, in the middle of a step: one that is larger than the file may be.
Result<std::optional<ThinPlan>> DetailThinner::planAll(const std::vector<StoredChunk>& chunks) {
    auto next = m_connection->integer("SELECT coalesce(max(step) + 1, 0) FROM steps");
    if (!next) return failure(next);
    const bool light = std::any_of(chunks.begin(), chunks.end(), [&](const StoredChunk& chunk) {
        return chunk.fullOnly && chunk.kind != EventKind::kMemory;
    });
    ThinPlan plan;
    plan.left = light ? CaptureLevel::kLight : CaptureLevel::kSteps;
    // The step in progress, and one for which something was fetched already.
    plan.through = {static_cast<std::int32_t>(*next + 1)};
    for (const StoredChunk& chunk : chunks) {
        Timestamp& until = plan.until.try_emplace(chunk.rank, kBeginningOfTime).first->second;
        if (chunk.fullOnly || !light) until = std::max(until, {chunk.last.ns + 1});
    }
    const auto before = reach(plan.left).until;
    const bool further = std::any_of(plan.until.begin(), plan.until.end(), [&](const auto& each) {
        const auto at = before.find(each.first);
        return at == before.end() || at->second < each.second;
    });
    return further ? std::optional(std::move(plan)) : std::nullopt;
}

/// The first that starts after `time`; the one after the last where none does.
Result<std::int64_t> DetailThinner::firstStepAfter(Timestamp time, std::int64_t first,
                                                   std::int64_t last) {
    auto select =
        m_connection->prepare("SELECT start_ns FROM steps WHERE step>=? ORDER BY step LIMIT 1");
    if (!select) return failure(select);
    std::int64_t from = first, to = last + 1;
    while (from < to) {
        const std::int64_t middle = from + (to - from) / 2;
        auto row = select->bind(1, middle).step();
        if (!row) return failure(row);
        const bool after = !*row || select->integer(0) > time.ns;
        select->reset();
        if (after)
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

/// By rank, when what belongs to `step` and later begins.
Result<std::map<RankId, Timestamp>> DetailThinner::startsOf(std::int64_t step) {
    // Within the step before it something is fetched for it, and the host of a device is ahead.
    auto select = m_connection->prepare("SELECT rank, start_ns FROM steps WHERE step = ?1 - 1");
    if (!select) return failure(select);
    select->bind(1, step);
    std::map<RankId, Timestamp> starts;
    Timestamp earliest{std::numeric_limits<std::int64_t>::max()};
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) break;
        const Timestamp start{select->integer(1)};
        starts[{static_cast<std::uint32_t>(select->integer(0))}] = start;
        earliest = std::min(earliest, start);
    }
    if (starts.empty())
        return failure(ErrorCode::kFailure, "the steps of the recording are not numbered in order");
    auto ranks = m_connection->prepare("SELECT DISTINCT rank FROM chunks");
    if (!ranks) return failure(ranks);
    while (true) {
        auto row = ranks->step();
        if (!row) return failure(row);
        if (!*row) return starts;
        starts.try_emplace({static_cast<std::uint32_t>(ranks->integer(0))}, earliest);
    }
}

}  // namespace shardscope::storage
