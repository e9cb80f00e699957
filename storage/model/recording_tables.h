// The tables of a recording whose rows are structs (recording.h, detail.h), each declared once, in
// recording_tables.cpp: a column for each member that is stored, in the order of the .sql files.
// What inserts, selects, sends, checks and repairs such rows follows from it
// (storage/recording/file/row_sql.h, engine/run/protocol/messages.cpp); a test holds it against the
// .sql files and FORMAT.md.
#pragma once

#include "storage/model/detail.h"
#include "storage/model/host_facts.h"
#include "storage/model/process_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/recording.h"
#include "storage/model/run_facts.h"
#include "storage/model/shape.h"
#include "storage/model/step_facts.h"

#include <tuple>

namespace shardscope {

struct TableFacts {
    const char* name = "";
    const char* order = "";  ///< in which its rows are read
    /// Column by whose values a damaged table is read piece by piece; of one rank at a time where
    /// that comes first in its primary key.
    const char* key = "rowid";
    bool keyedByRank = false;
    int since = 0;          ///< not 0: files of earlier formats lack it
    const char* more = "";  ///< columns after those of the struct, which it does not have
    /// What a row is called in sentences, with the values of columns: "step {step} of rank {rank}".
    const char* row = "";
};

struct Table : TableFacts {
    Fields columns;
};

const Table& tableOf(Of<RunFacts>);
const Table& tableOf(Of<HostFacts>);
const Table& tableOf(Of<ClockFacts>);
const Table& tableOf(Of<RankFacts>);
const Table& tableOf(Of<DeviceFacts>);
const Table& tableOf(Of<LaneFacts>);
const Table& tableOf(Of<StepFacts>);
const Table& tableOf(Of<MetricPoint>);
const Table& tableOf(Of<MemoryTheory>);
const Table& tableOf(Of<FactRow>);
const Table& tableOf(Of<ProcessFacts>);
const Table& tableOf(Of<Diagnostic>);
const Table& tableOf(Of<DetailFacts>);
/// Its columns and its peak, which the table keeps as a blob.
FieldsOf<DetailFacts> fieldsOf(Of<DetailFacts>);

template <class Row>
concept TableRow = requires {
    tableOf(Of<Row>{});
};
template <TableRow Row>
[[nodiscard]] const Table& tableOf() {
    return tableOf(Of<Row>{});
}

/// Rows that stand for themselves: of every table whose rows are structs, but for the one row of
/// `run` and for `detail`, whose rows hold a peak besides (storage/recording/file/row_sql.h).
using PlainRows = std::tuple<HostFacts, RankFacts, DeviceFacts, LaneFacts, StepFacts, MetricPoint,
                             MemoryTheory, Diagnostic, ClockFacts, FactRow, ProcessFacts>;

}  // namespace shardscope
