#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/recording/file/row_rules.h"
#include "storage/recording/file/row_sql.h"
#include "storage/recording/repair/damaged_file.h"

#include <algorithm>

namespace shardscope::storage {
namespace {

constexpr std::int64_t kFarKey = std::int64_t{1} << 32;

/// Copies one table by its key, for each of `scopes` ("rank=0 AND"; empty: all) apart.
class TableCopier {
public:
    TableCopier(SalvageContext& context, std::string table, std::string key)
        : m_context(context), m_key(std::move(key)) {
        m_account.name = std::move(table);
    }

    Result<void> copy(const std::vector<std::string>& scopes) {
        auto columns = m_context.output.columnsOf(m_account.name);
        if (!columns) return failure(columns);
        leaveOutLater(*columns);
        std::string list, marks;
        for (const std::string& column : *columns) {
            list.append(list.empty() ? "" : ", ").append(column);
            marks += marks.empty() ? "?" : ",?";
        }
        auto insert = m_context.output.prepare("INSERT OR REPLACE INTO " + m_account.name + "(" +
                                               list + ") VALUES(" + marks + ")");
        if (!insert) return failure(insert);
        const int count = static_cast<int>(columns->size());
        for (const std::string& scope : scopes)
            copyScope(
                "SELECT " + m_key + ", " + list + " FROM " + m_account.name + " WHERE " + scope,
                scope, *insert, count);
        auto stored = m_context.output.integer("SELECT count(*) FROM " + m_account.name);
        if (!stored) return failure(stored);
        m_account.copied = static_cast<std::uint64_t>(*stored);
        m_context.account.tables.push_back(m_account);
        return {};
    }

private:
    /// Columns that the damaged file's format did not have keep their defaults.
    void leaveOutLater(std::vector<std::string>& columns) {
        const auto there = m_context.damaged.columnsOf(m_account.name);
        if (!there || there->empty()) return;
        std::erase_if(columns, [&](const std::string& column) {
            return std::find(there->begin(), there->end(), column) == there->end();
        });
    }

    void copyScope(const std::string& select, const std::string& scope, Statement& insert,
                   int columns) {
        TolerantScan scan(m_context.damaged, select + m_key + " BETWEEN ?1 AND ?2", m_key);
        // Beyond the largest key there is nothing to look for; where it cannot be read, far out.
        const auto largest = m_context.damaged.integer(
            "SELECT coalesce(max(" + m_key + "), -1) FROM " + m_account.name +
            (scope.empty() ? std::string() : " WHERE " + scope + " 1"));
        const std::int64_t high = largest ? std::min(*largest, kFarKey) : kFarKey;
        scan.read(0, high, [&](const Statement& row) {
            for (int i = 0; i < columns; ++i) insert.bindColumn(i + 1, row, i + 1);
            if (!insert.run()) ++m_account.refused;
        });
        for (const TolerantScan::Gap& gap : scan.gaps()) {
            std::string place = scope;
            if (const auto at = place.rfind(" AND"); at != std::string::npos) place.resize(at);
            if (!place.empty()) place += ": ";
            m_account.gaps.push_back(place.append(gapText(m_key, gap)));
        }
    }

