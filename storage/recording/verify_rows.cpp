#include "storage/recording/detail_rows.h"
#include "storage/recording/verify_parts.h"
#include "storage/recording/words.h"

namespace shardscope::storage {
namespace {

std::string number(std::int64_t value) {
    return std::to_string(value);
}
RankId rankOf(const Statement& row, int column) {
    return {static_cast<std::uint32_t>(row.integer(column))};
}

void expectRank(VerifyContext& context, const char* table, const Statement& row, int column) {
    ++context.found.rows;
    if (!context.known.ranks.contains(rankOf(row, column).value) &&
        context.missingRanks.emplace(table, row.integer(column)).second)
        context.found.add(
            table, "rows name rank " + number(row.integer(column)) + ", which has no row in ranks");
}

void verifyRun(VerifyContext& context) {
    std::int64_t runs = 0;
    forRows(
        context, "run", "SELECT status, ended_ns, finalised, world_size FROM run",
        [&](const Statement& row) {
            ++runs;
            ++context.found.rows;
            context.found.complete = row.integer(2) != 0;
            if (row.integer(0) < 1 || row.integer(0) > 5)
                context.found.add(
                    "run", "has status " + number(row.integer(0)) + ", which is none of 1 to 5");
            if (context.found.complete && row.isNull(1))
                context.found.add("run", "is finalised but has no end");
            if (row.integer(3) < 0 || row.integer(3) > kMostRanks)
                context.found.add("run", "claims to be of " + number(row.integer(3)) + " ranks");
        });
    if (runs != 1) context.found.add("run", "has " + number(runs) + " rows instead of one");
}

/// Hosts, ranks, lanes and strings, remembered for what refers to them.
void verifyNames(VerifyContext& context) {
    KnownRows& known = context.known;
    forRows(context, "hosts", "SELECT host FROM hosts", [&](const Statement& row) {
        ++context.found.rows;
        known.hosts.insert(row.integer(0));
    });
    forRows(context, "ranks", "SELECT rank, host, emitted, dropped FROM ranks",
            [&](const Statement& row) {
                ++context.found.rows;
                known.ranks.insert(rankOf(row, 0).value);
                if (!known.hosts.contains(row.integer(1)))
                    context.found.add("ranks", "rank " + number(row.integer(0)) + " runs on host " +
                                                   number(row.integer(1)) + ", which has no row");
                if (row.integer(3) < 0 || row.integer(3) > row.integer(2))
                    context.found.add("ranks", "rank " + number(row.integer(0)) +
                                                   " dropped more events than it produced");
            });
    forRows(context, "lanes", "SELECT rank, lane, role FROM lanes", [&](const Statement& row) {
        expectRank(context, "lanes", row, 0);
        known.lanes[{rankOf(row, 0), {static_cast<std::uint32_t>(row.integer(1))}}] =
            static_cast<LaneRole>(row.integer(2));
        if (row.integer(2) < 1 || row.integer(2) > 8)
            context.found.add("lanes", "a lane has role " + number(row.integer(2)));
    });
    forRows(context, "strings", "SELECT rank, id FROM strings", [&](const Statement& row) {
        expectRank(context, "strings", row, 0);
        known.strings.insert(
            KnownRows::key(rankOf(row, 0), {static_cast<std::uint32_t>(row.integer(1))}));
    });
}

void verifySteps(VerifyContext& context) {
    std::map<std::uint32_t, std::int64_t> lastEnd;
    // Numbers need not ascend in time: a profiler that is started again may count from 0.
    forRows(context, "steps",
            "SELECT rank, step, start_ns, end_ns FROM steps ORDER BY rank, start_ns, end_ns",
            [&](const Statement& row) {
                expectRank(context, "steps", row, 0);
                const std::string which =
                    "step " + number(row.integer(1)) + " of rank " + number(row.integer(0));
                if (row.integer(3) < row.integer(2))
                    context.found.add("steps", which + " ends before it starts");
                const auto [last, first] =
                    lastEnd.try_emplace(rankOf(row, 0).value, row.integer(3));
                if (!first && row.integer(2) < last->second)
                    context.found.add("steps", which + " starts before the one before it ends");
                last->second = row.integer(3);
            });
}

/// Rows that make sense, and that the rest of the file agrees with.
void verifyDetail(VerifyContext& context) {
    auto rows = readDetail(context.connection);
    if (!rows) return context.found.add("detail", "cannot be read: " + rows.error().message);
    context.detail = std::move(*rows);
    for (const DetailFacts& facts : context.detail) {
        ++context.found.rows;
        const std::string which = "steps " + number(facts.first.value) + " to " +
                                  number(facts.last.value) + " of rank " + number(facts.rank.value);
        if (!context.known.ranks.contains(facts.rank.value))
            context.found.add("detail", "rows name rank " + number(facts.rank.value) +
                                            ", which has no row in ranks");
        if (facts.last < facts.first || facts.range.end < facts.range.begin)
            context.found.add("detail", which + " end before they begin");
        if (facts.level > CaptureLevel::kLight)
            context.found.add(
                "detail", which + " have level " + number(static_cast<std::int64_t>(facts.level)));
        if (!isOne(facts.reason))
            context.found.add("detail", which + " have reason " +
                                            number(static_cast<std::int64_t>(facts.reason)));
    }
}

void verifyCollectives(VerifyContext& context) {
    const char* sql =
        "SELECT rank, sequence, operation, dtype, cause, algorithm_id, protocol_id, start_ns,"
        " end_ns, last_arrival_ns, length(arrivals), issue_ns FROM collectives";
    forRows(context, "collectives", sql, [&](const Statement& row) {
        expectRank(context, "collectives", row, 0);
        const RankId rank = rankOf(row, 0);
        ++context.eventsOfRank[rank];
        ++context.found.events.collectives;
        const std::string which =
            "collective " + number(row.integer(1)) + " of rank " + number(row.integer(0));
        if (row.integer(8) < row.integer(7) || row.integer(9) > row.integer(8))
            context.found.add("collectives", which + " has times out of order");
        if (row.integer(11) < shardscope::thinnedUntil(context.detail, rank, false).ns)
            context.found.add("collectives", which + " lies where everything was thinned");
        if (row.integer(10) % 8 != 0)
            context.found.add("collectives", which + " has half an arrival");
        if (!fromWord<CollectiveOp>(row.text(2)) || !fromWord<DataType>(row.text(3)) ||
            !fromWord<Cause>(row.text(4)))
            context.found.add("collectives", which + " has an unknown word");
        for (const int column : {5, 6})
            if (!context.known.hasString(rank, {static_cast<std::uint32_t>(row.integer(column))}))
                context.found.add("collectives", which + " names a string that is not there");
    });
}

void verifyArguments(VerifyContext& context) {
    if (!context.connection.hasTable("arguments").value_or(false)) return;  // since 1.2
    auto audit = ArgumentAudit::create(context.connection);
    if (!audit)
        return context.found.add("arguments", "cannot be checked: " + audit.error().message);
    context.arguments.emplace(std::move(*audit));
    forRows(context, "arguments", "SELECT rank, first_id, count, data, id, bytes FROM arguments",
            [&](const Statement& row) {
                expectRank(context, "arguments", row, 0);
                const std::string which = "row " + number(row.integer(4));
                const auto fault = context.arguments->check(rankOf(row, 0), row.integer(1),
                                                            row.integer(2), row.blob(3));
                if (fault) context.found.add("arguments", which + " " + *fault);
                if (row.integer(5) != static_cast<std::int64_t>(row.blob(3).size()))
                    context.found.add("arguments", which + " has another length than it says");
            });
}

}  // namespace

void verifyRows(VerifyContext& context) {
    verifyRun(context);
    verifyNames(context);
    verifySteps(context);
    verifyDetail(context);
    verifyCollectives(context);
    verifyArguments(context);
    forRows(context, "memory_theory", "SELECT rank, category FROM memory_theory",
            [&](const Statement& row) {
                expectRank(context, "memory_theory", row, 0);
                if (row.integer(1) < 0 || row.integer(1) >= kMemoryCategoryCount)
                    context.found.add("memory_theory", "has category " + number(row.integer(1)));
            });
    forRows(context, "metrics", "SELECT name FROM metrics",
            [&](const Statement&) { ++context.found.rows; });
    forRows(context, "diagnostics", "SELECT severity FROM diagnostics", [&](const Statement& row) {
        ++context.found.rows;
        if (row.integer(0) < 1 || row.integer(0) > 3)
            context.found.add("diagnostics", "has severity " + number(row.integer(0)));
    });
    if (context.connection.hasTable("devices").value_or(false))  // since 1.1
        forRows(context, "devices", "SELECT rank FROM devices",
                [&](const Statement& row) { expectRank(context, "devices", row, 0); });
}

}  // namespace shardscope::storage
