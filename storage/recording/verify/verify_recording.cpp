#include "storage/recording/verify/verify_recording.h"

#include "storage/recording/file/packed_rows.h"
#include "storage/recording/file/recording_file.h"
#include "storage/recording/verify/verify_parts.h"

namespace shardscope::storage {
namespace {

constexpr std::size_t kMaxFaults = 100;

void verifyStructure(VerifyContext& context) {
    forRows(context, "file", "PRAGMA integrity_check(20)", [&](const Statement& row) {
        const std::string line(row.text(0));
        if (line != "ok") context.found.add("file", "SQLite finds: " + line);
    });
}

/// Rows that are columns become tables again, for all that follows.
void unpackAll(VerifyContext& context) {
    const auto onFault = [&](const std::string& sentence) {
        context.found.add("packed", sentence);
    };
    const TemporaryWrites writes(context.connection);
    if (auto unpacked = unpackRows(context.connection, {}, onFault); !unpacked)
        context.found.add("packed", "cannot be read: " + unpacked.error().message);
}

/// What a rank says it produced against what is stored of it.
void verifyTotals(VerifyContext& context) {
    std::map<RankId, std::uint64_t> removed;
    for (const DetailFacts& facts : context.detail)
        removed[facts.rank] += facts.removed.value_or(0);
    std::int64_t status = 0;
    forRows(context, "run", "SELECT status FROM run",
            [&](const Statement& row) { status = row.integer(0); });
    const bool orderly = status == static_cast<std::int64_t>(RunStatus::kFinished) ||
                         status == static_cast<std::int64_t>(RunStatus::kStopped);
    forRows(context, "ranks", "SELECT rank, emitted, dropped FROM ranks",
            [&](const Statement& row) {
                const RankId rank{static_cast<std::uint32_t>(row.integer(0))};
                const auto came = static_cast<std::uint64_t>(row.integer(1) - row.integer(2));
                // Its last word may have been spoken before what was taken out came.
                const std::uint64_t kept = came - std::min(came, removed[rank]);
                const std::uint64_t stored = context.eventsOfRank[rank];
                if (row.integer(1) == 0 || kept == stored) return;
                const std::string sentence = "rank " + std::to_string(rank.value) +
                                             " says it kept " + std::to_string(kept) + " events" +
                                             (removed[rank] > 0 ? " beside those taken out" : "") +
                                             ", " + std::to_string(stored) + " are stored";
                // A rank that died, or lives on, had no chance of a last word; and what it records
                // while it says it comes on top.
                if (context.found.complete && orderly && stored < kept)
                    context.found.add("ranks", sentence);
                else
                    context.found.notes.push_back(sentence);
            });
}

}  // namespace

void Verification::add(std::string where, std::string what) {
    ++faultCount;
    if (faults.size() < kMaxFaults) faults.push_back({std::move(where), std::move(what)});
}

Result<Verification> verifyRecording(const std::string& path) {
    auto connection = openReadingConnection(path);
    if (!connection) return failure(connection);
    // One state of the file for all parts, also while its writer goes on.
    if (auto begun = connection->execute("BEGIN"); !begun) return failure(begun);
    Verification found;
    VerifyContext context{*connection, found, {}, {}, {}};
    verifyStructure(context);
    unpackAll(context);
    verifyRows(context);
    verifyChunks(context);
    verifyTotals(context);
    for (std::string& phrase : detailPhrases(context.detail))
        found.notes.push_back(std::move(phrase));
    if (!found.complete)
        found.notes.emplace_back(
            "not finalised: it is being written, or its writer died; pyramids may lag behind");
    return found;
}

}  // namespace shardscope::storage