    SalvageContext& m_context;
    std::string m_key;
    SalvagedTable m_account;
};

Result<void> copyTable(SalvageContext& context, const std::string& table, const std::string& key,
                       const std::vector<std::string>& scopes = {""}) {
    if (!context.damaged.hasTable(table).value_or(false)) {
        const auto rules = std::find_if(tableRules().begin(), tableRules().end(),
                                        [&](const TableRules& one) { return one.table == table; });
        const bool later = rules != tableRules().end() && rules->since > 0;
        if (!later && !isPacked(context, table))
            context.account.notes.push_back("the table " + table +
                                            " is lost: its description is damaged");
        return {};
    }
    return TableCopier(context, table, key).copy(scopes);
}

std::vector<std::string> scopesOf(const std::set<std::uint32_t>& ranks,
                                  const std::string& more = "") {
    std::vector<std::string> scopes;
    for (const std::uint32_t rank : ranks)
        scopes.push_back("rank=" + std::to_string(rank) + " AND " + more);
    return scopes;
}

/// Ranks of the run that rows may belong to.
Result<void> findRanks(SalvageContext& context) {
    constexpr std::int64_t kManyRanks = 65'536;
    auto world = context.output.integer("SELECT coalesce(max(world_size), 0) FROM run");
    if (!world) return failure(world);
    const std::int64_t seen = context.ranks.empty() ? 0 : std::int64_t{*context.ranks.rbegin()} + 1;
    if (*world < seen || *world > std::max(seen, std::int64_t{1}) * 64 || *world > kManyRanks)
        *world = std::max(seen, std::int64_t{1});
    for (std::int64_t rank = 0; rank < *world; ++rank)
        context.ranks.insert(static_cast<std::uint32_t>(rank));
    return context.output.execute("UPDATE run SET world_size=" + std::to_string(*world));
}

/// The run's own row; the writer of `output` has put a stand-in there.
Result<void> copyRun(SalvageContext& context) {
    auto set =
        context.output.execute("CREATE TEMP TABLE stand_in AS SELECT * FROM run; DELETE FROM run");
    if (!set) return set;
    if (auto copied = copyTable(context, "run", "rowid"); !copied) return copied;
    auto runs = context.output.integer("SELECT count(*) FROM run");
    if (!runs) return failure(runs);
    if (*runs > 1)
        return context.output.execute("DELETE FROM run WHERE rowid > (SELECT min(rowid) FROM run)");
    if (*runs == 1) return {};
    context.account.notes.emplace_back(
        "the run's own row is lost: its id, command line and "
        "configuration are stand-ins");
    return context.output.execute("INSERT INTO run SELECT * FROM stand_in");
}

}  // namespace

std::string gapText(const std::string& key, const TolerantScan::Gap& gap) {
    std::string text = key + " " + std::to_string(gap.from);
    if (gap.to >= kFarKey) return text + " and above";
    return gap.to == gap.from ? text : text + " to " + std::to_string(gap.to);
}

Result<void> salvageRows(SalvageContext& context) {
    if (auto done = copyRun(context); !done) return done;
    if (auto done = findRanks(context); !done) return done;
    const auto ranks = scopesOf(context.ranks);
    const auto copy = [&](const TableFacts& table) {
        return table.keyedByRank ? copyTable(context, table.name, table.key, ranks)
                                 : copyTable(context, table.name, table.key);
    };
    constexpr TableFacts kStrings{.name = "strings", .key = "id", .keyedByRank = true};
    constexpr TableFacts kArguments{.name = "arguments", .key = "id"};
    Result<void> done;
    std::apply(
        [&]<class... Row>(const Row&...) {
            static_cast<void>(((done = copy(tableOf<Row>()), done) && ...));
        },
        PlainRows());
    for (const TableFacts& table : {TableFacts(tableOf<DetailFacts>()), kStrings, kArguments})
        if (done) done = copy(table);
    if (!done) return done;
    // Groups by whatever can be read of them; the world is there always.
    std::set<std::int64_t> groups{0};
    for (const std::uint32_t rank : context.ranks) {
        TolerantScan scan(context.damaged,
                          "SELECT DISTINCT group_id FROM collectives WHERE rank=" +
                              std::to_string(rank) + " AND group_id BETWEEN ?1 AND ?2",
                          "group_id");
        scan.read(0, kFarKey, [&](const Statement& row) { groups.insert(row.integer(0)); });
    }
    std::vector<std::string> scopes;
    for (const std::int64_t group : groups)
        for (const std::string& scope :
             scopesOf(context.ranks, "group_id=" + std::to_string(group) + " AND "))
            scopes.push_back(scope);
    done = copyTable(context, "collectives", "sequence", scopes);
    return done ? salvagePackedRows(context) : done;
}

namespace {

/// Deletes what a condition names and counts it as refused.
Result<void> refuse(SalvageContext& context, const std::string& table, const std::string& where) {
    const std::string sql = " FROM " + table + " WHERE " + where;
    auto bad = context.output.integer("SELECT count(*)" + sql);
    if (!bad) return failure(bad);
    if (*bad == 0) return {};
    for (SalvagedTable& account : context.account.tables) {
        if (account.name != table) continue;
        account.refused += static_cast<std::uint64_t>(*bad);
        account.copied -= std::min(account.copied, static_cast<std::uint64_t>(*bad));
    }
    return context.output.execute("DELETE" + sql);
}

Result<void> refuseImpossible(SalvageContext& context) {
    std::string ranks;
    for (const std::uint32_t rank : context.ranks)
        ranks.append(ranks.empty() ? "" : ",").append(std::to_string(rank));
    const std::string foreign = "rank NOT IN (" + ranks + ")";
    for (const TableRules& table : tableRules()) {
        if (table.ofRanks || table.table == "ranks")
            if (auto done = refuse(context, table.table, foreign); !done) return done;
        for (const RowRule& rule : table.rules)
            if (rule.taken)
                if (auto done = refuse(context, table.table, rule.broken); !done) return done;
    }
    return {};
}

/// Adds rows that are not there, and says how many it made up.
template <TableRow Row>
Result<void> makeUp(SalvageContext& context, const std::vector<Row>& rows,
                    const std::string& what) {
    const std::string count = std::string("SELECT count(*) FROM ") + tableOf<Row>().name;
    const auto before = context.output.integer(count);
    if (!before) return failure(before);
    auto insert = context.output.prepare(insertSql(tableOf<Row>(), "INSERT OR IGNORE"));
    if (!insert) return failure(insert);
    for (const Row& row : rows)
        if (auto done = bindRow(*insert, row).run(); !done) return done;
    const auto after = context.output.integer(count);
    if (!after) return failure(after);
    if (*after > *before)
        context.account.notes.push_back(std::to_string(*after - *before) + " " + what);
    return {};
}

Result<std::vector<std::int64_t>> integersOf(Connection& connection, const std::string& sql) {
    auto select = connection.prepare(sql);
    if (!select) return failure(select);
    std::vector<std::int64_t> all;
    while (true) {
        auto row = select->step();
        if (!row) return failure(row);
        if (!*row) return all;
        all.push_back(select->integer(0));
    }
}

/// A file may rightly hold few of its run's ranks: only one that something belongs to was lost.
Result<void> makeUpRanks(SalvageContext& context) {
    std::string sql = "SELECT rank FROM chunks";
    for (const TableRules& table : tableRules())
        if (table.ofRanks) sql += " UNION SELECT rank FROM " + table.table;
    const auto ranks = integersOf(context.output, sql);
    if (!ranks) return failure(ranks);
    std::vector<RankFacts> lost;
    for (const std::int64_t rank : *ranks) {
        RankFacts& facts = lost.emplace_back();
        facts.rank = {static_cast<std::uint32_t>(rank)};
        facts.device = "(lost)";
        facts.peakSource = "lost to damage";
    }
    return makeUp(context, lost, "rows of ranks were lost: their device and peak are unknown");
}

Result<void> makeUpHosts(SalvageContext& context) {
    const auto hosts = integersOf(context.output, "SELECT DISTINCT host FROM ranks");
    if (!hosts) return failure(hosts);
    std::vector<HostFacts> lost;
    for (const std::int64_t host : *hosts) {
        HostFacts& facts = lost.emplace_back();
        facts.host = static_cast<std::int32_t>(host);
        facts.name = facts.cpu = "(lost)";
    }
    return makeUp(context, lost, "rows of hosts were lost");
}

/// Events refer to lanes.
Result<void> makeUpLanes(SalvageContext& context) {
    std::vector<LaneFacts> lost;
    for (const auto& [lane, kind] : context.lanes) {
        const bool counter = kind == EventKind::kCounter;
        const std::uint32_t id = lane.second.value;
        lost.push_back({lane.first, lane.second, counter ? LaneRole::kCounter : LaneRole::kRange,
                        "lane " + std::to_string(id) + " (its name is lost)", counter ? "1" : "",
                        static_cast<std::int32_t>(id)});
    }
    return makeUp(context, lost, "lanes were lost: their events lie on lanes without a name");
}

/// Events refer to strings, and collectives.
Result<void> makeUpStrings(SalvageContext& context) {
    const auto count = [&] { return context.output.integer("SELECT count(*) FROM strings"); };
    const auto before = count();
    if (!before) return failure(before);
    auto insert = context.output.prepare("INSERT OR IGNORE INTO strings VALUES(?, ?, '(lost)')");
    if (!insert) return failure(insert);
    for (const auto& [rank, ids] : context.strings)
        for (const std::uint32_t id : ids) {
            auto done = insert->bind(1, std::int64_t{rank.value}).bind(2, std::int64_t{id}).run();
            if (!done) return done;
        }
    for (const char* column : {"algorithm_id", "protocol_id"}) {
        auto done = context.output.execute(
            std::string("INSERT OR IGNORE INTO strings SELECT DISTINCT rank, ") + column +
            ", '(lost)' FROM collectives WHERE " + column + " <> 0");
        if (!done) return done;
    }
    const auto after = count();
    if (!after) return failure(after);
    if (*after > *before)
        context.account.notes.push_back(std::to_string(*after - *before) +
                                        " texts were lost and read \"(lost)\"");
    return {};
}

/// A file that its writer never finished holds what had reached it: ranks count more, and nothing
/// of that was dropped or damaged.
Result<bool> wasFinalised(SalvageContext& context) {
    auto finalised = context.output.integer("SELECT finalised FROM run");
    if (!finalised) return failure(finalised);
    return *finalised != 0;
}

Result<bool> endedWell(SalvageContext& context) {
    auto status = context.output.integer("SELECT status FROM run");
    if (!status) return failure(status);
    return *status == static_cast<std::int64_t>(RunStatus::kFinished) ||
           *status == static_cast<std::int64_t>(RunStatus::kStopped);
}

/// Of the events in chunks that are damaged.
std::uint64_t damagedOf(const SalvageContext& context, std::uint32_t rank) {
    std::uint64_t sum = 0;
    for (const LostEvents& lost : context.account.lost)
        if (lost.rank.value == rank) sum += lost.events;
    return sum;
}

/// Adds what a rank counted and what was not found of it.
Result<void> countMissing(SalvageContext& context, std::uint32_t rank, std::int64_t stored,
                          std::uint64_t& sum) {
    auto counted = context.output.integer(
        "SELECT coalesce(max(emitted - dropped), 0) FROM ranks WHERE rank=" + std::to_string(rank));
    if (!counted) return failure(counted);
    const std::int64_t missing =
        *counted - stored - static_cast<std::int64_t>(damagedOf(context, rank));
    if (missing > 0) sum += static_cast<std::uint64_t>(missing);
    return {};
}

Result<void> mendTotals(SalvageContext& context) {
    const auto finalised = wasFinalised(context);
    if (!finalised) return failure(finalised);
    context.account.finalised = *finalised;
    const auto orderly = endedWell(context);
    if (!orderly) return failure(orderly);
    for (const std::uint32_t rank : context.ranks) {
        const std::string id = std::to_string(rank);
        auto collectives =
            context.output.integer("SELECT count(*) FROM collectives WHERE rank=" + id);
        if (!collectives) return failure(collectives);
        // What was taken out on purpose is no loss.
        auto removed =
            context.output.integer("SELECT coalesce(sum(removed), 0) FROM detail WHERE rank=" + id);
        if (!removed) return failure(removed);
        const auto stored =
            static_cast<std::int64_t>(context.events[{rank}]) + *collectives + *removed;
        const std::string sql = "UPDATE ranks SET emitted=" + std::to_string(stored) +
                                ", dropped=0 WHERE rank=" + id +
                                " AND (dropped NOT BETWEEN 0 AND emitted)";
        if (auto done = context.output.execute(sql); !done) return done;
        std::uint64_t& missing = *finalised ? context.account.missed : context.account.unreceived;
        if (auto done = countMissing(context, rank, stored, missing); !done) return done;
        if (!*finalised) continue;
        // What never came into the file stays counted as such; a run that ended well says that all
        // came, so that it was lost with the file.
        const std::string book =
            "UPDATE ranks SET dropped=" +
            (*orderly ? "emitted-" + std::to_string(stored)
                      : "min(emitted-" + std::to_string(stored) + ", dropped+" +
                            std::to_string(damagedOf(context, rank)) + ")") +
            " WHERE rank=" + id + " AND emitted-dropped > " + std::to_string(stored) + ";";
        if (auto done = context.output.execute(book); !done) return done;
    }
    return {};
}

}  // namespace

Result<void> mendRows(SalvageContext& context) {
    for (const auto mend :
         {refuseImpossible, makeUpRanks, makeUpHosts, makeUpLanes, makeUpStrings, mendTotals})
        if (auto done = mend(context); !done) return done;
    return {};
}

}  // namespace shardscope::storage
