#include "storage/recording/salvage_parts.h"
#include "storage/recording/words.h"

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
        // Than format 1.0.
        const bool later = table == "devices" || table == "arguments" || table == "detail";
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
    context.account.notes.push_back(
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
    for (const auto& [table, key] :
         {std::pair{"hosts", "host"}, std::pair{"ranks", "rank"}, std::pair{"devices", "rank"},
          std::pair{"metrics", "rowid"}, std::pair{"diagnostics", "id"},
          std::pair{"arguments", "id"}, std::pair{"detail", "id"}})
        if (auto done = copyTable(context, table, key); !done) return done;
    for (const auto& [table, key] :
         {std::pair{"strings", "id"}, std::pair{"lanes", "lane"}, std::pair{"steps", "step"},
          std::pair{"memory_theory", "category"}})
        if (auto done = copyTable(context, table, key, ranks); !done) return done;
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
    if (auto done = copyTable(context, "collectives", "sequence", scopes); !done) return done;
    return salvagePackedRows(context);
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
    const auto outside = [](const std::string& column) {
        const std::string limit = std::to_string(std::int64_t{1} << 61);
        return column + " NOT BETWEEN -" + limit + " AND " + limit;
    };
    const std::pair<const char*, std::string> conditions[] = {
        {"ranks", foreign},
        {"devices", foreign},
        {"lanes", foreign + " OR role NOT BETWEEN 1 AND 8 OR lane NOT BETWEEN 0 AND 4294967295"},
        {"strings", foreign},
        {"arguments", foreign},
        {"detail", foreign +
                       " OR last_step < first_step OR end_ns < start_ns"
                       " OR level NOT BETWEEN 0 AND 2 OR reason NOT BETWEEN 1 AND " +
                       std::to_string(kPlaces<DetailReason> - 1) + " OR " + outside("start_ns") +
                       " OR " + outside("end_ns") + " OR removed < 0"},
        {"steps",
         foreign + " OR end_ns < start_ns OR " + outside("start_ns") + " OR " + outside("end_ns")},
        {"steps",
         "(step, rank) IN (SELECT step, rank FROM (SELECT step, rank, end_ns, lead("
         "start_ns) OVER (PARTITION BY rank ORDER BY start_ns, end_ns) AS next FROM steps)"
         " WHERE end_ns > next)"},
        {"steps",
         "(step, rank) IN (SELECT step, rank FROM (SELECT step, rank, start_ns, max("
         "end_ns) OVER (PARTITION BY rank ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED "
         "PRECEDING"
         " AND 1 PRECEDING) AS before FROM steps) WHERE before > start_ns)"},
        {"collectives",
         foreign +
             " OR end_ns < start_ns OR last_arrival_ns > end_ns OR length(arrivals) % 8 <> 0"
             " OR operation NOT IN (" +
             wordsSql<CollectiveOp>() + ") OR dtype NOT IN (" + wordsSql<DataType>() +
             ") OR cause NOT IN (" + wordsSql<Cause>() + ") OR " + outside("start_ns") + " OR " +
             outside("end_ns")},
        {"metrics", outside("time_ns")},
        {"memory_theory",
         foreign + " OR category NOT BETWEEN 0 AND " + std::to_string(kMemoryCategoryCount - 1)},
        {"diagnostics", "severity NOT BETWEEN 1 AND 3"}};
    for (const auto& [table, where] : conditions)
        if (auto done = refuse(context, table, where); !done) return done;
    return {};
}

/// Runs an INSERT OR IGNORE and says how many rows it made up.
Result<void> makeUp(SalvageContext& context, const std::string& table, const std::string& sql,
                    const std::string& what) {
    auto before = context.output.integer("SELECT count(*) FROM " + table);
    if (!before) return failure(before);
    if (auto done = context.output.execute(sql); !done) return done;
    auto after = context.output.integer("SELECT count(*) FROM " + table);
    if (!after) return failure(after);
    if (*after > *before)
        context.account.notes.push_back(std::to_string(*after - *before) + " " + what);
    return {};
}

