#include "storage/recording/write/row_writer.h"

#include <span>

namespace shardscope::storage {
namespace {

enum Insert : std::size_t {
    kString,
    kArguments,
    kLibraries,
    kRun,
    kFinish,
    kRemoveSteps,
    kRemoveHost,
    kRemoveFacts,
    kRemoveProcesses
};

bool isOfTheEnd(const Field& column) {
    const std::string_view name = column.name;
    return name == "status" || name == "ended_ns";
}

/// Of the run's one row.
std::string updateRunSql() {
    std::string sets;
    for (const Field& column : tableOf<RunFacts>().columns.list)
        if (!isOfTheEnd(column))
            sets.append(sets.empty() ? "" : ", ").append(column.name).append("=?");
    return "UPDATE run SET " + sets;
}

std::vector<std::string> statements() {
    return {"INSERT OR REPLACE INTO strings VALUES(?,?,?)",
            "INSERT INTO arguments(rank, first_id, count, bytes, data) VALUES(?,?,?,?,?)",
            "UPDATE run SET libraries_json=?",
            updateRunSql(),
            "UPDATE run SET status=?, ended_ns=?, finalised=?",
            "DELETE FROM steps WHERE rank=?",
            "DELETE FROM hosts WHERE host=?",
            "DELETE FROM facts WHERE host=?",
            "DELETE FROM processes WHERE host=?"};
}

template <class... Row>
std::vector<std::string> insertsOf(std::tuple<Row...>*) {
    return {insertSql(tableOf<Row>())...};
}

Result<std::vector<Statement>> prepared(Connection& connection,
                                        const std::vector<std::string>& all) {
    std::vector<Statement> statements;
    for (const std::string& sql : all) {
        auto statement = connection.prepare(sql);
        if (!statement) return failure(statement);
        statements.push_back(std::move(*statement));
    }
    return statements;
}

}  // namespace

Result<RowWriter> RowWriter::create(Connection& connection) {
    RowWriter writer;
    auto rows = prepared(connection, insertsOf(static_cast<PlainRows*>(nullptr)));
    auto others = prepared(connection, statements());
    if (!rows || !others) return rows ? failure(others) : failure(rows);
    writer.m_rows = std::move(*rows);
    writer.m_statements = std::move(*others);
    return writer;
}

Result<void> RowWriter::putLibraries(const std::string& librariesJson) {
    return m_statements[kLibraries].bind(1, librariesJson).run();
}

Result<void> RowWriter::putRun(const RunFacts& run) {
    Statement& update = m_statements[kRun];
    int index = 0;
    for (const Field& column : tableOf<RunFacts>().columns.list)
        if (!isOfTheEnd(column)) cell::bind(update, ++index, *column.shape, column.in(&run));
    return update.run();
}

Result<void> RowWriter::removeSteps(RankId rank) {
    return m_statements[kRemoveSteps].bind(1, std::int64_t{rank.value}).run();
}

Result<void> RowWriter::removeHost(std::int32_t host) {
    for (const Insert of : {kRemoveFacts, kRemoveProcesses})
        if (auto done = m_statements[of].bind(1, std::int64_t{host}).run(); !done) return done;
    return m_statements[kRemoveHost].bind(1, std::int64_t{host}).run();
}

Result<void> RowWriter::addStrings(RankId rank, StringId first,
                                   const std::vector<std::string>& texts) {
    std::int64_t id = first.value;
    for (const std::string& text : texts) {
        auto done = m_statements[kString]
                        .bind(1, std::int64_t{rank.value})
                        .bind(2, id++)
                        .bind(3, text)
                        .run();
        if (!done) return done;
    }
    return {};
}

Result<void> RowWriter::addArguments(RankId rank, StringId first,
                                     const columns::ArgumentRows& rows) {
    const columns::ChunkBytes bytes = columns::encodeArguments(rows);
    return m_statements[kArguments]
        .bind(1, std::int64_t{rank.value})
        .bind(2, std::int64_t{first.value})
        .bind(3, static_cast<std::int64_t>(rows.rows.size()))
        .bind(4, static_cast<std::int64_t>(bytes.size()))
        .bind(5, std::span<const std::byte>(bytes))
        .run();
}

Result<void> RowWriter::finishRun(RunStatus status, Timestamp ended, bool whole) {
    return m_statements[kFinish]
        .bind(1, static_cast<std::int64_t>(status))
        .bind(2, ended.ns)
        .bind(3, std::int64_t{whole ? 1 : 0})
        .run();
}

}  // namespace shardscope::storage
