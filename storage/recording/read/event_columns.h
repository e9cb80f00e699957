// The columns of the SQL table `events`, in the order in which it declares them (FORMAT.md).
#pragma once

#include <string>

namespace shardscope::storage {

struct EventColumn {
    enum Index : int {
        kKind,
        kRank,
        kLane,
        kLaneName,
        kRole,
        kName,
        kStart,
        kDuration,
        kEnd,
        kStep,
        kLayer,
        kPhase,
        kDepth,
        kCorrelation,
        kAction,
        kSize,
        kCategory,
        kAddress,
        kValue,
        kArguments,
        kScope,
        kPoint,
        kSpanStart
    };
};

/// "kind TEXT, rank INTEGER, ..."
[[nodiscard]] std::string eventColumnDeclaration();

}  // namespace shardscope::storage
