// Questions that end without an answer: it was superseded, or what it takes is not there.
#include "storage/recording/read/cancellable_reader.h"
#include "tests/profiler/questions/asking.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace shardscope::questions {
namespace {

using testing::HasSubstr;
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
    for (StepFacts& step : m_summary.steps) step.tokens = 0;
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
