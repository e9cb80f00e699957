#include "storage/model/run_label.h"

#include <gmock/gmock.h>

#include <string>

namespace shardscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RunLabel, IsWhatItsRowsSay) {
    const RunLabel label{"wide batch", {"lr=3e-4", "zwölf"}};
    EXPECT_EQ(labelIn(rowsOf(label)), label);
    EXPECT_THAT(rowsOf({}), IsEmpty());
    EXPECT_TRUE(labelIn({}).empty());
}

TEST(RunLabel, IsNotWhatAHostOrARankSays) {
    EXPECT_TRUE(labelIn({{"name", 0, -1, "node"}, {"name", 0, 1, "of a rank"}}).empty());
    EXPECT_TRUE(labelIn({{"tag:a", 0, 0, "a"}}).empty());
}

TEST(RunLabel, SaysWhatIsWrongWithAText) {
    EXPECT_EQ(labelFault("lr=3e-4 (wide)"), "");
    EXPECT_EQ(labelFault(std::string(kMostLabelBytes, 'x')), "");
    EXPECT_THAT(labelFault(""), HasSubstr("empty"));
    EXPECT_THAT(labelFault("  "), HasSubstr("empty"));
    EXPECT_THAT(labelFault(std::string(kMostLabelBytes + 1, 'x')), HasSubstr("201 bytes"));
    for (const char* text : {"a\nb", "a\tb", "\x1b[31m", "\xff", "\u202e"})
        EXPECT_THAT(labelFault(text), HasSubstr("cannot be printed")) << text;
}

TEST(RunLabel, RefusesTooManyTags) {
    RunLabel label;
    for (std::size_t i = 0; i < kMostTags; ++i) label.tags.push_back(std::to_string(i));
    EXPECT_TRUE(checkLabel(label));
    label.tags.emplace_back("one more");
    const auto refused = checkLabel(label);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
    EXPECT_THAT(refused.error().message, HasSubstr("21 tags"));
}

TEST(RunLabel, NamesStandForRunsWhereTheyAreDifferent) {
    EXPECT_THAT(distinctNames({{"a", {}}, {"b", {"x"}}}), ElementsAre("a", "b"));
    EXPECT_THAT(distinctNames({{"a", {}}, {"a", {}}}), IsEmpty());
    EXPECT_THAT(distinctNames({{"a", {}}, {}}), IsEmpty());
}

}  // namespace
}  // namespace shardscope
