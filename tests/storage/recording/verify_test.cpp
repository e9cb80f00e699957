// What info --verify finds, one kind of fault after the other.
#include "storage/columns/chunk.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/verify/verify_recording.h"
#include "storage/recording/write/recording_writer.h"
#include "storage/sqlite/connection.h"
#include "tests/storage/recording/unpacked.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

namespace shardscope::storage {
namespace {

using test::FailsAs;
using test::IsOk;

std::string faultsOf(const Result<Verification>& found) {
    if (!found) return found.error().message;
    std::string text;
    for (const Fault& fault : found->faults) text += fault.where + ": " + fault.what + "\n";
    return text;
}

TEST(Verify, FindsSampleRecordingsSound) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    for (const bool gpu : {false, true})
        for (const bool finalise : {false, true}) {
            ASSERT_THAT(
                test::writeSampleRecording(path, {.steps = 5, .gpu = gpu, .finalise = finalise}),
                IsOk());
            const auto found = verifyRecording(path);
            EXPECT_TRUE(found && found->sound()) << faultsOf(found);
            EXPECT_EQ(found->complete, finalise);
            EXPECT_GT(found->events.total(), 3000u);
            EXPECT_EQ(found->notes.empty(), finalise);
        }
    EXPECT_THAT(verifyRecording(folder.file("none")), FailsAs(ErrorCode::kUnreadable));
}

struct Damage {
    const char* sql;
    const char* where;
    const char* what;
};

TEST(Summary, CountsTheRowsThatWereThereWhenItWasFinalised) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path, {.steps = 4}), IsOk());
    EXPECT_TRUE((*openRecording(path))->summary()->lostRows.empty());
    {
        auto connection = Connection::open(path, Connection::Mode::kCreate);
        ASSERT_THAT(connection->execute("DELETE FROM steps WHERE step=2; DELETE FROM metrics"),
                    IsOk());
    }
    const auto lost = (*openRecording(path))->summary()->lostRows;
    ASSERT_EQ(lost.size(), 2u);
    EXPECT_EQ(lost[0].table, "metrics");
    EXPECT_EQ(lost[0].found, 0u);
    EXPECT_EQ(lost[1].table, "steps");
    EXPECT_EQ(lost[1].written, 8u);
    EXPECT_EQ(lost[1].found, 6u);
}

class VerifyDamage : public ::testing::TestWithParam<Damage> {};

TEST_P(VerifyDamage, IsFound) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    ASSERT_THAT(test::writeSampleRecording(path, {.steps = 2, .pyramids = true}), IsOk());
    {
        auto connection = Connection::open(path, Connection::Mode::kCreate);
        ASSERT_THAT(unpackInPlace(*connection), IsOk());
        ASSERT_THAT(connection->execute(GetParam().sql), IsOk());
    }
    const auto found = verifyRecording(path);
    ASSERT_THAT(found, IsOk());
    EXPECT_FALSE(found->sound());
    EXPECT_NE(faultsOf(found).find(std::string(GetParam().where) + ": "), std::string::npos)
        << faultsOf(found);
    EXPECT_NE(faultsOf(found).find(GetParam().what), std::string::npos) << faultsOf(found);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, VerifyDamage,
    ::testing::Values(
        Damage{"DELETE FROM ranks WHERE rank=1", "chunks", "which has no row in ranks"},
        Damage{"DELETE FROM hosts", "ranks", "host 0, which has no row"},
        Damage{"DELETE FROM lanes WHERE lane=2", "chunks", "on lane 2, which has no row"},
        Damage{"DELETE FROM strings WHERE id=3", "chunks", "strings that are not there"},
        Damage{"UPDATE chunks SET count=count+1 WHERE id=1", "chunks", "than its row"},
        Damage{"UPDATE chunks SET last_ns=last_ns+1 WHERE id=1", "chunks", "than its row"},
        Damage{"UPDATE chunks SET rank=1-rank WHERE id=1", "chunks", "than its row"},
        Damage{"UPDATE chunks SET data=zeroblob(99) WHERE id=1", "chunks", "is no chunk"},
        Damage{"UPDATE chunks SET data=substr(data,1,length(data)-1) WHERE id=1", "chunks",
               "does not decode"},
        Damage{"UPDATE memory_state SET peak_bytes=peak_bytes+1", "memory_state", "sum up to"},
        Damage{"DELETE FROM memory_state", "memory_state", "has none"},
        Damage{"INSERT INTO memory_state VALUES(99999,x'',0,0,x'')", "memory_state",
               "belong to no memory chunk"},
        Damage{"UPDATE pyramid SET data=x'00'", "pyramid", "malformed"},
        Damage{"DELETE FROM pyramid WHERE level=5", "pyramid", "is missing"},
        Damage{"UPDATE pyramid SET through_chunk=0 WHERE level=12", "pyramid", "sums up"},
        Damage{"DELETE FROM chunks WHERE id=(SELECT max(id) FROM chunks WHERE kind=1)", "pyramid",
               "sums up"},
        Damage{"DELETE FROM chunks WHERE id=1", "ranks", "are stored"},
        Damage{"UPDATE steps SET end_ns=start_ns-1 WHERE step=0", "steps", "ends before"},
        Damage{"UPDATE steps SET start_ns=0 WHERE step=1", "steps", "starts before"},
        Damage{"UPDATE collectives SET end_ns=start_ns-1 WHERE sequence=2", "collectives",
               "times out of order"},
        Damage{"UPDATE collectives SET operation='gossip'", "collectives", "unknown word"},
        Damage{"UPDATE run SET status=9", "run", "status 9"},
        Damage{"DELETE FROM run; INSERT INTO run SELECT * FROM run", "run", "0 rows"}));

