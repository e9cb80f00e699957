#include "storage/recording/file/argument_form.h"

#include <gtest/gtest.h>

#include <limits>

namespace shardscope::storage {
namespace {

std::optional<std::string> filled(std::string_view form, std::vector<std::int64_t> values) {
    std::string json;
    const auto textOf = [](StringId id) -> std::optional<std::string_view> {
        if (id.value == 9) return "[1,\"#\"]";
        if (id.value == 10) return "{\"name\":\"f\"}";
        if (id.value == 20) return "10 9 10";
        if (id.value == 21) return "10 8";
        if (id.value == 22) return "10  9";
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
    const auto values = textValues(R"({"a":@,"b":%,"c":^})");
    ASSERT_EQ(values.size(), 2u);
    EXPECT_EQ(values[0].value, 0u);
    EXPECT_FALSE(values[0].list);
    EXPECT_EQ(values[1].value, 3u);
    EXPECT_TRUE(values[1].list);
}

TEST(ArgumentForm, ListsNameTheTextsOfTheirElements) {
    EXPECT_EQ(filled(R"({"frames":^})", {20}), R"({"frames":[{"name":"f"},[1,"#"],{"name":"f"}]})");
    EXPECT_EQ(filled("^", {21}), std::nullopt);
    EXPECT_EQ(filled("^", {22}), std::nullopt);
    EXPECT_EQ(filled("^", {8}), std::nullopt);
    EXPECT_EQ(idsIn("")->size(), 0u);
    for (const char* bad : {" ", "1 ", " 1", "x", "1 x", "-1", "99999999999"})
        EXPECT_EQ(idsIn(bad), std::nullopt) << bad;
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
