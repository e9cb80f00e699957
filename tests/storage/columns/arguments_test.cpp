#include "storage/columns/arguments.h"

#include "storage/columns/byte_io.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace shardscope::columns {
namespace {

using test::FailsWith;
using test::IsOk;
using test::RandomEvents;

ArgumentRows randomRows(RandomEvents& random, std::size_t count) {
    ArgumentRows rows;
    const auto forms = std::min(count, static_cast<std::size_t>(random.between(1, 6)));
    for (std::size_t i = 0; i < forms; ++i)
        rows.forms.push_back({{static_cast<std::uint32_t>(i)},
                              i == 0 ? 0u : static_cast<std::uint32_t>(random.between(0, 12))});
    for (std::size_t i = 0; i < count; ++i) {
        const auto form =
            static_cast<std::uint32_t>(random.between(0, static_cast<std::int64_t>(forms) - 1));
        rows.rows.push_back(form);
        for (std::uint32_t value = 0; value < rows.forms[form].count; ++value)
            rows.values.push_back(value % 3 == 0   ? static_cast<std::int64_t>(random.bits())
                                  : value % 3 == 1 ? static_cast<std::int64_t>(i)
                                                   : random.between(-3, 3));
    }
    return rows;
}

TEST(Arguments, GiveBackRandomRows) {
    RandomEvents random(31);
    for (const std::size_t count : {1u, 2u, 100u, 1023u, 5000u, 65'536u}) {
        const ArgumentRows rows = randomRows(random, count);
        const auto decoded = decodeArguments(encodeArguments(rows));
        ASSERT_THAT(decoded, IsOk()) << count;
        EXPECT_EQ(*decoded, rows) << count;
    }
}

TEST(Arguments, GiveBackExtremeValues) {
    constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    const ArgumentRows rows{{{{5}, 2}}, {0, 0, 0}, {kLeast, kMost, kMost, kLeast, 0, -1}};
    const auto decoded = decodeArguments(encodeArguments(rows));
    ASSERT_THAT(decoded, IsOk());
    EXPECT_EQ(*decoded, rows);
}

TEST(Arguments, CountingUpCostsNothing) {
    ArgumentRows rows{{{{1}, 3}}, std::vector<std::uint32_t>(10'000, 0), {}};
    for (std::int64_t i = 0; i < 10'000; ++i)
        rows.values.insert(rows.values.end(), {1'000'000 + i, 17, 2 * i});
    EXPECT_LT(encodeArguments(rows).size(), 200u);
}

TEST(Arguments, RefuseAnyFlippedByte) {
    RandomEvents random(32);
    const ChunkBytes good = encodeArguments(randomRows(random, 300));
    for (std::size_t at = 0; at < good.size(); ++at) {
        ChunkBytes bad = good;
        bad[at] ^= static_cast<std::byte>(random.between(1, 255));
        EXPECT_FALSE(decodeArguments(bad).has_value()) << at;
    }
    for (std::size_t size = 0; size < good.size(); ++size)
        EXPECT_FALSE(decodeArguments(std::span(good).first(size)).has_value()) << size;
}

TEST(Arguments, RefuseMoreValuesThanMemoryShouldHold) {
    // Constant columns take no bytes, so that a small chunk can claim any number of values.
    ArgumentRows rows{{{{1}, 64}}, std::vector<std::uint32_t>(kMaxChunkEvents, 0), {}};
    rows.values.assign(kMaxChunkEvents * 64, 7);
    const ChunkBytes bytes = encodeArguments(rows);
    EXPECT_LT(bytes.size(), 2000u);
    EXPECT_THAT(decodeArguments(bytes), FailsWith("malformed columns"));
}

}  // namespace
}  // namespace shardscope::columns
