// Damage of every sort, and what is saved of it: the result is always sound.
#include "storage/columns/chunk.h"
#include "storage/model/event_account.h"
#include "storage/model/host_facts.h"
#include "storage/model/process_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/file/recording_file.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/repair/salvage_recording.h"
#include "storage/recording/verify/verify_recording.h"
#include "storage/recording/write/finish_recording.h"
#include "storage/recording/write/recording_writer.h"
#include "storage/sqlite/connection.h"
#include "tests/storage/recording/unpacked.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace shardscope::storage {
namespace {

namespace fs = std::filesystem;
using test::FailsAs;
using test::FailsWith;
using test::IsOk;
using ::testing::AllOf;

constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};
constexpr std::int64_t kPage = kSmallPage;  ///< of a small recording

std::string contentsOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

std::string faultsOf(const Verification& found) {
    std::string text;
    for (const Fault& fault : found.faults) text += fault.where + ": " + fault.what + "\n";
    return text;
}

class SalvageTest : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_THAT(test::writeSampleRecording(m_good, {.steps = 4, .program = true}), IsOk());
        m_bytes = contentsOf(m_good);
        m_events = openRecording(m_good).value()->summary()->events.total();
    }

    /// Salvages `bytes`; the result is sound, the input as it was. Nothing when it is refused.
    std::optional<Salvage> salvage(const std::string& bytes, const std::string& what) {
        write(m_bad, bytes);
        auto saved = salvageRecording(m_bad, m_out, true);
        EXPECT_EQ(contentsOf(m_bad), bytes) << what;
        if (!saved) {
            EXPECT_THAT(saved, FailsAs(ErrorCode::kUnreadable)) << what;
            EXPECT_THAT(saved, FailsWith(m_bad)) << what;
            return std::nullopt;
        }
        const auto found = verifyRecording(m_out);
        EXPECT_THAT(found, IsOk()) << what;
        if (found) {
            EXPECT_TRUE(found->sound()) << what << "\n" << faultsOf(*found);
        }
        auto reader = openRecording(m_out);
        EXPECT_THAT(reader, IsOk()) << what;
        if (reader) {
            EXPECT_THAT((*reader)->rankEvents({0}, kEverything), IsOk()) << what;
        }
        return *saved;
    }

    void zeroPages(std::int64_t stride, std::size_t costly);
    void flipBytes(int rounds, int atLeast);

    test::TemporaryFolder m_folder;
    std::string m_good = m_folder.file("good.sscope");
    std::string m_bad = m_folder.file("bad.sscope");
    std::string m_out = m_folder.file("out.sscope");
    std::string m_bytes;
    std::uint64_t m_events = 0;
};

/// Of a format whose steps had fewer columns.
TEST_F(SalvageTest, OfAnOlderRecordingKeepsItsSteps) {
    auto connection = Connection::open(m_good, Connection::Mode::kCreate);
    ASSERT_THAT(connection->execute("ALTER TABLE steps DROP COLUMN core_wait_ns;"
                                    "ALTER TABLE steps DROP COLUMN stolen_ns;"
                                    "ALTER TABLE steps DROP COLUMN busy_ns;"
                                    "DROP TABLE facts; DROP TABLE processes;"
                                    "PRAGMA user_version=2001"),
                IsOk());
    ASSERT_TRUE(salvage(contentsOf(m_good), "older").has_value());
    const auto before = (*openRecording(m_good))->summary(),
               after = (*openRecording(m_out))->summary();
    ASSERT_THAT(before, IsOk());
    ASSERT_THAT(after, IsOk());
    ASSERT_FALSE(before->steps.empty());
    ASSERT_EQ(after->steps.size(), before->steps.size());
    EXPECT_EQ(after->steps.back().residentSet, before->steps.back().residentSet);
    EXPECT_EQ(after->steps.back().coreWaitNs, -1);
}

TEST_F(SalvageTest, OfAGoodRecordingLosesNothing) {
    const auto saved = salvage(m_bytes, "good");
    ASSERT_TRUE(saved.has_value());
    EXPECT_TRUE(saved->lossless());
    EXPECT_EQ(saved->events.total(), m_events);
    auto before = openRecording(m_good);
    auto after = openRecording(m_out);
    const auto a = (*before)->summary();
    const auto b = (*after)->summary();
    EXPECT_EQ(a->run.id, b->run.id);
    EXPECT_EQ(a->run.configJson, b->run.configJson);
    EXPECT_EQ(a->run.ended, b->run.ended);
    EXPECT_EQ(a->steps.size(), b->steps.size());
    EXPECT_EQ(a->lanes.size(), b->lanes.size());
    EXPECT_EQ(a->metrics.size(), b->metrics.size());
    EXPECT_EQ(a->diagnostics.size(), b->diagnostics.size());
    EXPECT_EQ(a->processes.size(), 4u);
    EXPECT_EQ(a->processes.size(), b->processes.size());
    EXPECT_TRUE(b->complete);
    for (const LaneFacts& lane : a->lanes)
        EXPECT_EQ(*(*before)->spans(lane.rank, lane.lane, kEverything),
                  *(*after)->spans(lane.rank, lane.lane, kEverything));
    EXPECT_EQ((*before)->rankEvents({1}, kEverything)->peakMemory,
              (*after)->rankEvents({1}, kEverything)->peakMemory);
}

