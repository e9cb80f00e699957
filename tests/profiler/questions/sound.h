// What holds of an answer whatever was asked of whatever.
#pragma once

#include "profiler/questions/answer/answer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace shardscope::test {

inline void expectSound(const questions::Column& column, const questions::Cell& cell) {
    using questions::Unit;
    const auto* real = cell.real();
    const auto* integer = cell.integer();
    if (real == nullptr && integer == nullptr) return;
    const double value = real != nullptr ? *real : static_cast<double>(*integer);
    EXPECT_TRUE(std::isfinite(value)) << column.key;
    const bool isSigned = column.unit == Unit::kSignedBytes ||
                          column.unit == Unit::kSignedNanoseconds || column.unit == Unit::kChange;
    if (column.unit != Unit::kNone && column.unit != Unit::kOfRow && !isSigned) {
        EXPECT_GE(value, 0) << column.key;
    }
    if (column.unit == Unit::kPercent) {
        EXPECT_LE(value, 100 + 1e-9) << column.key;
    }
}

/// Something is said; every row has a cell for each column; no number is none, no share above
/// 100 %, no time below zero; and nobody says that all is well.
inline void expectSound(const questions::Answer& answer) {
    EXPECT_FALSE(answer.saysNothing());
    for (const questions::Figure& figure : answer.figures) expectSound(figure.what, figure.value);
    for (const questions::Table& table : answer.tables)
        for (const auto& row : table.rows) {
            ASSERT_EQ(row.size(), table.columns.size()) << table.key;
            for (std::size_t c = 0; c < row.size(); ++c) expectSound(table.columns[c], row[c]);
        }
    for (const std::string& sentence : answer.sentences) {
        EXPECT_EQ(sentence.find("nan"), std::string::npos) << sentence;
        EXPECT_EQ(sentence.find("no problem"), std::string::npos) << sentence;
    }
}

}  // namespace shardscope::test
