// What no row of a recording may be, declared once: `info --verify` reports it, `repair` takes such
// rows out. Most follows from the columns' types (storage/model/recording_tables.h).
#pragma once

#include "storage/model/words.h"

#include <string>
#include <vector>

namespace shardscope::storage {

struct RowRule {
    std::string broken;    ///< SQL condition of the rows that break it; NULL breaks nothing
    std::string sentence;  ///< of such a row, with {column} for values; empty: not reported
    bool taken = true;     ///< repair takes the row out; otherwise it mends it
};

struct TableRules {
    std::string table;
    std::string row;       ///< what a row is called, with {column} for values
    int since = 0;         ///< not 0: files of earlier formats lack it
    bool ofRanks = false;  ///< each row belongs to a rank, which has a row too
    std::vector<RowRule> rules;
};

/// Of all tables that rules are about.
[[nodiscard]] const std::vector<TableRules>& tableRules();

/// Names of the {columns} in a text, in their order.
[[nodiscard]] std::vector<std::string> columnsIn(const std::string& text);

// Words of enumerations as SQL writes them.

/// "'none','demand'": all words of an enumeration as SQL texts.
template <Worded Enum>
[[nodiscard]] std::string wordsSql() {
    std::string list;
    for (const auto& entry : kWords<Enum>)
        list.append(list.empty() ? "'" : ",'").append(entry.word) += '\'';
    return list;
}

}  // namespace shardscope::storage