/// Events refer to lanes and strings, collectives to strings.
Result<void> makeUpNames(SalvageContext& context) {
    std::string lanes, strings;
    for (const auto& [lane, kind] : context.lanes) {
        const bool counter = kind == EventKind::kCounter;
        const std::string id = std::to_string(lane.second.value);
        lanes += "INSERT OR IGNORE INTO lanes VALUES(" + std::to_string(lane.first.value) + "," +
                 id + "," + (counter ? "8" : "7") + ",'lane " + id + " (its name is lost)','" +
                 (counter ? "1" : "") + "'," + id + ");";
    }
    for (const auto& [rank, ids] : context.strings)
        for (const std::uint32_t id : ids)
            strings += "INSERT OR IGNORE INTO strings VALUES(" + std::to_string(rank.value) + "," +
                       std::to_string(id) + ",'(lost)');";
    for (const char* column : {"algorithm_id", "protocol_id"})
        strings += std::string("INSERT OR IGNORE INTO strings SELECT DISTINCT rank, ") + column +
                   ", '(lost)' FROM collectives WHERE " + column + " <> 0;";
    if (auto done = makeUp(context, "lanes", lanes,
                           "lanes were lost: their events lie on lanes "
                           "without a name");
        !done)
        return done;
    return makeUp(context, "strings", strings, "texts were lost and read \"(lost)\"");
}

/// A file that its writer never finished holds what had reached it: ranks count more, and nothing
/// of that was dropped or damaged.
Result<bool> wasFinalised(SalvageContext& context) {
    auto finalised = context.output.integer("SELECT finalised FROM run");
    if (!finalised) return failure(finalised);
    return *finalised != 0;
}

Result<void> countUnreceived(SalvageContext& context, std::uint32_t rank, std::int64_t stored) {
    auto counted = context.output.integer(
        "SELECT coalesce(max(emitted - dropped), 0) FROM ranks WHERE rank=" + std::to_string(rank));
    if (!counted) return failure(counted);
    std::int64_t missing = *counted - stored;
    for (const LostEvents& lost : context.account.lost)
        if (lost.rank.value == rank) missing -= static_cast<std::int64_t>(lost.events);
    if (missing > 0) context.account.unreceived += static_cast<std::uint64_t>(missing);
    return {};
}

Result<void> mendTotals(SalvageContext& context) {
    const auto finalised = wasFinalised(context);
    if (!finalised) return failure(finalised);
    context.account.finalised = *finalised;
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
        if (!*finalised) {
            if (auto done = countUnreceived(context, rank, stored); !done) return done;
            continue;
        }
        const std::string book = "UPDATE ranks SET dropped=emitted-" + std::to_string(stored) +
                                 " WHERE rank=" + id + " AND emitted-dropped > " +
                                 std::to_string(stored) + ";";
        if (auto done = context.output.execute(book); !done) return done;
    }
    return {};
}

}  // namespace

Result<void> mendRows(SalvageContext& context) {
    if (auto done = refuseImpossible(context); !done) return done;
    // A file may rightly hold few of its run's ranks: only one that something belongs to was lost.
    std::string ranks =
        "INSERT OR IGNORE INTO ranks"
        " SELECT rank,0,0,'(lost)',NULL,'lost to damage',0,0,NULL,NULL FROM (";
    for (const char* table :
         {"chunks", "collectives", "devices", "lanes", "memory_theory", "steps", "strings"})
        ranks += std::string(ranks.ends_with('(') ? "" : " UNION ") + "SELECT rank FROM " + table;
    ranks += ") WHERE rank IS NOT NULL";
    if (auto done = makeUp(context, "ranks", ranks,
                           "rows of ranks were lost: their device and "
                           "peak are unknown");
        !done)
        return done;
    const std::string hosts =
        "INSERT OR IGNORE INTO hosts SELECT DISTINCT host,'(lost)','(lost)',0,0,'',0,0 FROM ranks";
    if (auto done = makeUp(context, "hosts", hosts, "rows of hosts were lost"); !done) return done;
    if (auto done = makeUpNames(context); !done) return done;
    return mendTotals(context);
}

}  // namespace shardscope::storage