TEST_F(SalvageTest, OfProcessesThatCannotBeLosesThose) {
    auto connection = Connection::open(m_good, Connection::Mode::kCreate);
    ASSERT_THAT(connection->execute("UPDATE processes SET role=77 WHERE rank=0;"
                                    "UPDATE processes SET ended_ns=started_ns-1 WHERE rank=1;"
                                    "UPDATE processes SET rank=-2 WHERE role=1"),
                IsOk());
    const auto found = verifyRecording(m_good);
    ASSERT_THAT(found, IsOk());
    for (const char* fault : {"has role 77", "ends before it starts", "has rank -2"})
        EXPECT_THAT(faultsOf(*found), testing::HasSubstr(fault));
    const auto saved = salvage(contentsOf(m_good), "processes");
    ASSERT_TRUE(saved.has_value());
    EXPECT_FALSE(saved->lossless());
    const auto summary = openRecording(m_out).value()->summary();
    ASSERT_EQ(summary->processes.size(), 1u);
    EXPECT_EQ(summary->processes[0].pid, 4900);
    EXPECT_EQ(summary->events.total(), m_events);
}

TEST_F(SalvageTest, CountsWhatIsGoneWithoutATrace) {
    auto connection = Connection::open(m_good, Connection::Mode::kCreate);
    const auto count = connection->integer("SELECT count FROM chunks WHERE kind=1 ORDER BY id");
    ASSERT_THAT(connection->execute("DELETE FROM chunks WHERE id=(SELECT min(id) FROM chunks"
                                    " WHERE kind=1)"),
                IsOk());
    const auto saved = salvage(contentsOf(m_good), "a chunk is gone");
    ASSERT_TRUE(saved.has_value());
    EXPECT_EQ(saved->missed, static_cast<std::uint64_t>(*count));
    EXPECT_EQ(saved->events.total() + saved->lostEvents(), m_events);
    EXPECT_FALSE(saved->lossless());
    const auto summary = openRecording(m_out).value()->summary();
    EXPECT_THAT(summary->diagnostics.back().message,
                testing::HasSubstr(std::to_string(*count) + " events are known to be lost"));
}

TEST_F(SalvageTest, OfABadChunkLosesItsEventsAndSaysWhen) {
    auto connection = Connection::open(m_good, Connection::Mode::kCreate);
    const auto count = connection->integer("SELECT count FROM chunks WHERE kind=1 ORDER BY id");
    ASSERT_THAT(connection->execute("UPDATE chunks SET data=zeroblob(bytes) WHERE id=(SELECT"
                                    " min(id) FROM chunks WHERE kind=1)"),
                IsOk());
    const auto found = verifyRecording(m_good);
    ASSERT_THAT(found, IsOk());
    EXPECT_FALSE(found->sound());
    EXPECT_EQ(found->faults.front().where, "chunks");
    const auto saved = salvage(contentsOf(m_good), "one chunk");
    ASSERT_TRUE(saved.has_value());
    ASSERT_EQ(saved->lost.size(), 1u);
    EXPECT_EQ(saved->lost.front().events, static_cast<std::uint64_t>(*count));
    EXPECT_LT(saved->lost.front().range.begin, saved->lost.front().range.end);
    EXPECT_EQ(saved->events.total() + saved->lostEvents(), m_events);
    const auto summary = openRecording(m_out).value()->summary();
    EXPECT_EQ(summary->diagnostics.back().code, "repaired");
    EXPECT_GT(summary->ranks[0].dropped + summary->ranks[1].dropped, 0u);
}

/// Zeroes every `stride`th page in turn; at most `costly` of them take half of the events along.
void SalvageTest::zeroPages(std::int64_t stride, std::size_t costly) {
    std::size_t tried = 0, kept = 0;
    const auto pages = static_cast<std::int64_t>(m_bytes.size()) / kPage;
    for (std::int64_t page = 1; page < pages; page += stride, ++tried) {
        std::string bytes = m_bytes;
        std::fill_n(bytes.begin() + page * kPage, kPage, '\0');
        const auto saved = salvage(bytes, "page " + std::to_string(page + 1));
        if (saved && saved->events.total() * 2 > m_events) ++kept;
    }
    EXPECT_GT(tried, 5u);
    EXPECT_GE(kept + costly, tried);
}