TEST(Verify, NamesTheTableWhoseRowsWereChanged) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    for (const auto& [table, sql] :
         {std::pair{"run", "UPDATE run SET strategy='zero2'"},
          std::pair{"hosts", "UPDATE hosts SET cores=cores+1"},
          std::pair{"ranks", "UPDATE ranks SET peak_flops=peak_flops*2"},
          std::pair{"devices", "UPDATE devices SET name='another'"},
          std::pair{"lanes", "UPDATE lanes SET name='x' WHERE lane=2 AND rank=0"},
          std::pair{"steps", "DELETE FROM steps WHERE step=(SELECT max(step) FROM steps)"},
          std::pair{"packed", "UPDATE packed SET bytes=bytes+1"},
          std::pair{"metrics", "DELETE FROM metrics"},
          std::pair{"memory_theory", "UPDATE memory_theory SET size_bytes=1"},
          std::pair{"facts", "UPDATE facts SET value='another'"},
          std::pair{"processes", "UPDATE processes SET exit_code=7 WHERE rank=0"},
          std::pair{"diagnostics", "INSERT INTO diagnostics VALUES(99,1,'c','m','r',NULL,0,1)"},
          std::pair{"meta", "UPDATE meta SET value='another' WHERE key='format'"},
          std::pair{"chunks", "UPDATE chunks SET id=id+1000"}}) {
        ASSERT_THAT(test::writeSampleRecording(path, {.steps = 2, .gpu = true, .program = true}),
                    IsOk());
        ASSERT_TRUE(verifyRecording(path)->sound());
        {
            auto connection = Connection::open(path, Connection::Mode::kCreate);
            ASSERT_THAT(connection->execute(sql), IsOk());
        }
        const auto found = verifyRecording(path);
        EXPECT_NE(faultsOf(found).find(std::string(table) + ": its rows do not match"),
                  std::string::npos)
            << table << "\n"
            << faultsOf(found);
    }
}

/// Everything that rows say.
std::string contentOf(const std::string& path) {
    auto connection = Connection::open(path, Connection::Mode::kImmutable);
    std::string text;
    for (const char* table :
         {"meta", "run", "hosts", "ranks", "devices", "lanes", "strings", "steps", "collectives",
          "packed", "metrics", "memory_theory", "facts", "processes", "diagnostics"}) {
        auto select = connection->prepare(std::string("SELECT * FROM ") + table);
        if (!select) return text + table;
        while (true) {
            const auto row = select->step();
            if (!row || !*row) break;
            for (int i = 0; i < select->columnCount(); ++i) {
                const auto blob = select->blob(i);
                text.append(reinterpret_cast<const char*>(blob.data()), blob.size()) += ';';
            }
        }
    }
    return text;
}

TEST(Verify, NoFlippedBitChangesRowsUnseen) {
    const test::TemporaryFolder folder;
    const std::string good = folder.file("good.sscope"), bad = folder.file("bad.sscope");
    ASSERT_THAT(test::writeSampleRecording(good, {.steps = 2, .gpu = true}), IsOk());
    std::ifstream file(good, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const std::string content = contentOf(good);
    std::mt19937_64 random(17);
    int changed = 0;
    for (int i = 0; i < 400; ++i) {
        std::string flipped = bytes;
        const std::size_t at = 100 + random() % (bytes.size() - 100);
        flipped[at] = static_cast<char>(flipped[at] ^ 1 << random() % 8);
        std::ofstream(bad, std::ios::binary) << flipped;
        const auto found = verifyRecording(bad);
        if (!found || !found->sound()) continue;
        EXPECT_EQ(contentOf(bad), content) << at;
        changed += contentOf(bad) != content ? 1 : 0;
    }
    EXPECT_EQ(changed, 0);
}

TEST(Verify, HoldsPyramidsOfManyEventsToThem) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    RunFacts run;
    run.id = "run";
    auto writer = RecordingWriter::create(path, run, false);
    ASSERT_THAT(writer, IsOk());
    ASSERT_THAT(writer->addHost({}), IsOk());
    ASSERT_THAT(writer->putRank({}), IsOk());
    ASSERT_THAT(writer->addLane({{0}, {2}, LaneRole::kHost, "operators", "", 0}), IsOk());
    test::RandomEvents random(5);
    auto events = random.nestedSpans(150'000, {1'000'000});
    for (SpanEvent& event : events)
        event = {event.start, event.duration, {2}, {}, {}, 0, {}, {}, {}, event.depth};
    for (std::size_t at = 0; at < events.size(); at += 1000)
        ASSERT_THAT(
            writer->addChunk(columns::encodeSpans({0}, std::span(events).subspan(at, 1000))),
            IsOk());
    ASSERT_THAT(writer->finalise(RunStatus::kFinished, {1}, Pyramids::kAll), IsOk());
    const auto found = verifyRecording(path);
    EXPECT_TRUE(found && found->sound()) << faultsOf(found);
    EXPECT_LE(found->chunks, 19u) << "150 small chunks became few";
    EXPECT_GT(found->pyramidSegments, 10u);
}

}  // namespace
}  // namespace shardscope::storage
