#include "profiler/inject/known_texts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::inject {
namespace {

TEST(KnownNames, AnAddressThatIsUsedAgainIsAnotherName) {
    KnownNames names;
    std::string text = "aten::add";
    EXPECT_EQ(names.find(text), nullptr);
    names.add(text, {StringId{1}, NameUse::kNone});
    ASSERT_NE(names.find(text), nullptr);
    text[6] = 'n';  // in place
    EXPECT_EQ(names.find(text), nullptr);
    names.add(text, {StringId{2}, NameUse::kData});
    EXPECT_EQ(names.find(text)->id, StringId{2});
    EXPECT_EQ(names.find(std::string("aten::add"))->id, StringId{1});
    EXPECT_EQ(names.find(std::string_view(text).substr(0, 4)), nullptr);
    names.clear();
    EXPECT_EQ(names.find(text), nullptr);
}

TEST(KnownNames, LongNamesAreFoundByTheirText) {
    KnownNames names;
    const std::string a(200, 'a');
    const std::string b = a + 'b';
    names.add(a, {StringId{1}, NameUse::kNone});
    names.add(b, {StringId{2}, NameUse::kNone});
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(names.find(a)->id, StringId{1});
        EXPECT_EQ(names.find(b)->id, StringId{2});
    }
}

struct Drawn {
    std::vector<std::int64_t> shapes, lists;
    std::vector<std::int8_t> types;
    auto operator<=>(const Drawn&) const = default;
    [[nodiscard]] KnownArguments::Key key() const {
        ShardscopeSpan span{};
        span.shapes = shapes.data();
        span.shapes_length = shapes.size();
        span.dtypes = types.data();
        span.tensors = types.size();
        span.lists = lists.data();
        span.lists_length = lists.size();
        return KnownArguments::keyOf(span);
    }
};

/// Few and small numbers, so that most differ from others in one place only.
Drawn draw(std::mt19937& random) {
    Drawn drawn;
    const auto upTo = [&](int most) { return static_cast<int>(random() % (most + 1u)); };
    for (int i = upTo(2); i >= 0; --i) {
        const int rank = upTo(3);
        drawn.shapes.push_back(rank);
        for (int k = 0; k < rank; ++k) drawn.shapes.push_back(upTo(3));
        drawn.types.push_back(static_cast<std::int8_t>(upTo(2)));
    }
    for (int i = upTo(2); i > 0; --i) drawn.lists.push_back(upTo(2));
    return drawn;
}

TEST(KnownArguments, FindsWhatWasAddedAndNothingElse) {
    std::mt19937 random(7);
    KnownArguments known;
    std::map<Drawn, StringId> right;
    for (std::uint32_t i = 1; i <= 50'000; ++i) {
        const Drawn drawn = draw(random);
        const auto found = known.find(drawn.key());
        const auto expected = right.find(drawn);
        ASSERT_EQ(found.has_value(), expected != right.end()) << i;
        if (found) {
            ASSERT_EQ(*found, expected->second);
            continue;
        }
        known.add(drawn.key(), StringId{i});
        right.emplace(drawn, StringId{i});
    }
    EXPECT_EQ(known.size(), right.size());
    EXPECT_GT(known.size(), 5'000u);
    known.clear();
    EXPECT_FALSE(known.find(right.begin()->first.key()));
}

TEST(KnownArguments, WhatIsShapeIsNotTypeOrList) {
    EXPECT_NE((Drawn{{1, 2}, {}, {3}}.key()), (Drawn{{1, 2}, {3}, {}}.key()));
    EXPECT_NE((Drawn{{1, 2, 3}, {}, {}}.key()), (Drawn{{1, 2}, {3}, {}}.key()));
    EXPECT_NE((Drawn{{0}, {}, {0}}.key()), (Drawn{{0}, {0}, {}}.key()));
}

}  // namespace
}  // namespace shardscope::inject
