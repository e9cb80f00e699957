
#include "storage/recording/events_table.h"
#include "storage/recording/local_reader.h"
#include "storage/recording/open_connection.h"

namespace shardscope::storage {
namespace {

std::optional<std::string> cellText(const Statement& row, int column) {
    if (row.isNull(column)) return std::nullopt;
    return std::string(row.text(column));
}

}  // namespace

Result<TableResult> LocalReader::query(const std::string& sql) {
    // A connection of its own: the authorizer and the views are nothing for other calls.
    auto connection = openReadingConnection(m_path);
    if (!connection) return failure(connection);
    // Chunks as one state of the file has them, also while its writer goes on.
    if (auto begun = connection->execute("BEGIN"); !begun) return failure(begun);
    if (auto refreshed = m_events.refresh(*connection); !refreshed) return failure(refreshed);
    if (auto added = addEventsTable(*connection, m_events); !added) return failure(added);
    connection->refuseWrites();
    auto statement = connection->prepare(sql);
    if (!statement) return failure(statement, "SQL");
    TableResult table;
    for (int column = 0; column < statement->columnCount(); ++column)
        table.columns.push_back(statement->columnName(column));
    while (true) {
        auto row = statement->step();
        if (!row) return failure(row, "SQL");
        if (!*row) return table;
        auto& cells = table.rows.emplace_back();
        for (int column = 0; column < statement->columnCount(); ++column)
            cells.push_back(cellText(*statement, column));
    }
}

}  // namespace shardscope::storage
