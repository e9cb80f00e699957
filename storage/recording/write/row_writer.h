// Inserts the small things of a recording. Part of the writer.
#pragma once

#include "storage/columns/arguments.h"
#include "storage/model/recording.h"
#include "storage/recording/file/row_sql.h"

#include <string>
#include <tuple>
#include <vector>

namespace shardscope::storage {

class RowWriter {
public:
    /// `connection` must outlive it.
    static Result<RowWriter> create(Connection& connection);

    Result<void> putLibraries(const std::string& librariesJson);
    /// All but its status and end.
    Result<void> putRun(const RunFacts& run);
    /// Of any table whose rows are structs; replaces the row with the same primary key.
    template <TableRow Row>
    Result<void> put(const Row& row) {
        constexpr std::size_t index = indexOf<Row>(static_cast<PlainRows*>(nullptr));
        return bindRow(m_rows[index], row).run();
    }
    Result<void> removeSteps(RankId rank);
    Result<void> removeHost(std::int32_t host);
    Result<void> addStrings(RankId rank, StringId first, const std::vector<std::string>& texts);
    Result<void> addArguments(RankId rank, StringId first, const columns::ArgumentRows& rows);
    /// Not `whole`: the run ended properly, but its recording lost something on the way.
    Result<void> finishRun(RunStatus status, Timestamp ended, bool whole);

private:
    RowWriter() = default;

    template <class Row, class... All>
    static constexpr std::size_t indexOf(std::tuple<All...>*) {
        std::size_t index = 0;
        static_cast<void>(((std::is_same_v<Row, All> || (++index, false)) || ...));
        static_assert((std::is_same_v<Row, All> || ...), "not a row of its own");
        return index;
    }

    std::vector<Statement> m_rows;        ///< by PlainRows
    std::vector<Statement> m_statements;  ///< by Insert
};

}  // namespace shardscope::storage
