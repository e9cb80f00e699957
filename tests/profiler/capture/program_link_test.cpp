// What a process and its recorder say, as bytes and back.
#include "profiler/capture/program_link.h"

#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace shardscope::capture {
namespace {

using test::FailsWith;

std::vector<LinkMessage> examples() {
    StepEnded step;
    step.step.rank = RankId{3};
    step.step.step = {7};
    step.step.start = {100};
    step.step.end = {250};
    step.step.coreWaitNs = 9;
    step.capture = CaptureLevel::kLight;
    step.reason = DetailReason::kRequest;
    step.source = "optimizer";
    return {ProcessHello{12, 34, "shardscope"},
            ProcessFact{"torch", "2.11.0"},
            RankClaim{1, "RANK"},
            LaneFacts{RankId{1}, LaneId{2}, LaneRole::kHost, "operators", "", 2},
            NewStrings{StringId{5}, {"a", "b\nc", ""}},
            step,
            MetricPoint{"loss", {3}, {55}, 0.25},
            LogText{"warning", "something"},
            ProcessEnding{7, 100, 2},
            CaptureChange{"light", "1-2", 3},
            EventChunk{columns::ChunkBytes(70'000, std::byte{9})},
            CollectiveProgress{"0", 9, 7, "all-reduce", 5},
            ClockLine{1, 2, 3}};
}

TEST(ProgramLink, AllMessagesComeBackAsTheyWere) {
    LinkReader reader;
    std::vector<std::byte> stream;
    for (const LinkMessage& each : examples()) {
        const auto frame = encodeLink(each);
        stream.insert(stream.end(), frame.begin(), frame.end());
    }
    // In pieces of any length.
    std::vector<LinkMessage> read;
    for (std::size_t at = 0; at < stream.size(); at += 777) {
        reader.append(
            std::span(stream).subspan(at, std::min<std::size_t>(777, stream.size() - at)));
        for (;;) {
            auto message = reader.next();
            ASSERT_TRUE(message);
            if (!*message) break;
            read.push_back(std::move(**message));
        }
    }
    ASSERT_EQ(read.size(), examples().size());
    for (std::size_t i = 0; i < read.size(); ++i)
        EXPECT_EQ(encodeLink(read[i]), encodeLink(examples()[i])) << i;
    EXPECT_EQ(read.size(), std::variant_size_v<LinkMessage>);
    EXPECT_EQ(std::get<StepEnded>(read[5]).step.coreWaitNs, 9);
    EXPECT_EQ(std::get<StepEnded>(read[5]).reason, DetailReason::kRequest);
}

TEST(ProgramLink, RefusesOtherVersionsAndWhatIsNoMessage) {
    auto frame = encodeLink(LogText{"info", "x"});
    frame[6] = std::byte{99};
    LinkReader reader;
    reader.append(frame);
    EXPECT_THAT(reader.next(), FailsWith("of another version of Shardscope"));
    frame = encodeLink(LogText{"info", "x"});
    frame[4] = std::byte{99};
    LinkReader other;
    other.append(frame);
    EXPECT_THAT(other.next(), FailsWith("bytes that are no message"));
}

/// Whatever a program sends: a message or a sentence.
TEST(ProgramLink, DamagedBytesDoNoHarm) {
    std::mt19937 random(11);
    const auto all = examples();
    for (int round = 0; round < 20'000; ++round) {
        auto frame = encodeLink(all[random() % all.size()]);
        for (std::uint32_t i = random() % 4; i < 4; ++i)
            frame[8 + random() % (frame.size() - 8)] = static_cast<std::byte>(random());
        LinkReader reader;
        reader.append(frame);
        static_cast<void>(reader.next());
    }
}

TEST(ProcessCaptures, ComeBackFromTheirText) {
    const ProcessCapture capture{{CaptureLevel::kLight, "1-2,7", 5}, 123'456'789};
    const auto read = parseProcessCapture(textOf(capture));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->wish.level, CaptureLevel::kLight);
    EXPECT_EQ(read->wish.steps, "1-2,7");
    EXPECT_EQ(read->wish.every, 5);
    EXPECT_EQ(read->originNs, 123'456'789);
    for (const char* text : {"", "full", "much;;0;1", "full;;x;1", "full;;0;"})
        EXPECT_THAT(parseProcessCapture(text), FailsWith("not what a recorder sets")) << text;
}

}  // namespace
}  // namespace shardscope::capture
