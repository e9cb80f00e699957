#include "engine/run/config/byte_text.h"

#include "engine/run/config/run_config.h"

#include <gmock/gmock.h>

#include <random>

namespace shardscope::run {
namespace {

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
