#include "engine/run/protocol/frame.h"

#include "engine/run/config/run_config.h"
#include "storage/model/plain_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

namespace shardscope::run {
namespace {

using testing::HasSubstr;

std::vector<std::byte> threeFrames() {
    std::vector<std::byte> stream = encodeMessage(RankId{0}, "first");
    for (const auto& more : {encodeFrame(FrameType::kChunk, RankId{7}, {}),
                             encodeMessage(kNoRank, "third, a little longer")}) {
        stream.insert(stream.end(), more.begin(), more.end());
    }
    return stream;
}

std::vector<Frame> takeAll(FrameParser& parser) {
    std::vector<Frame> frames;
    while (true) {
        auto next = parser.next();
        EXPECT_TRUE(next.has_value()) << next.error().message;
        if (!next || !*next) return frames;
        frames.push_back(std::move(**next));
    }
}

TEST(FrameParser, GivesTheSameFramesForAnySplitOfTheBytes) {
    const std::vector<std::byte> stream = threeFrames();
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
        FrameParser parser;
        std::vector<Frame> frames;
        for (std::size_t at = 0; at < stream.size(); at += piece) {
            parser.append(std::span(stream).subspan(at, std::min(piece, stream.size() - at)));
            for (Frame& frame : takeAll(parser)) frames.push_back(std::move(frame));
        }
        ASSERT_EQ(frames.size(), 3u) << "pieces of " << piece;
        EXPECT_EQ(frames[0].text(), "first");
        EXPECT_EQ(frames[1].type, FrameType::kChunk);
        EXPECT_EQ(frames[1].rank, RankId{7});
        EXPECT_TRUE(frames[1].payload.empty());
        EXPECT_EQ(frames[2].rank, kNoRank);
        EXPECT_EQ(frames[2].text(), "third, a little longer");
    }
}

TEST(FrameParser, WaitsForTheRestOfAFrame) {
    std::vector<std::byte> frame = encodeMessage(RankId{1}, "hello");
    FrameParser parser;
    parser.append(std::span(frame).first(frame.size() - 1));
    EXPECT_TRUE(takeAll(parser).empty());
    parser.append(std::span(frame).last(1));
    EXPECT_EQ(takeAll(parser).size(), 1u);
}

TEST(FrameParser, RefusesAnotherProtocolVersionInWords) {
    std::vector<std::byte> frame = encodeMessage(RankId{0}, "x");
    frame[6] = std::byte{kProtocolVersion + 1};
    FrameParser parser;
    parser.append(frame);
    const auto next = parser.next();
    ASSERT_FALSE(next.has_value());
    EXPECT_THAT(next.error().message,
                HasSubstr(fmt::format("protocol version {}", kProtocolVersion + 1)));
    EXPECT_THAT(next.error().message, HasSubstr("the same build"));
}

TEST(FrameParser, RefusesAnOversizedFrameBeforeReadingIt) {
    std::vector<std::byte> frame = encodeMessage(RankId{0}, "x");
    frame[3] = std::byte{0xFF};
    FrameParser parser;
    parser.append(frame);
    const auto next = parser.next();
    ASSERT_FALSE(next.has_value());
    EXPECT_THAT(next.error().message, HasSubstr("at most"));
}

TEST(FrameParser, RefusesAnUnknownType) {
    std::vector<std::byte> frame = encodeMessage(RankId{0}, "x");
    frame[4] = std::byte{77};
    FrameParser parser;
    parser.append(frame);
    const auto next = parser.next();
    ASSERT_FALSE(next.has_value());
    EXPECT_THAT(next.error().message, HasSubstr("frame type 77"));
}

TEST(ByteText, LeavesTextAsItIs) {
    for (const std::string text : {"", "run.sscope", "Größe", "日本", "\U0001F600"}) {
        EXPECT_TRUE(isUtf8(text));
        EXPECT_EQ(utf8OfBytes(text), text);
    }
}

TEST(ByteText, AByteOfNoCharacterStandsInForItself) {
    EXPECT_EQ(utf8OfBytes("ck\xff"), "ck\U0010FEFF");
    EXPECT_EQ(bytesOfUtf8("ck\U0010FEFF"), "ck\xff");
}

TEST(ByteText, KnowsWhatIsNoUtf8) {
    // Lone, cut, not the shortest, a surrogate, beyond the last character.
    for (const std::string bytes :
         {"\x80", "\xc3", "\xe2\x82", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"})
        EXPECT_FALSE(isUtf8(bytes));
}

TEST(ByteText, AnyBytesComeBack) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        std::string bytes;
        for (auto i = random() % 24; i > 0; --i) bytes += static_cast<char>(random() & 0xFFu);
        if (round % 3 == 0) bytes += "\U0010FE41";  // a stand-in by itself
        const std::string text = utf8OfBytes(bytes);
        EXPECT_TRUE(isUtf8(text));
        EXPECT_EQ(bytesOfUtf8(text), bytes);
    }
}

TEST(ByteText, ARunConfigurationKeepsPathsThatAreNoUtf8) {
    RunConfig config;
    config.data = "d\xe9p\xf4t/text";
    config.checkpoint = "ck\xff";
    const auto read = parseRunConfigJson(toJson(config));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->data, config.data);
    EXPECT_EQ(read->checkpoint, config.checkpoint);
    EXPECT_TRUE(isUtf8(toJson(config)));
    const std::string line = toCommandLine(config);
    EXPECT_TRUE(isUtf8(line));
    EXPECT_THAT(line, testing::HasSubstr("--checkpoint $'ck\\xff'"));
}

}  // namespace
}  // namespace shardscope::run