TEST_F(SalvageTest, OfAnyZeroedPageIsSound) {
    zeroPages(7, 3);
}

TEST_F(SalvageTest, OfEveryZeroedPageIsSound) {
    // Losing the root of the chunks, their index or the list of tables (12 KiB) costs much, any
    // other page little.
    zeroPages(1, 23);
}

TEST_F(SalvageTest, OfACutFileIsSound) {
    test::RandomEvents random(11);
    for (int round = 0; round < 25; ++round) {
        const auto length = random.between(1, static_cast<std::int64_t>(m_bytes.size()) - 1);
        static_cast<void>(salvage(m_bytes.substr(0, static_cast<std::size_t>(length)),
                                  "cut at " + std::to_string(length)));
    }
    EXPECT_TRUE(salvage(m_bytes.substr(0, m_bytes.size() - 1), "last byte").has_value());
}

void SalvageTest::flipBytes(int rounds, int atLeast) {
    test::RandomEvents random(12);
    int saved = 0;
    for (int round = 0; round < rounds; ++round) {
        std::string bytes = m_bytes;
        for (int i = 0; i < 1 + round % 12; ++i)
            bytes[static_cast<std::size_t>(
                random.between(16, static_cast<std::int64_t>(bytes.size()) - 1))] =
                static_cast<char>(random.bits());
        if (salvage(bytes, "round " + std::to_string(round))) ++saved;
    }
    EXPECT_GE(saved, atLeast);
}

TEST_F(SalvageTest, OfFlippedBytesIsSound) {
    flipBytes(12, 9);
}

TEST_F(SalvageTest, OfEveryNumberOfFlippedBytesIsSound) {
    flipBytes(80, 61);
}

TEST_F(SalvageTest, MendsWhatEveryHeaderHolds) {
    for (const std::size_t at : {16u, 18u, 21u, 28u, 36u, 47u, 52u, 59u, 95u}) {
        std::string bytes = m_bytes;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x5A);
        const auto saved = salvage(bytes, "byte " + std::to_string(at));
        ASSERT_TRUE(saved.has_value()) << at;
        EXPECT_EQ(saved->events.total(), m_events) << at;
    }
}

TEST_F(SalvageTest, RefusesADestroyedHeaderInWords) {
    write(m_bad, std::string(100, '\0') + m_bytes.substr(100));
    EXPECT_THAT(salvageRecording(m_bad, m_out, false),
                AllOf(FailsWith("is not a recording"), FailsAs(ErrorCode::kUnreadable)));
    write(m_bad, m_bytes.substr(0, 100) + std::string(m_bytes.size() - 100, '\0'));
    EXPECT_THAT(salvageRecording(m_bad, m_out, false), FailsAs(ErrorCode::kUnreadable));
    EXPECT_FALSE(fs::exists(m_out));
    EXPECT_EQ(std::distance(fs::directory_iterator(m_folder.path()), {}), 2) << "nothing stays";
}

TEST_F(SalvageTest, NeverWritesToItsInputOrOverAFile) {
    EXPECT_THAT(salvageRecording(m_good, m_out, true, [] { return false; }),
                FailsAs(ErrorCode::kCancelled));
    EXPECT_FALSE(fs::exists(m_out));
    EXPECT_THAT(salvageRecording(m_good, m_good, true), FailsWith("never changes"));
    write(m_out, "precious");
    EXPECT_THAT(salvageRecording(m_good, m_out, false),
                AllOf(FailsWith("already exists"), FailsAs(ErrorCode::kUsage)));
    EXPECT_EQ(contentsOf(m_out), "precious");
    EXPECT_EQ(contentsOf(m_good), m_bytes);
}

TEST_F(SalvageTest, InventsNoRanksThatTheFileNeverHeld) {
    {
        auto connection = Connection::open(m_good, Connection::Mode::kCreate);
        ASSERT_THAT(connection->execute("UPDATE run SET world_size=8; DELETE FROM metrics"),
                    IsOk());
        // One chunk is damaged.
        ASSERT_THAT(connection->execute("UPDATE chunks SET data=zeroblob(length(data)) WHERE id=("
                                        "SELECT min(id) FROM chunks)"),
                    IsOk());
    }
    auto saved = salvageRecording(m_good, m_out, false);
    ASSERT_THAT(saved, IsOk());
    EXPECT_GT(saved->lostEvents(), 0u);
    const auto summary = openRecording(m_out).value()->summary();
    EXPECT_EQ(summary->run.worldSize, 8);
    ASSERT_EQ(summary->ranks.size(), 2u);
    for (const RankFacts& rank : summary->ranks) EXPECT_NE(rank.device, "(lost)");
}

