#include "storage/recording/file/collective_bounds.h"
#include "storage/recording/file/row_checksums.h"
#include "storage/recording/file/row_rules.h"
#include "storage/recording/file/row_sql.h"
#include "storage/recording/verify/verify_parts.h"

#include <algorithm>

namespace shardscope::storage {
namespace {

std::string number(std::int64_t value) {
    return std::to_string(value);
}
RankId rankOf(const Statement& row, int column) {
    return {static_cast<std::uint32_t>(row.integer(column))};
}

/// `text` with the values of a row for its {columns}, which the statement selects by name.
std::string filled(std::string text, const Statement& row, const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string mark = "{" + names[i] + "}";
        const int column = static_cast<int>(i);
        const std::string value =
            row.isNull(column) ? std::string("NULL") : std::string(row.text(column));
        for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark))
            text.replace(at, mark.size(), value);
    }
    return text;
}

/// Rows that break a rule of their table, all in one scan.
void verifyRules(VerifyContext& context, const TableRules& table) {
    std::vector<const RowRule*> rules;
    for (const RowRule& rule : table.rules)
        if (!rule.sentence.empty()) rules.push_back(&rule);
    if (rules.empty()) return;
    std::vector<std::string> names = columnsIn(table.row);
    std::string broken, any;
    for (const RowRule* rule : rules) {
        for (const std::string& name : columnsIn(rule->sentence)) names.push_back(name);
        broken += ", (" + rule->broken + ")";
        any.append(any.empty() ? "(" : " OR (").append(rule->broken) += ")";
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::string columns;
    for (const std::string& name : names) columns.append(columns.empty() ? "" : ", ").append(name);
    if (columns.empty()) columns = "1";
    const int first = std::max(1, static_cast<int>(names.size()));
    forRows(context, table.table.c_str(),
            "SELECT " + columns + broken + " FROM " + table.table + " WHERE " + any,
            [&](const Statement& row) {
                for (std::size_t i = 0; i < rules.size(); ++i)
                    if (row.integer(first + static_cast<int>(i)) != 0)
                        context.found.add(table.table,
                                          filled(table.row + " " + rules[i]->sentence, row, names));
            });
}

void verifyTable(VerifyContext& context, const TableRules& table) {
    if (table.since > 0 && !context.connection.hasTable(table.table).value_or(false)) return;
    const char* where = table.table.c_str();
    forRows(context, where, "SELECT count(*) FROM " + table.table, [&](const Statement& row) {
        context.found.rows += static_cast<std::uint64_t>(row.integer(0));
    });
    if (table.ofRanks)
        forRows(context, where,
                "SELECT DISTINCT rank FROM " + table.table +
                    " WHERE rank NOT IN (SELECT rank FROM ranks)",
                [&](const Statement& row) {
                    context.found.add(where, "rows name rank " + number(row.integer(0)) +
                                                 ", which has no row in ranks");
                });
    verifyRules(context, table);
}

void verifyRun(VerifyContext& context) {
    std::int64_t runs = 0;
    forRows(context, "run", "SELECT finalised FROM run", [&](const Statement& row) {
        ++runs;
        context.found.complete = row.integer(0) != 0;
    });
    if (runs != 1) context.found.add("run", "has " + number(runs) + " rows instead of one");
}

/// Ranks, lanes and strings, remembered for what refers to them.
void rememberNames(VerifyContext& context) {
    KnownRows& known = context.known;
    forRows(context, "ranks", "SELECT rank FROM ranks",
            [&](const Statement& row) { known.ranks.insert(rankOf(row, 0).value); });
    forRows(context, "lanes", "SELECT rank, lane, role FROM lanes", [&](const Statement& row) {
        known.lanes[{rankOf(row, 0), {static_cast<std::uint32_t>(row.integer(1))}}] =
            static_cast<LaneRole>(row.integer(2));
    });
    forRows(context, "strings", "SELECT rank, id FROM strings", [&](const Statement& row) {
        known.strings.insert(
            KnownRows::key(rankOf(row, 0), {static_cast<std::uint32_t>(row.integer(1))}));
    });
    auto detail = readDetail(context.connection);
    if (!detail)
        context.found.add("detail", "cannot be read: " + detail.error().message);
    else
        context.detail = std::move(*detail);
}

void verifyCollectiveBounds(VerifyContext& context) {
    const auto stored = storedCollectives(context.connection);
    if (!stored || !*stored || !context.found.complete) return;
    const auto counted = countCollectives(context.connection);
    const auto textOf = [](const CollectiveBounds& bounds) {
        return std::to_string(bounds.count) + " collectives from " + number(bounds.range.begin.ns) +
               " to " + number(bounds.range.end.ns) + " ns";
    };
    if (counted && **stored != *counted)
        context.found.add("meta",
                          "says " + textOf(**stored) + ", its rows are " + textOf(*counted));
}

void verifyCollectives(VerifyContext& context) {
    forRows(context, "collectives",
            "SELECT rank, count(*), min(issue_ns) FROM collectives GROUP BY 1",
            [&](const Statement& row) {
                const RankId rank = rankOf(row, 0);
                const auto count = static_cast<std::uint64_t>(row.integer(1));
                context.eventsOfRank[rank] += count;
                context.found.events.collectives += count;
                if (row.integer(2) < shardscope::thinnedUntil(context.detail, rank, false).ns)
                    context.found.add("collectives", "rank " + number(row.integer(0)) +
                                                         " has some where everything was thinned");
            });
    verifyCollectiveBounds(context);
    for (const char* column : {"algorithm_id", "protocol_id"})
        forRows(context, "collectives",
                std::string("SELECT DISTINCT rank, ") + column + " FROM collectives",
                [&](const Statement& row) {
                    const StringId id{static_cast<std::uint32_t>(row.integer(1))};
                    if (!context.known.hasString(rankOf(row, 0), id))
                        context.found.add("collectives", "rows of rank " + number(row.integer(0)) +
                                                             " name string " + number(id.value) +
                                                             ", which is not there");
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
                const std::string which = "row " + number(row.integer(4));
                const auto fault = context.arguments->check(rankOf(row, 0), row.integer(1),
                                                            row.integer(2), row.blob(3));
                if (fault) context.found.add("arguments", which + " " + *fault);
                if (row.integer(5) != static_cast<std::int64_t>(row.blob(3).size()))
                    context.found.add("arguments", which + " has another length than it says");
            });
}

void verifyChecksums(VerifyContext& context) {
    const auto tables = checkRowChecksums(context.connection);
    if (!tables) return context.found.add("meta", "cannot be read: " + tables.error().message);
    if (tables->empty() && context.found.complete)
        context.found.notes.emplace_back(
            "rows have no checksums: the recording is of a version before 1.3");
    for (const CheckedTable& table : *tables) {
        if (!table.fault.empty())
            context.found.add(table.table, "cannot be read: " + table.fault);
        else if (!table.matches)
            context.found.add(table.table,
                              "its rows do not match their checksum: some were changed, added or "
                              "lost after the recording was finalised");
    }
}

}  // namespace

void verifyRows(VerifyContext& context) {
    verifyRun(context);
    rememberNames(context);
    for (const TableRules& table : tableRules()) verifyTable(context, table);
    verifyCollectives(context);
    verifyArguments(context);
    verifyChecksums(context);
}

}  // namespace shardscope::storage
