// Pickle as PyTorch writes it, read without running anything of it.
#include "storage/interchange/memory_snapshot/pickle_reader.h"

#include "tests/storage/interchange_formats/pickle_codes.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace shardscope::interchange {
namespace {

using test::FailsWith;
using test::IsOk;

class TextSource : public ByteSource {
public:
    explicit TextSource(std::string text) : m_text(std::move(text)) {}
    Result<std::size_t> read(std::span<char> into) override {
        // In small pieces, so that everything is cut somewhere.
        const std::size_t part = std::min({into.size(), m_text.size() - m_at, std::size_t{7}});
        std::memcpy(into.data(), m_text.data() + m_at, part);
        m_at += part;
        return part;
    }
    [[nodiscard]] double share() const override { return 0; }

private:
    std::string m_text;
    std::size_t m_at = 0;
};

Result<PickleDocument> parse(const std::string& text, std::size_t budget = kPickleBudget) {
    TextSource source(text);
    return readPickle(source, budget);
}

TEST(PickleReader, ReadsNumbersOfEveryWidth) {
    const auto document =
        parse(kProtocol4 + "]" + "(" + bytes({'K', 200, 'M', 1, 2}) +
              bytes({'J', 0xff, 0xff, 0xff, 0xff}) + bytes({0x8a, 2, 0x00, 0x80}) +
              bytes({0x8a, 0}) + bytes({0x8a, 9, 1, 0, 0, 0, 0, 0, 0, 0x80, 0}) +
              bytes({'G', 0x3f, 0xe0, 0, 0, 0, 0, 0, 0}) + bytes({0x88, 0x89, 'N'}) + "e.");
    ASSERT_THAT(document, IsOk());
    const auto& items = document->items(document->root);
    ASSERT_EQ(items.size(), 10u);
    const std::int64_t expected[] = {200,    513, -1,
                                     -32768, 0,   static_cast<std::int64_t>(0x8000000000000001u)};
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(items[i].integer, expected[i]) << i;
    EXPECT_EQ(items[6].real, 0.5);
    EXPECT_EQ(items[7].integer, 1);
    EXPECT_EQ(items[9].kind, PickleKind::kNone);
}

TEST(PickleReader, SharesWhatWasRemembered) {
    // {'a': [1], 'b': the same list}
    const auto document = parse(kProtocol4 + "}(" + bytes({0x8c, 1, 'a', ']', 0x94, 'K', 1, 'a'}) +
                                bytes({0x8c, 1, 'b', 'h', 0}) + "u.");
    ASSERT_THAT(document, IsOk());
    for (const char* key : {"a", "b"})
        EXPECT_EQ(document->items(document->member(document->root, key)).size(), 1u);
    EXPECT_FALSE(document->has(document->root, "c"));
}

TEST(PickleReader, RefusesByNameWhatWouldRunCode) {
    const std::pair<int, const char*> codes[] = {
        {'c', "GLOBAL"},     {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},
        {'b', "BUILD"},      {'i', "INST"},          {'o', "OBJ"},
        {0x81, "NEWOBJ"},    {0x92, "NEWOBJ_EX"},    {'P', "PERSID"},
        {'Q', "BINPERSID"},  {0x82, "EXT1"},         {0x83, "EXT2"},
        {0x84, "EXT4"},      {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"},
        {0x8f, "EMPTY_SET"}, {'I', "protocol 0"},    {0xfe, "where an opcode belongs"}};
    for (const auto& [code, name] : codes)
        EXPECT_THAT(parse(kProtocol4 + bytes({code}) + "os\nsystem\n."), FailsWith(name));
}

TEST(PickleReader, RefusesBrokenStacks) {
    EXPECT_THAT(parse("hello"), FailsWith("does not begin as one"));
    EXPECT_THAT(parse(bytes({0x80, 6})), FailsWith("protocol 6"));
    EXPECT_THAT(parse(kProtocol4 + "."), FailsWith("where there is none"));
    EXPECT_THAT(parse(kProtocol4 + "(."), FailsWith("where there is none"));
    EXPECT_THAT(parse(kProtocol4 + "e"), FailsWith("never opened"));
    EXPECT_THAT(parse(kProtocol4 + "N(Ne"), FailsWith("no list or dict"));
    EXPECT_THAT(parse(kProtocol4 + "}(Nu"), FailsWith("without a value"));
    EXPECT_THAT(parse(kProtocol4 + "NN."), FailsWith("belong to nothing"));
    EXPECT_THAT(parse(kProtocol4 + bytes({'h', 3})), FailsWith("never written"));
    EXPECT_THAT(parse(kProtocol4 + "q"), FailsWith("ends in the middle"));
    EXPECT_THAT(parse(kProtocol4 + bytes({0x94})), FailsWith("where there is none"));
    EXPECT_THAT(parse(kProtocol4 + bytes({0x8a, 20})), FailsWith("number of 20 bytes"));
}

TEST(PickleReader, MemoryIsBounded) {
    constexpr std::size_t kBudget = 1u << 20;
    const std::string huge = bytes({0x8d, 0, 0, 0, 0, 0, 1, 0, 0});
    EXPECT_THAT(parse(kProtocol4 + huge, kBudget), FailsWith("more than 1 MiB"));
    // Promised, but not there: nothing is allocated for it.
    EXPECT_THAT(parse(kProtocol4 + bytes({'X', 0, 0, 0, 0x7f}) + "abc"),
                FailsWith("ends in the middle"));
    EXPECT_THAT(parse(kProtocol4 + std::string(1u << 20, '('), kBudget), FailsWith("1 MiB"));
    EXPECT_THAT(parse(kProtocol4 + std::string(1u << 20, ']'), kBudget), FailsWith("1 MiB"));
    std::string keys = kProtocol4 + "}(";
    for (int i = 0; i < 1001; ++i) keys += bytes({'M', i & 255, i >> 8, 'N'});
    EXPECT_THAT(parse(keys + "u."), FailsWith("thousand keys"));
    EXPECT_THAT(parse(kProtocol4 + bytes({']', 0x94, 'h', 0, 'a', '.'})), IsOk())
        << "a list that holds itself is only data";
}

TEST(PickleReader, AnyDamageIsNamedOrHarmless) {
    const std::string good = kProtocol4 + "}(" +
                             bytes({0x8c, 1, 'a', 0x94, ']', '(', 'K', 1, 'M', 1, 2, 'e'}) +
                             bytes({0x8c, 1, 'b', 'h', 0, 'u', '.'});
    ASSERT_THAT(parse(good), IsOk());
    for (std::size_t length = 0; length < good.size(); ++length)
        EXPECT_FALSE(parse(good.substr(0, length)).has_value()) << length;
    test::RandomEvents random(3);
    int refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string damaged = good;
        for (int k = 0; k < 3; ++k)
            damaged[static_cast<std::size_t>(
                random.between(0, static_cast<std::int64_t>(good.size()) - 1))] =
                static_cast<char>(random.between(0, 255));
        const auto document = parse(damaged, 1u << 16);
        if (!document) ++refused;
        if (document) static_cast<void>(document->items(document->member(document->root, "a")));
    }
    EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace shardscope::interchange
