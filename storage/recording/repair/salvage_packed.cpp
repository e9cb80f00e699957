#include "storage/columns/arguments.h"
#include "storage/recording/file/packed_rows.h"
#include "storage/recording/repair/damaged_file.h"

#include <algorithm>
#include <optional>

namespace shardscope::storage {
namespace {

constexpr std::int64_t kFarKey = std::int64_t{1} << 20;

/// Account of the table that the rows go into.
SalvagedTable& accountOf(SalvageContext& context, const std::string& name) {
    auto& tables = context.account.tables;
    const auto at = std::find_if(tables.begin(), tables.end(),
                                 [&](const SalvagedTable& each) { return each.name == name; });
    if (at != tables.end()) return *at;
    return tables.emplace_back(SalvagedTable{name, 0, 0, {}});
}

/// "strings" of kPackedTables; null: none of them.
const PackedTable* tableOf(std::string_view name) {
    for (const PackedTable& table : kPackedTables)
        if (name == table.name) return &table;
    return nullptr;
}

void copyBlob(SalvageContext& context, const Statement& row, Result<void>& done) {
    if (!done) return;
    if (isCopied(row.text(1))) return;  // its rows are in their table
    const PackedTable* table = tableOf(row.text(1));
    const auto rows = columns::decodeRows(row.blob(2));
    if (table == nullptr || !rows) {
        ++accountOf(context, "packed").refused;
        return;
    }
    const auto refused = insertRows(context.output, table->name, *rows);
    if (!refused)
        done = failure(refused);
    else
        accountOf(context, table->name).refused += *refused;
}

/// Deletes rows that are not sound; how many.
Result<std::uint64_t> removeUnsound(Connection& output, ArgumentAudit& audit) {
    auto select = output.prepare("SELECT id, rank, first_id, count, data FROM arguments");
    if (!select) return failure(select);
    std::vector<std::int64_t> bad;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) break;
        const RankId rank{static_cast<std::uint32_t>(select->integer(1))};
        if (audit.check(rank, select->integer(2), select->integer(3), select->blob(4)))
            bad.push_back(select->integer(0));
    }
    for (const std::int64_t id : bad)
        if (auto done = output.execute("DELETE FROM arguments WHERE id=" + std::to_string(id));
            !done)
            return failure(done);
    return bad.size();
}

/// Rows without arguments for the ids of `run`.
Result<void> makeUp(RowWriter& rows, RankId rank, IdRun run) {
    while (run.count > 0) {
        const auto part = std::min(run.count, static_cast<std::uint32_t>(columns::kMaxChunkEvents));
        columns::ArgumentRows none;
        none.forms.push_back({});
        none.rows.assign(part, 0);
        if (auto done = rows.addArguments(rank, {run.first}, none); !done) return done;
        run.first += part;
        run.count -= part;
    }
    return {};
}

}  // namespace

bool isPacked(SalvageContext& context, const std::string& table) {
    return tableOf(table) != nullptr && context.damaged.hasTable("packed").value_or(false);
}

Result<void> salvagePackedRows(SalvageContext& context) {
    if (!context.damaged.hasTable("packed").value_or(false)) return {};
    TolerantScan scan(context.damaged,
                      "SELECT id, name, data FROM packed WHERE id BETWEEN ?1 AND ?2", "id");
    // Beyond the largest key there is nothing to look for; where it cannot be read, far out.
    const auto largest = context.damaged.integer("SELECT coalesce(max(id), -1) FROM packed");
    Result<void> done;
    scan.read(0, largest ? std::min(*largest, kFarKey) : kFarKey,
              [&](const Statement& row) { copyBlob(context, row, done); });
    if (!done) return done;
    for (const TolerantScan::Gap& gap : scan.gaps())
        accountOf(context, "packed").gaps.push_back(gapText("id", gap));
    for (const PackedTable& table : kPackedTables) {
        const auto stored =
            context.output.integer(std::string("SELECT count(*) FROM ") + table.name);
        if (!stored) return failure(stored);
        accountOf(context, table.name).copied = static_cast<std::uint64_t>(*stored);
    }
    return {};
}

Result<void> mendArguments(SalvageContext& context, RowWriter& rows) {
    auto audit = ArgumentAudit::create(context.output);
    if (!audit) return failure(audit);
    auto removed = removeUnsound(context.output, *audit);
    if (!removed) return failure(removed);
    for (SalvagedTable& account : context.account.tables) {
        if (account.name != "arguments") continue;
        account.refused += *removed;
        account.copied -= std::min(account.copied, *removed);
    }
    std::uint64_t lost = 0;
    for (const auto& [rank, runs] : context.arguments) {
        for (const IdRun& run : runs) {
            for (const IdRun& gap : audit->missing(rank, run)) {
                lost += gap.count;
                if (auto done = makeUp(rows, rank, gap); !done) return done;
            }
        }
    }
    if (lost > 0)
        context.account.notes.push_back("the arguments of " + std::to_string(lost) +
                                        " events were lost");
    return {};
}

}  // namespace shardscope::storage
