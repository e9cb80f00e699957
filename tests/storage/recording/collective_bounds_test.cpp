// What a finalised file says of its collectives, so that nobody need go through them to open it.
#include "storage/recording/file/collective_bounds.h"

#include "storage/model/step_facts.h"
#include "storage/recording/file/row_checksums.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/repair/salvage_recording.h"
#include "storage/recording/verify/verify_recording.h"
#include "storage/sqlite/connection.h"
#include "tests/storage/recording/unpacked.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace shardscope::storage {
namespace {

using test::IsOk;

class CollectiveBoundsOf : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_THAT(test::writeSampleRecording(m_path, {.steps = 4}), IsOk());
        m_before = summary();
        ASSERT_GT(m_before.events.collectives, 0U);
    }

    /// With its collectives in a table, as large recordings have them, and sealed again.
    void makePlain() {
        auto connection = Connection::open(m_path, Connection::Mode::kCreate);
        ASSERT_THAT(unpackInPlace(*connection), IsOk());
        ASSERT_THAT(sealRows(*connection), IsOk());
    }
    void change(const std::string& sql) {
        auto connection = Connection::open(m_path, Connection::Mode::kCreate);
        ASSERT_THAT(connection->execute(sql), IsOk());
    }
    std::optional<CollectiveBounds> stored(const std::string& path) {
        auto connection = Connection::open(path, Connection::Mode::kReadOnly);
        const auto bounds = storedCollectives(*connection);
        EXPECT_THAT(bounds, IsOk());
        return bounds ? *bounds : std::nullopt;
    }
    RecordingSummary summary() {
        auto reader = openRecording(m_path);
        EXPECT_THAT(reader, IsOk());
        return (*reader)->summary().value();
    }
    bool hasFault(const std::string& what) {
        const auto found = verifyRecording(m_path);
        EXPECT_THAT(found, IsOk());
        return std::any_of(found->faults.begin(), found->faults.end(), [&](const Fault& fault) {
            return fault.what.find(what) != std::string::npos;
        });
    }
    void expectAsBefore() {
        const RecordingSummary now = summary();
        EXPECT_EQ(now.events.collectives, m_before.events.collectives);
        EXPECT_EQ(now.bounds, m_before.bounds);
    }

    const test::TemporaryFolder m_folder;
    const std::string m_path = m_folder.file("run.sscope");
    RecordingSummary m_before;
};

TEST_F(CollectiveBoundsOf, APlainTableAreWhatItsRowsAre) {
    makePlain();
    auto connection = Connection::open(m_path, Connection::Mode::kReadOnly);
    const auto counted = countCollectives(*connection);
    ASSERT_THAT(counted, IsOk());
    EXPECT_EQ(counted->count, m_before.events.collectives);
    EXPECT_EQ(stored(m_path), *counted);
    expectAsBefore();
    EXPECT_TRUE(verifyRecording(m_path)->sound());
}

TEST_F(CollectiveBoundsOf, PackedRowsAreCounted) {
    EXPECT_EQ(stored(m_path), std::nullopt);
    expectAsBefore();
}

TEST_F(CollectiveBoundsOf, FilesThatDoNotSayItAreCounted) {
    makePlain();
    change("DELETE FROM meta WHERE key='collectives'");
    expectAsBefore();
    for (const char* other : {"", "7", "7 8", "7 8 9 10", "x 8 9", "99999999999999999999 0 0"}) {
        change(std::string("INSERT OR REPLACE INTO meta VALUES('collectives','") + other + "')");
        EXPECT_EQ(stored(m_path), std::nullopt) << other;
        expectAsBefore();
    }
}

TEST_F(CollectiveBoundsOf, OfOneThatIsBeingWrittenNothingIsBelieved) {
    makePlain();
    change("UPDATE meta SET value='1 2 3' WHERE key='collectives'; UPDATE run SET finalised=0");
    EXPECT_EQ(summary().events.collectives, m_before.events.collectives);
}

TEST_F(CollectiveBoundsOf, WhatIsNotTrueIsAFault) {
    makePlain();
    change("UPDATE meta SET value='12345 0 9000000000000' WHERE key='collectives'");
    // what the file says is believed: nobody goes through the rows
    EXPECT_EQ(summary().events.collectives, 12'345U);
    EXPECT_EQ(summary().bounds.end, Timestamp{9'000'000'000'000});
    EXPECT_TRUE(hasFault("says 12345 collectives from 0 to 9000000000000 ns"));
}

TEST_F(CollectiveBoundsOf, ASalvagedFileAreItsOwn) {
    makePlain();
    change("DELETE FROM collectives WHERE sequence=2");
    const std::string mended = m_folder.file("mended.sscope");
    ASSERT_THAT(salvageRecording(m_path, mended, false), IsOk());
    auto connection = Connection::open(mended, Connection::Mode::kReadOnly);
    const auto counted = countCollectives(*connection);
    ASSERT_THAT(counted, IsOk());
    EXPECT_LT(counted->count, m_before.events.collectives);
    EXPECT_EQ(stored(mended), *counted);
    EXPECT_TRUE(verifyRecording(mended)->sound());
}

}  // namespace
}  // namespace shardscope::storage