TEST_F(SalvageTest, KeepsCollectivesOfEveryOperation) {
    {
        auto connection = Connection::open(m_good, Connection::Mode::kCreate);
        ASSERT_THAT(unpackInPlace(*connection), IsOk());
        for (const CollectiveOp operation : kAll<CollectiveOp>) {
            const std::string row = std::to_string(static_cast<int>(operation));
            ASSERT_THAT(connection->execute("UPDATE collectives SET operation='" +
                                            std::string(toWord(operation)) +
                                            "' WHERE rank=0 AND sequence=" + row),
                        IsOk());
        }
        ASSERT_THAT(connection->execute("UPDATE collectives SET dtype='unknown', size_bytes=-1"
                                        " WHERE rank=0 AND sequence=1"),
                    IsOk());
    }
    auto saved = salvageRecording(m_good, m_out, false);
    ASSERT_THAT(saved, IsOk());
    EXPECT_TRUE(saved->lossless());
    EXPECT_EQ(saved->events.total(), m_events);
}

TEST_F(SalvageTest, FinishesWhatItsWriterCouldNot) {
    ASSERT_THAT(test::writeSampleRecording(m_good, {.steps = 4, .finalise = false}), IsOk());
    auto saved = salvageRecording(m_good, m_out, false);
    ASSERT_THAT(saved, IsOk());
    EXPECT_EQ(saved->events.total(), m_events);
    const auto summary = openRecording(m_out).value()->summary();
    EXPECT_TRUE(summary->complete);
    EXPECT_EQ(summary->run.status, RunStatus::kFailed);
    EXPECT_TRUE(verifyRecording(m_out)->sound());
}

/// What a recorder that was killed leaves, copied without its log.
TEST_F(SalvageTest, OfAnUnfinishedFileWhatNeverReachedItIsNotCalledDropped) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    {
        auto writer = RecordingWriter::create(path, {}, false);
        ASSERT_THAT(writer, IsOk());
        ASSERT_THAT(writer->addHost({}), IsOk());
        RankFacts rank;
        rank.emitted = 1000;
        rank.dropped = 30;
        ASSERT_THAT(writer->putRank(rank), IsOk());
        ASSERT_THAT(writer->addLane({{0}, {0}, LaneRole::kHost, "operators", "", 0}), IsOk());
        std::vector<SpanEvent> spans(70);
        ASSERT_THAT(writer->addChunk(columns::encodeSpans({0}, spans)), IsOk());
        ASSERT_THAT(writer->flush(), IsOk());
    }
    const auto saved = salvage(contentsOf(path), "an unfinished file");
    ASSERT_TRUE(saved);
    EXPECT_EQ(saved->unreceived, 900u);
    EXPECT_FALSE(saved->lossless());
    const auto summary = openRecording(m_out).value()->summary();
    ASSERT_THAT(summary, IsOk());
    EXPECT_EQ(summary->ranks.at(0).emitted, 1000u);
    EXPECT_EQ(summary->ranks.at(0).dropped, 30u) << "no queue was full for these";
    ASSERT_FALSE(summary->diagnostics.empty());
    EXPECT_NE(summary->diagnostics.back().message.find("900 that its ranks counted"),
              std::string::npos);
}

/// As every command counts: what one rank stored beyond its count, having been ended after its last
/// word, does not make up for what another lacks.
TEST_F(SalvageTest, CountsWhatIsLackingByRank) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    {
        auto writer = RecordingWriter::create(path, {}, false);
        ASSERT_THAT(writer, IsOk());
        ASSERT_THAT(writer->addHost({}), IsOk());
        for (const auto& [number, emitted] : {std::pair(0U, 100U), std::pair(1U, 50U)}) {
            RankFacts rank;
            rank.rank = {number};
            rank.emitted = emitted;
            rank.dropped = 10;
            ASSERT_THAT(writer->putRank(rank), IsOk());
            ASSERT_THAT(writer->addLane({{number}, {0}, LaneRole::kHost, "operators", "", 0}),
                        IsOk());
            const std::vector<SpanEvent> spans(60);
            ASSERT_THAT(writer->addChunk(columns::encodeSpans({number}, spans)), IsOk());
        }
        ASSERT_THAT(writer->finalise(RunStatus::kFailed, {1}), IsOk());
    }
    const auto whole = openRecording(path).value()->summary();
    ASSERT_THAT(whole, IsOk());
    const EventAccount account = eventAccount(*whole);
    EXPECT_EQ(account.stored, 120u);
    EXPECT_EQ(account.uncounted, 20u);
    EXPECT_EQ(account.lost, 30u);
    const auto saved = salvage(contentsOf(path), "a run of which a rank was killed");
    ASSERT_TRUE(saved);
    EXPECT_EQ(saved->missed, account.lost);
}

}  // namespace
}  // namespace shardscope::storage
