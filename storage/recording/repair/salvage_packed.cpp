#include "storage/recording/file/packed_rows.h"
#include "storage/recording/repair/salvage_parts.h"

#include <algorithm>

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

}  // namespace shardscope::storage
