#include "storage/columns/row_table.h"

#include "storage/columns/byte_io.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

namespace shardscope::columns {
namespace {

using test::FailsWith;
using test::IsOk;
using test::RandomEvents;

constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
constexpr auto kMost = std::numeric_limits<std::int64_t>::max();

void addText(TableColumn& column, CellType type, const std::string& text) {
    const auto known = std::find(column.texts.begin(), column.texts.end(), text);
    column.types.push_back(type);
    column.values.push_back(known - column.texts.begin());
    if (known == column.texts.end()) column.texts.push_back(text);
}

void addRandomCell(RandomEvents& random, TableColumn& column) {
    const auto type = static_cast<CellType>(random.between(0, 4));
    if (type >= CellType::kText)
        return addText(column, type,
                       std::string(static_cast<std::size_t>(random.between(0, 9)),
                                   static_cast<char>(random.between(0, 3))));
    column.types.push_back(type);
    column.values.push_back(type == CellType::kNull ? 0
                            : random.between(0, 9) == 0
                                ? (random.between(0, 1) == 0 ? kLeast : kMost)
                                : static_cast<std::int64_t>(random.bits()));
}

RowTable randomTable(RandomEvents& random, std::size_t count, std::size_t columns) {
    RowTable table{count, {}};
    for (std::size_t i = 0; i < columns; ++i) {
        TableColumn column{"column" + std::to_string(i), {}, {}, {}};
        for (std::size_t row = 0; row < count; ++row) addRandomCell(random, column);
        table.columns.push_back(std::move(column));
    }
    return table;
}

TEST(RowTable, GivesBackRandomRows) {
    RandomEvents random(51);
    for (const std::size_t count : {1u, 2u, 100u, 3000u})
        for (const std::size_t columns : {1u, 2u, 7u, 64u}) {
            const RowTable table = randomTable(random, count, columns);
            const auto decoded = decodeRows(encodeRows(table));
            ASSERT_THAT(decoded, IsOk()) << count << " x " << columns;
            EXPECT_EQ(*decoded, table) << count << " x " << columns;
        }
}

TEST(RowTable, GivesBackAsManyRowsAsABlobHolds) {
    RandomEvents random(52);
    const RowTable table = randomTable(random, kMostPackedRows, 2);
    const auto decoded = decodeRows(encodeRows(table));
    ASSERT_THAT(decoded, IsOk());
    EXPECT_TRUE(*decoded == table);
}

/// Times of a row, each some microseconds after the one before: two bytes each, not four.
TEST(RowTable, CountsTimesFromTheColumnBefore) {
    RandomEvents random(53);
    constexpr std::size_t kRows = 1000;
    RowTable table{kRows, {{"start", {}, {}, {}}, {"end", {}, {}, {}}}};
    for (TableColumn& column : table.columns) column.types.assign(kRows, CellType::kInteger);
    for (std::size_t i = 0; i < kRows; ++i) {
        const std::int64_t start = random.between(0, std::int64_t{1} << 40);
        table.columns[0].values.push_back(start);
        table.columns[1].values.push_back(start + random.between(0, 60'000));
    }
    EXPECT_LT(encodeRows(table).size(), kRows * (5 + 2) + 400);
    EXPECT_EQ(*decodeRows(encodeRows(table)), table);
}

TEST(RowTable, RefusesAnyFlippedByte) {
    RandomEvents random(54);
    const ChunkBytes good = encodeRows(randomTable(random, 50, 4));
    for (std::size_t at = 0; at < good.size(); ++at) {
        ChunkBytes bad = good;
        bad[at] ^= static_cast<std::byte>(random.between(1, 255));
        EXPECT_FALSE(decodeRows(bad).has_value()) << at;
    }
    for (std::size_t size = 0; size < good.size(); ++size)
        EXPECT_FALSE(decodeRows(std::span(good).first(size)).has_value()) << size;
}

RowTable oneText(std::size_t rows, const std::string& text) {
    return {
        rows,
        {{"text", std::vector(rows, CellType::kText), std::vector<std::int64_t>(rows, 0), {text}}}};
}

TEST(RowTable, RefusesMoreTextThanMemoryShouldHold) {
    // One text in every row takes hardly a byte a row: a small blob can claim gigabytes.
    const ChunkBytes bytes = encodeRows(oneText(kMostPackedRows, std::string(70'000, 'x')));
    EXPECT_LT(bytes.size(), 2000u);
    EXPECT_THAT(decodeRows(bytes), FailsWith("malformed"));
    EXPECT_THAT(decodeRows(encodeRows(oneText(200, std::string(70'000, 'x')))), IsOk());
}

TEST(RowTable, RefusesTextsThatAreNotThere) {
    RowTable table = oneText(3, "a");
    for (const std::int64_t index : {std::int64_t{1}, std::int64_t{-1}, kMost}) {
        table.columns[0].values[1] = index;
        EXPECT_THAT(decodeRows(encodeRows(table)), FailsWith("malformed")) << index;
    }
    table.columns[0].values[1] = 0;
    table.columns[0].types[1] = static_cast<CellType>(5);
    EXPECT_THAT(decodeRows(encodeRows(table)), FailsWith("malformed"));
}

}  // namespace
}  // namespace shardscope::columns
