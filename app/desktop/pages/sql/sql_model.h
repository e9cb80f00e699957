// Questions in SQL about the open recording: its schema, answers as tables and curves, queries to
// begin with and those that the user keeps. Pure, but for readSchema() and askSql() (loader thread)
// and the kept queries (settings file, GUI thread).
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/table_model.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

#include <QString>
#include <QStringList>
#include <map>
#include <memory>
#include <vector>

namespace shardscope::desktop {

struct SchemaTable {
    QString name;
    QStringList columns;
};
/// Tables of the file, and the views of events (storage/schema/FORMAT.md), by name.
[[nodiscard]] Result<std::vector<SchemaTable>> readSchema(storage::RecordingReader& reader);

/// Rows of an answer that are shown; those beyond are not read.
inline constexpr std::uint64_t kMostSqlRows = 100'000;

struct SqlAnswer {
    std::vector<TableColumn> columns;
    TableRows rows;
    bool cut = false;    ///< there are more rows
    double seconds = 0;  ///< it took
    QString error;       ///< of the statement, a sentence; columns and rows are empty then

    /// Columns that hold numbers.
    [[nodiscard]] std::vector<int> numbers() const;
};
using SqlAnswerPtr = std::shared_ptr<const SqlAnswer>;

/// `:begin_ns` and `:end_ns` of a statement become the time of what is selected.
[[nodiscard]] QString withSelection(const QString& sql, TimeRange selected);
/// What went wrong is part of the answer; kCancelled: a newer one was asked, or none is wanted.
[[nodiscard]] Result<SqlAnswerPtr> askSql(storage::RecordingReader& reader, const QString& sql,
                                          const storage::Generation& generation);
/// Over a column of numbers, by it. Rows without a number in either are left out.
[[nodiscard]] LineSeries curveOf(const SqlAnswer& answer, int x, int y);

/// By name.
using Queries = std::map<QString, QString>;
/// Those that come with the program.
[[nodiscard]] const Queries& exampleQueries();
/// `file`: an ini file; empty: none are kept.
[[nodiscard]] Queries keptQueries(const QString& file);
void keepQueries(const QString& file, const Queries& queries);

}  // namespace shardscope::desktop
