// Reports that are read a rank at a time.
#include "profiler/questions/report_reader.h"

#include "storage/recording/file/row_checksums.h"
#include "storage/sqlite/connection.h"
#include "tests/profiler/questions/asking.h"
#include "tests/storage/recording/unpacked.h"
#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>

#include <string>

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

}  // namespace
}  // namespace shardscope::questions
