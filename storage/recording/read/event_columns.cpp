#include "storage/recording/read/event_columns.h"

#include <array>
#include <cstddef>

namespace shardscope::storage {
namespace {

using enum EventColumn::Index;

struct Declared {
    EventColumn::Index column;
    const char* text;
};

constexpr std::array kColumns{
    Declared{kKind, "kind TEXT"},
    Declared{kRank, "rank INTEGER"},
    Declared{kLane, "lane INTEGER"},
    Declared{kLaneName, "lane_name TEXT"},
    Declared{kRole, "role TEXT"},
    Declared{kName, "name TEXT"},
    Declared{kStart, "start_ns INTEGER"},
    Declared{kDuration, "duration_ns INTEGER"},
    Declared{kEnd, "end_ns INTEGER"},
    Declared{kStep, "step INTEGER"},
    Declared{kLayer, "layer INTEGER"},
    Declared{kPhase, "phase TEXT"},
    Declared{kDepth, "depth INTEGER"},
    Declared{kCorrelation, "correlation INTEGER"},
    Declared{kAction, "action TEXT"},
    Declared{kSize, "size_bytes INTEGER"},
    Declared{kCategory, "category TEXT"},
    Declared{kAddress, "address INTEGER"},
    Declared{kValue, "value REAL"},
    Declared{kArguments, "arguments TEXT"},
    Declared{kScope, "scope TEXT"},
    Declared{kPoint, "point TEXT"},
    Declared{kSpanStart, "span_start_ns INTEGER"},
};

constexpr bool standWhereTheyAreNumbered() {
    for (std::size_t at = 0; at < kColumns.size(); ++at)
        if (static_cast<std::size_t>(kColumns[at].column) != at) return false;
    return kColumns.size() == std::size_t{kSpanStart} + 1;
}
static_assert(standWhereTheyAreNumbered(), "SQLite knows columns by their positions");

}  // namespace

std::string eventColumnDeclaration() {
    std::string all;
    for (const Declared& column : kColumns) {
        if (!all.empty()) all += ", ";
        all += column.text;
    }
    return all;
}

}  // namespace shardscope::storage
