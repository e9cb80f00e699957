// Reports that are read a rank at a time.
#include "profiler/questions/report_reader.h"

#include "profiler/questions/read_surroundings.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/file/row_checksums.h"
#include "storage/sqlite/connection.h"
#include "tests/profiler/questions/asking.h"
#include "tests/storage/recording/unpacked.h"
#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::questions {
namespace {

using test::IsOk;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class ReportOf : public Questions {
protected:
    /// Large recordings have their collectives in a table, whose rows nobody counts.
    void makePlain() {
        auto connection = storage::Connection::open(m_path, storage::Connection::Mode::kCreate);
        ASSERT_THAT(storage::unpackInPlace(*connection), IsOk());
        ASSERT_THAT(storage::sealRows(*connection), IsOk());
    }
    void change(const std::string& sql) {
        auto connection = storage::Connection::open(m_path, storage::Connection::Mode::kCreate);
        ASSERT_THAT(connection->execute(sql), IsOk());
    }
    analysis::Report report(const Selection& selection = {}) {
        auto reader = storage::openRecording(m_path);
        auto report = readReport(**reader, (*reader)->summary().value(), selection);
        EXPECT_THAT(report, IsOk());
        return std::move(*report);
    }
};

TEST_F(ReportOf, AFileWhoseCollectivesWereLostIsIncomplete) {
    record();
    makePlain();
    const auto lost = HasSubstr("table collectives: ");
    EXPECT_THAT(report().completeness.missing, Not(Contains(lost)));
    change("DELETE FROM collectives WHERE rank=1 AND sequence=3");
    EXPECT_THAT(report().completeness.missing, Contains(lost));
    Selection one;
    one.ranks = {{0}};
    EXPECT_THAT(report(one).completeness.missing, Not(Contains(lost)));
}

/// Nothing kept of ranks, or everything: what has to be read twice says the same.
TEST_F(ReportOf, IsTheSameHoweverMuchIsKept) {
    std::vector<test::SampleOptions> all(6);
    all[1].ranks = 4;
    all[2].gpu = true;
    all[3].steps = 30;
    all[3].ranks = 3;
    all[4].finalise = false;
    all[5].ranks = 4;
    all[5].ranksPerHost = 2;
    std::vector<Selection> selections(3);
    selections[1].steps = {{{1}, {3}}};
    selections[2].ranks = {{1}};
    for (const test::SampleOptions& options : all) {
        record(options);
        for (const Selection& selection : selections) {
            const auto kept = readReport(*m_reader, m_summary, selection);
            const auto again = readReport(*m_reader, m_summary, selection, Bytes{0});
            ASSERT_THAT(kept, IsOk());
            ASSERT_THAT(again, IsOk());
            EXPECT_EQ(analysis::toJson(*kept), analysis::toJson(*again));
        }
    }
}

/// A rank at a time, against all of them at once.
TEST_F(ReportOf, IsWhatAllRanksTogetherSay) {
    for (const std::int32_t ranks : {1, 2, 5}) {
        test::SampleOptions options;
        options.ranks = ranks;
        options.steps = 20;
        record(options);
        std::vector<Selection> selections(3);
        selections[1].steps = {{{3}, {16}}};
        selections[2].ranks = {{0}};
        for (const Selection& selection : selections) {
            const auto summary = selection.of(m_summary);
            const auto events = Asked{*m_reader, *summary, selection}.events();
            ASSERT_THAT(events, IsOk());
            const auto growths = memoryGrowths(*m_reader, *summary, *events);
            const auto around = surroundings(*m_reader, *summary, selection);
            ASSERT_THAT(growths, IsOk());
            ASSERT_THAT(around, IsOk());
            EXPECT_EQ(analysis::toJson(analysis::analyse(*summary, *events, {}, *growths, *around)),
                      analysis::toJson(*readReport(*m_reader, m_summary, selection)));
        }
    }
}

}  // namespace
}  // namespace shardscope::questions
