#include "profiler/planning/forecast.h"
#include "profiler/questions/scenarios.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/cancellable_reader.h"
#include "tests/profiler/questions/asking.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

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
    // Of other numbers of ranks no transfer was recorded.
    for (const std::string& unknown : answer.unknown)
        EXPECT_THAT(unknown, testing::HasSubstr("among"));
}

TEST_F(WhatIf, OfARunThatLackedCoresBeginsWithTheDoubt) {
    record();
    std::vector<SpeedUp> faster;
    const auto starved = [this, &faster](const char* question, std::int64_t percent) {
        for (StepFacts& step : m_summary.steps.own())
            step.coreWaitNs = step.range().duration().ns * percent / 100;
        const Selection all;
        Asked asked{*m_reader, m_summary, all};
        asked.faster = faster;
        auto answer = findQuestion(question)->ask(asked);
        EXPECT_TRUE(answer) << answer.error().message;
        return std::move(*answer);
    };
    for (const char* question : {"what-if", "bounds"}) {
        EXPECT_EQ(starved(question, 5).doubt, "") << question;
        EXPECT_THAT(starved(question, 20).doubt,
                    HasSubstr("ranks of the run were without a core for 21 % of step time"))
            << "one more was stolen";
    }
    EXPECT_EQ(starved("what-if", 20).tables.front().key, std::string("settings"));
    // Other settings are refused; recorded steps can be played again all the same.
    EXPECT_THAT(starved("what-if", 40).unknown,
                ElementsAre(HasSubstr("without a core for 41 % of step time")));
    EXPECT_THAT(starved("bounds", 40).doubt, HasSubstr("without a core for 41 %"));
    faster = {{"link", 2}};
    const Answer played = starved("what-if", 40);
    EXPECT_EQ(played.tables.front().key, std::string("durations"));
    EXPECT_THAT(played.doubt, HasSubstr("without a core for 41 %"));
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

TEST_F(WhatIf, ReplaysHaveABandAndAnError) {
    record();
    const Selection all;
    Asked asked{*m_reader, m_summary, all};
    asked.faster = {{"rank 0", 2}};
    const auto ranks = asked.events();
    ASSERT_TRUE(ranks);
    Answer answer;
    ASSERT_TRUE(addScenarios(asked, *ranks, answer));
    ASSERT_EQ(answer.tables.size(), 1u);
    const Table& played = answer.tables.front();
    EXPECT_EQ(*played.rows[0][0].text(), "rank 0 2 times as fast");
    ASSERT_NE(figureOf(answer, "replay_error_pct"), nullptr);
    EXPECT_NEAR(*figureOf(answer, "replay_error_pct")->value.real(), 0, 1e-9);
    const Duration recorded{*figureOf(answer, "replay_recorded_ns")->value.integer()};
    EXPECT_GT(*figureOf(answer, "replay_steps")->value.integer(), 0);
    for (std::size_t row = 0; row < played.rows.size(); ++row) {
        const Duration step{whole(played, row, "step_ns")};
        EXPECT_EQ(whole(played, row, "saved_ns"), (recorded - step).ns);
        // Of a short run the spread is that of any machine, 1.5 %.
        const auto band = planning::bandOf(step, recorded, 0.015, 0);
        EXPECT_EQ(whole(played, row, "low_ns"), band.low.ns) << row;
        EXPECT_EQ(whole(played, row, "high_ns"), band.high.ns) << row;
    }
    EXPECT_THAT(answer.unknown, testing::IsEmpty());
}

TEST_F(WhatIf, EverythingThatIsOfferedCanBeFaster) {
    record();
    const Selection all;
    Asked asked{*m_reader, m_summary, all};
    const auto ranks = asked.events();
    ASSERT_TRUE(ranks);
    const auto choices = fasterChoices(asked, *ranks);
    ASSERT_TRUE(choices);
    EXPECT_THAT(*choices, testing::IsSupersetOf({"link", "rank 0", "rank 1", "forward"}));
    EXPECT_EQ(std::set<std::string>(choices->begin(), choices->end()).size(), choices->size());
    for (const std::string& choice : *choices) {
        asked.faster = {{choice, 2}};
        Answer answer;
        ASSERT_TRUE(addScenarios(asked, *ranks, answer)) << choice;
        EXPECT_GE(whole(answer.tables.front(), 0, "saved_ns"), 0) << choice;
    }
}

TEST_F(WhatIf, OfStepsWithoutDetailSaysWhyNothingIsPlayed) {
    record();
    for (const RankFacts& rank : m_summary.ranks) {
        DetailFacts detail;
        detail.rank = rank.rank;
        detail.last = StepIndex{1000};
        m_summary.detail.push_back(detail);
    }
    const Selection all;
    Asked asked{*m_reader, m_summary, all};
    asked.faster = {{"link", 2}};
    const auto ranks = asked.events();
    ASSERT_TRUE(ranks);
    Answer answer;
    ASSERT_TRUE(addScenarios(asked, *ranks, answer));
    EXPECT_TRUE(answer.tables.empty());
    EXPECT_THAT(answer.unknown,
                ElementsAre("what being faster would do is unknown: no step has detail"));
    EXPECT_THAT(*fasterChoices(asked, *ranks), testing::IsEmpty());
}

TEST_F(WhatIf, OfRanksWithoutCoresSaysThatTheirTimesAreTheMachines) {
    record();
    for (StepFacts& step : m_summary.steps.own())
        step.coreWaitNs = step.range().duration().ns * 2 / 5;
    const Selection all;
    Asked asked{*m_reader, m_summary, all};
    asked.faster = {{"rank 0", 2}};
    const auto ranks = asked.events();
    ASSERT_TRUE(ranks);
    Answer answer;
    ASSERT_TRUE(addScenarios(asked, *ranks, answer));
    EXPECT_EQ(answer.tables.size(), 1u);
    EXPECT_THAT(answer.doubt, HasSubstr("of step time"));
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

// Questions that end without an answer: it was superseded, or what it takes is not there.

using testing::IsEmpty;

/// Supersedes the request once so much was read.
class ImpatientReader : public storage::CancellableReader {
public:
    ImpatientReader(storage::RecordingReader& reader, storage::Generations& requests, int reads)
        : CancellableReader(reader, requests.next()), m_requests(requests), m_reads(reads) {}
    Result<void> answer(const storage::AnyRequest& request) override {
        if (m_reads-- == 0) m_requests.supersede();
        return CancellableReader::answer(request);
    }
    [[nodiscard]] int readsAfter() const { return -m_reads; }

private:
    storage::Generations& m_requests;
    int m_reads;
};

TEST_F(Questions, EndSoonWhenNobodyWantsThem) {
    test::SampleOptions options;
    options.ranks = 4;
    options.gpu = true;
    record(options);
    const Selection all;
    int cancelled = 0;
    for (const Question& question : allQuestions())
        for (const int reads : {0, 1, 3}) {
            storage::Generations requests;
            ImpatientReader reader(*m_reader, requests, reads);
            const auto answer = answerTo(question, {reader, m_summary, all});
            if (reader.readsAfter() <= 0) continue;  // it reads no more
            ++cancelled;
            ASSERT_FALSE(answer) << question.key;
            EXPECT_EQ(answer.error().code, ErrorCode::kCancelled) << question.key;
            EXPECT_EQ(reader.readsAfter(), 1) << question.key;
        }
    EXPECT_GT(cancelled, 20);
}

/// As of imported traces.
TEST_F(Questions, OfStepsWithoutTokensTellNoThroughput) {
    record();
    for (StepFacts& step : m_summary.steps.own()) step.tokens = 0;
    const Answer answer = ask("efficiency");
    ASSERT_STREQ(answer.figures.at(0).what.key, "tokens_per_s");
    EXPECT_TRUE(answer.figures.at(0).value.isNone());
    EXPECT_THAT(answer.unknown,
                testing::Contains(HasSubstr("throughput unknown: its steps do not say")));
}

TEST_F(Questions, OfTooFewPointsSayNothingOfTraining) {
    record();
    const Answer few = ask("training");
    for (const char* what :
         {"loss spikes unknown: ", "gradient norms unknown: ", "slow steps unknown: "})
        EXPECT_THAT(few.unknown, testing::Contains(HasSubstr(what)));
    for (const std::string& sentence : few.sentences)
        EXPECT_THAT(sentence, testing::Not(HasSubstr("Nothing")));
    test::SampleOptions options;
    options.steps = 40;
    record(options);
    const Answer enough = ask("training");
    EXPECT_THAT(enough.unknown, IsEmpty());
    EXPECT_THAT(enough.sentences, testing::Contains(HasSubstr("Nothing of note in ")));
}

TEST_F(Questions, OfARangeSayThatNothingLiesInIt) {
    record();
    Selection range;
    range.range = TimeRange{m_summary.steps[2].start, m_summary.steps[2].start + Duration{1000}};
    EXPECT_THAT(ask("steps", Mode::kExact, range).unknown,
                testing::Each(HasSubstr("lies in the selection")));
    EXPECT_THAT(ask("training", Mode::kExact, range).unknown,
                testing::Contains(HasSubstr("no whole step of all ranks lies in the selection")));
}

}  // namespace
}  // namespace shardscope::questions
