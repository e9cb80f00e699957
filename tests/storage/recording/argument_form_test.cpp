#include "storage/recording/argument_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace shardscope::storage {
namespace {

using ::testing::ElementsAre;

std::optional<std::string> filled(std::string_view form, std::vector<std::int64_t> values) {
    std::string json;
    const auto textOf = [](StringId id) -> std::optional<std::string_view> {
        if (id.value == 9) return "[1,\"#\"]";
        return std::nullopt;
    };
    if (!appendArguments(json, form, values, textOf)) return std::nullopt;
    return json;
}

TEST(ArgumentForm, ValuesStandAtTheirMarks) {
    EXPECT_EQ(filled(R"({"a":#,"b":%,"c":@})", {-5, 1250, 3, 9}),
              R"({"a":-5,"b":1.250,"c":[1,"#"]})");
    EXPECT_EQ(filled("{}", {}), "{}");
    EXPECT_EQ(filled("@", {9}), "[1,\"#\"]");
}

TEST(ArgumentForm, MarksWithinKeysAreText) {
    EXPECT_EQ(filled(R"({"%#@\"#":#})", {1}), R"({"%#@\"#":1})");
    EXPECT_EQ(countValues(R"({"occupancy %":#,"b":%,"c":@})"), 4u);
    EXPECT_THAT(textValues(R"({"a":@,"b":%,"c":@})"), ElementsAre(0u, 3u));
}

TEST(ArgumentForm, DecimalsKeepTheirZeros) {
    EXPECT_EQ(filled("%", {5, 1}), "0.5");
    EXPECT_EQ(filled("%", {-5, 3}), "-0.005");
    EXPECT_EQ(filled("%", {0, 2}), "0.00");
    EXPECT_EQ(filled("%", {1'000, 2}), "10.00");
}

TEST(ArgumentForm, WrongValuesAreRefused) {
    EXPECT_EQ(filled("{\"a\":#}", {}), std::nullopt);
    EXPECT_EQ(filled("{\"a\":#}", {1, 2}), std::nullopt);
    EXPECT_EQ(filled("%", {1, 0}), std::nullopt);
    EXPECT_EQ(filled("%", {1, 1'000'000}), std::nullopt);
    EXPECT_EQ(filled("%", {std::numeric_limits<std::int64_t>::min(), 3}), std::nullopt);
    EXPECT_EQ(filled("@", {8}), std::nullopt);
    EXPECT_EQ(filled("@", {-1}), std::nullopt);
}

}  // namespace
}  // namespace shardscope::storage
