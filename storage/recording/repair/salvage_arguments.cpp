// Repair of the table `arguments`: unsound rows go, and what events refer to reads as nothing.
#include "storage/columns/arguments.h"
#include "storage/recording/repair/salvage_parts.h"

#include <algorithm>
#include <optional>

namespace shardscope::storage {
namespace {

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
