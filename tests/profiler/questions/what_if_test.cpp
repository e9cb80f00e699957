#include "tests/profiler/questions/asking.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

namespace shardscope::questions {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class WhatIf : public Questions {};

const Figure* figureOf(const Answer& answer, std::string_view key) {
    for (const Figure& figure : answer.figures)
        if (key == figure.what.key) return &figure;
    return nullptr;
}

TEST_F(WhatIf, TellsOtherSettingsAndHowWrongItsModelIs) {
    record();
    const Answer answer = ask("what-if");
    ASSERT_EQ(answer.tables.size(), 2u);
    const Table& settings = answer.tables.front();
    std::set<std::string> varied;
    for (std::size_t row = 0; row < settings.rows.size(); ++row) {
        varied.insert(*settings.rows[row][0].text());
        EXPECT_GT(whole(settings, row, "step_ns"), 0);
        EXPECT_LE(whole(settings, row, "low_ns"), whole(settings, row, "step_ns"));
        EXPECT_GE(whole(settings, row, "high_ns"), whole(settings, row, "step_ns"));
    }
    EXPECT_THAT(varied, testing::IsSupersetOf({"ranks", "link", "strategy", "prefetch", "batch"}));
    ASSERT_NE(figureOf(answer, "error_pct"), nullptr);
    const double recorded = static_cast<double>(*figureOf(answer, "step_ns")->value.integer());
    const double played = static_cast<double>(*figureOf(answer, "played_ns")->value.integer());
    EXPECT_NEAR(*figureOf(answer, "error_pct")->value.real(), 100 * (played / recorded - 1), 1e-3);
    EXPECT_TRUE(answer.unknown.empty());
}

TEST_F(WhatIf, ChangesAreAgainstThePlayedStep) {
    record();
    const Answer answer = ask("what-if");
    const Table& settings = answer.tables.front();
    const double played = static_cast<double>(*figureOf(answer, "played_ns")->value.integer());
    for (std::size_t row = 0; row < settings.rows.size(); ++row)
        EXPECT_NEAR(number(settings, row, "change_pct"),
                    100 * (number(settings, row, "step_ns") / played - 1), 1e-3);
}

/// The same as what bounds the step says of them.
TEST_F(WhatIf, PlaysRecordedStepsWithSomethingFaster) {
    record();
    const Answer answer = ask("what-if"), bounds = ask("bounds");
    const Table& durations = answer.tables.back();
    EXPECT_STREQ(durations.key, "durations");
    ASSERT_FALSE(durations.rows.empty());
    for (const Table& table : bounds.tables)
        if (std::string_view(table.key) == "what_if") {
            EXPECT_EQ(table.rows, durations.rows);
        }
}

TEST_F(WhatIf, OfATraceOfAnotherToolItCannotTell) {
    record();
    m_summary.run.configJson.clear();
    const Answer answer = ask("what-if");
    EXPECT_TRUE(answer.tables.empty());
    EXPECT_THAT(answer.unknown, ElementsAre(HasSubstr("not made by `shardscope record`")));
    // Its steps can be played again all the same.
    const Selection all;
    Asked asked{*m_reader, m_summary, all};
    asked.faster = {{"link", 2}};
    const auto played = findQuestion("what-if")->ask(asked);
    ASSERT_TRUE(played) << played.error().message;
    EXPECT_STREQ(played->tables.back().key, "durations");
    asked.faster = {{"nosuch", 2}};
    EXPECT_FALSE(findQuestion("what-if")->ask(asked));
    asked.faster = {{"LINK", 2}};
    const auto wrongCase = findQuestion("what-if")->ask(asked);
    ASSERT_FALSE(wrongCase);
    EXPECT_THAT(wrongCase.error().message, HasSubstr("did you mean 'link'?"));
}

}  // namespace
}  // namespace shardscope::questions
