#include "storage/recording/read/event_columns.h"

#include "storage/recording/file/packed_rows.h"

#include <algorithm>
#include <string>
#include <vector>

namespace shardscope::storage {
namespace {

/// In front of the names of tables that `packed` holds: the plain names are views.
constexpr const char* kUnpacked = "shardscope_unpacked_";

constexpr const char* kViews =
    "CREATE TEMP VIEW IF NOT EXISTS operators AS SELECT rank, lane, name, start_ns, duration_ns, "
    "end_ns, step,"
    " layer, phase, depth, correlation, arguments FROM events WHERE kind='span' AND role='host';"
    "CREATE TEMP VIEW IF NOT EXISTS phases AS SELECT rank, lane, name, phase, layer, step, "
    "start_ns, duration_ns,"
    " end_ns FROM events WHERE kind='span' AND role='compute' AND correlation=0;"
    "CREATE TEMP VIEW IF NOT EXISTS kernels AS SELECT rank, lane, name, start_ns, duration_ns, "
    "end_ns, step,"
    " layer, phase, correlation, arguments FROM events"
    " WHERE kind='span' AND role='compute' AND correlation<>0;"
    "CREATE TEMP VIEW IF NOT EXISTS memory_events AS SELECT rank, start_ns AS time_ns, action, "
    "size_bytes,"
    " category, address, name AS owner, step, layer, phase, arguments FROM events"
    " WHERE kind='memory';"
    "CREATE TEMP VIEW IF NOT EXISTS flows AS SELECT rank, lane, lane_name, name, category,"
    " correlation AS id, point, start_ns AS time_ns, span_start_ns, step, arguments FROM events"
    " WHERE kind='flow';"
    "CREATE TEMP VIEW IF NOT EXISTS instants AS SELECT rank, lane, lane_name, name,"
    " start_ns AS time_ns, scope, step, arguments FROM events WHERE kind='instant';"
    "CREATE TEMP VIEW IF NOT EXISTS counters AS SELECT rank, lane, lane_name AS name, start_ns AS "
    "time_ns, value"
    " FROM events WHERE kind='counter';"
    "CREATE TEMP VIEW IF NOT EXISTS steps AS SELECT s.*, s.end_ns - s.start_ns AS duration_ns"
    " FROM main.steps s;";

/// Where `table` is: in the file, or unpacked.
std::string placeOf(const std::vector<std::string>& unpacked, const std::string& table) {
    const std::string hidden = kUnpacked + table;
    const bool packed = std::find(unpacked.begin(), unpacked.end(), hidden) != unpacked.end();
    return packed ? "temp." + hidden : "main." + table;
}

/// Those of an earlier load may look where nothing is any more: the run has ended since.
Result<void> dropOwnViews(Connection& connection) {
    for (const std::string view : {"collectives", "strings"}) {
        const auto own = connection.integer(
            "SELECT count(*) FROM sqlite_temp_master WHERE type='view' AND name='" + view +
            "' AND sql LIKE '%/* of Shardscope */%'");
        if (!own) return failure(own);
        if (*own == 0) continue;
        if (auto done = connection.execute("DROP VIEW temp." + view); !done) return done;
    }
    return {};
}

}  // namespace

Result<void> addEventViews(Connection& connection) {
    if (auto dropped = dropOwnViews(connection); !dropped) return dropped;
    const auto unpacked = unpackRows(connection, kUnpacked);
    if (!unpacked) return failure(unpacked);
    const std::string strings = placeOf(*unpacked, "strings");
    std::string sql = kViews;
    sql +=
        "CREATE TEMP VIEW IF NOT EXISTS collectives AS /* of Shardscope */"
        " SELECT c.*, c.end_ns - c.start_ns AS"
        " duration_ns, max(c.last_arrival_ns - c.start_ns, 0) AS waiting_ns, a.text AS"
        " algorithm, p.text AS protocol FROM " +
        placeOf(*unpacked, "collectives") + " c LEFT JOIN " + strings +
        " a ON a.rank=c.rank AND a.id=c.algorithm_id LEFT JOIN " + strings +
        " p ON p.rank=c.rank AND p.id=c.protocol_id;"
        "CREATE TEMP VIEW IF NOT EXISTS strings AS /* of Shardscope */ SELECT * FROM " +
        strings;
    return connection.execute(sql);
}

}  // namespace shardscope::storage
