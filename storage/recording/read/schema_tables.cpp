#include "storage/recording/read/schema_tables.h"

#include <algorithm>

namespace shardscope::storage {

Result<std::vector<SchemaTable>> readSchema(RecordingReader& reader) {
    const auto rows = reader.query(
        "SELECT m.name, p.name FROM (SELECT name FROM sqlite_master WHERE type IN ('table', "
        "'view') UNION SELECT name FROM sqlite_temp_master WHERE type IN ('table', 'view') "
        "UNION SELECT 'events') m, "  // a virtual table that no schema lists
        "pragma_table_info(m.name) p ORDER BY m.name, p.cid");
    if (!rows) return failure(rows);
    std::vector<SchemaTable> tables;
    for (const auto& row : rows->rows) {
        const std::string name = row[0].value_or("");
        if (name.starts_with("sqlite_")) continue;
        if (tables.empty() || tables.back().name != name) tables.push_back({name, {}});
        auto& columns = tables.back().columns;
        // a view over the file's table of that name has its columns once more
        const std::string column = row[1].value_or("");
        if (std::find(columns.begin(), columns.end(), column) == columns.end())
            columns.push_back(column);
    }
    return tables;
}

}  // namespace shardscope::storage
