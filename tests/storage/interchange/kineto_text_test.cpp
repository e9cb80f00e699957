// Numbers, JSON text and windows of events.
#include "storage/interchange/byte_source.h"
#include "storage/interchange/decimal.h"
#include "storage/interchange/kineto/in/event.h"
#include "storage/interchange/kineto/in/event_stream.h"
#include "tests/support/result_matchers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace shardscope::interchange::kineto {
namespace {

using test::FailsAs;
using test::FailsWith;
using test::IsOk;

TEST(ParseMicroseconds, IsExactWhereADoubleIsNot) {
    const auto ns = [](std::string_view text) {
        const auto parsed = parseMicroseconds(text);
        EXPECT_TRUE(parsed) << text;
        EXPECT_FALSE(parsed && parsed->rounded) << text;
        return parsed ? parsed->value : -1;
    };
    EXPECT_EQ(ns("0"), 0);
    EXPECT_EQ(ns("42"), 42'000);
    EXPECT_EQ(ns("4458676522690.655"), 4'458'676'522'690'655);
    EXPECT_EQ(ns("1711964646000000.001"), 1'711'964'646'000'000'001);  // beyond a double
    EXPECT_EQ(ns("0.5"), 500);
    EXPECT_EQ(ns("-1.25"), -1'250);
    EXPECT_EQ(ns("1.5e3"), 1'500'000);
    EXPECT_EQ(ns("1500E-3"), 1'500);
    EXPECT_EQ(ns("1.000000"), 1'000);
    EXPECT_EQ(ns("0e999999"), 0);
}

TEST(ParseMicroseconds, RoundsWhatIsFinerThanANanosecondAndSaysSo) {
    for (const auto& [text, value] : {std::pair{"1.0004", 1'000},
                                      {"1.0005", 1'001},
                                      {"-1.0005", -1'001},
                                      {"1e-5", 0},
                                      {"0.0009", 1}}) {
        const auto parsed = parseMicroseconds(text);
        ASSERT_TRUE(parsed) << text;
        EXPECT_EQ(parsed->value, value) << text;
        EXPECT_TRUE(parsed->rounded) << text;
    }
}

TEST(ParseMicroseconds, RefusesWhatIsNoNumber) {
    for (const char* text : {"", "-", ".5", "1.", "NaN", "inf", "1e", "1e+", "0x10", "1 ", "1.2.3",
                             "9999999999999999999", "1e30", "1e99999999999", "--1"})
        EXPECT_FALSE(parseMicroseconds(text)) << text;
}

/// What std::stod cannot: any value of a large range comes back as it was written.
TEST(ParseMicroseconds, ComesBackAsWritten) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 20'000; ++i) {
        const auto value = static_cast<std::int64_t>(random() >> 4 >> (random() % 59));
        std::string fraction = std::to_string(value % 1000);
        fraction.insert(0, 3 - fraction.size(), '0');
        const auto parsed = parseMicroseconds(std::to_string(value / 1000) + "." + fraction);
        ASSERT_TRUE(parsed);
        ASSERT_EQ(parsed->value, value);
    }
}

TEST(JsonText, EscapesAreResolved) {
    EXPECT_EQ(textOf(R"("a\"b\\c\/d\n\t")"), "a\"b\\c/d\n\t");
    EXPECT_EQ(textOf(R"("\u00e9\u20ac\ud83d\ude00")"), "é€😀");
    EXPECT_EQ(textOf(R"("\ud83d \u12")"),
              "\xEF\xBF\xBD \xEF\xBF\xBD"
              "12");
    EXPECT_EQ(textOf("7"), "7");
    EXPECT_EQ(jsonString("a\"\n"), R"("a\"\n")");
    EXPECT_EQ(quoteNonFinite(R"({"a":NaN,"b":[1,-inf,"NaN"],"c":{}})"),
              R"({"a":"NaN","b":[1,"-inf","NaN"],"c":{}})");
}

TEST(JsonText, OnlyJsonIsSkipped) {
    const auto sound = [](std::string_view text) {
        TextFlags flags;
        return skipValue(text.data(), text.data() + text.size(), flags) ==
               text.data() + text.size();
    };
    for (const char* text : {"1", "-1.5e-3", "\"a\"", "[]", "{}", "[1,[2,{\"a\":null}]]", "true"})
        EXPECT_TRUE(sound(text)) << text;
    for (const char* text : {"", "01x", "[1,]", "[1", "{\"a\"}", "{\"a\":}", "{a:1}", "nul", "\"a",
                             "[1}", "1.", "{\"a\":1,}"})
        EXPECT_FALSE(sound(text)) << text;
    EXPECT_TRUE(sound(std::string(200, '[') + std::string(200, ']')));
    EXPECT_FALSE(sound(std::string(202, '[') + std::string(202, ']')));
    EXPECT_FALSE(sound(std::string(1'000'000, '[')));
}

/// Gives its bytes in pieces of chosen sizes.
class Pieces : public ByteSource {
public:
    Pieces(std::string text, std::vector<std::size_t> ends)
        : m_text(std::move(text)), m_ends(std::move(ends)) {}
    Result<std::size_t> read(std::span<char> into) override {
        const auto next = std::upper_bound(m_ends.begin(), m_ends.end(), m_at);
        const std::size_t end = next == m_ends.end() ? m_text.size() : *next;
        const std::size_t count = std::min(into.size(), end - m_at);
        std::copy_n(m_text.begin() + static_cast<std::ptrdiff_t>(m_at), count, into.begin());
        m_at += count;
        return count;
    }
    [[nodiscard]] double share() const override { return 0; }

private:
    std::string m_text;
    std::vector<std::size_t> m_ends;
    std::size_t m_at = 0;
};

struct Seen {
    std::vector<std::string> events;
    std::map<std::string, std::string> metadata;
    bool cutOff = false;
    friend bool operator==(const Seen&, const Seen&) = default;
};

Result<Seen> readAll(const std::string& text, std::vector<std::size_t> ends, StreamLimits limits) {
    Pieces source(text, std::move(ends));
    EventStream stream(source, "the trace", limits);
    Seen seen;
    while (true) {
        auto window = stream.next();
        if (!window) return failure(window);
        if (!*window) break;
        std::string_view rest((*window)->data(), (*window)->size());
        Event event;
        while (const std::size_t length = readEvent(rest, event)) {
            seen.events.emplace_back(event.text.empty() ? "malformed" : event.text);
            rest.remove_prefix(length);
        }
    }
    seen.metadata = stream.metadata();
    seen.cutOff = stream.cutOff();
    return seen;
}

constexpr StreamLimits kSmall{64, 1024, 1024};

const std::string kTrace = R"( {"schemaVersion": 1, "odd \"key": {"a": "]}\\"},
  "traceEvents": [
    {"ph": "X", "name": "a { \"[\\", "ts": 1, "args": {"x": [1, {"y": "}"}]}} ,
    {"ph":"i","name":"tab	in a text","ts":2},
    7, "}", {"broken" 1}, [1, 2],
    {"ph": "X", "name": "\\\\\"", "ts": 3}
  ], "traceName": "t.json", "baseTimeNanoseconds": 17
} )";

TEST(EventStream, WindowsCutAtEveryByteGiveTheSame) {
    const auto whole = readAll(kTrace, {}, {});
    ASSERT_THAT(whole, IsOk());
    ASSERT_EQ(whole->events.size(), 7u);
    EXPECT_EQ(whole->events[0],
              R"({"ph":"X","name":"a { \"[\\","ts":1,"args":{"x":[1,{"y":"}"}]}})");
    EXPECT_EQ(whole->events[4], "malformed");
    EXPECT_EQ(whole->metadata.at("baseTimeNanoseconds"), "17\n");
    EXPECT_EQ(whole->metadata.at("odd \\\"key"), R"({"a": "]}\\"})");
    EXPECT_FALSE(whole->cutOff);
    for (std::size_t cut = 1; cut < kTrace.size(); ++cut) {
        for (const StreamLimits& limits : {kSmall, StreamLimits{}}) {
            const auto seen = readAll(kTrace, {cut}, limits);
            ASSERT_THAT(seen, IsOk()) << cut;
            ASSERT_EQ(*seen, *whole) << cut;
        }
    }
    std::vector<std::size_t> everywhere(kTrace.size());
    for (std::size_t i = 0; i < everywhere.size(); ++i) everywhere[i] = i + 1;
    EXPECT_EQ(*readAll(kTrace, everywhere, kSmall), *whole);
}

TEST(EventStream, CutOffFilesGiveWhatIsWhole) {
    const auto whole = readAll(kTrace, {}, {});
    const std::size_t begin = kTrace.find('[', kTrace.find("traceEvents")) + 1;
    const std::size_t end = kTrace.find("], \"traceName");
    for (std::size_t size = begin; size < end; ++size) {
        const auto seen = readAll(kTrace.substr(0, size), {}, kSmall);
        ASSERT_THAT(seen, IsOk()) << size;
        EXPECT_TRUE(seen->cutOff) << size;
        ASSERT_LE(seen->events.size(), whole->events.size());
        EXPECT_TRUE(std::equal(seen->events.begin(), seen->events.end(), whole->events.begin()))
            << size;
    }
}

TEST(EventStream, BareArraysMayLackTheirEnd) {
    for (const char* text : {R"([{"ph":"X"},{"ph":"i"}])", R"([{"ph":"X"},{"ph":"i"})",
                             "[{\"ph\":\"X\"},{\"ph\":\"i\"}\n"}) {
        const auto seen = readAll(text, {}, kSmall);
        ASSERT_THAT(seen, IsOk());
        EXPECT_EQ(seen->events.size(), 2u) << text;
        EXPECT_FALSE(seen->cutOff) << text;
    }
    EXPECT_THAT(readAll("[]", {}, kSmall), IsOk());
}

TEST(EventStream, TakesOneEventALine) {
    const std::string text = R"({"ph":"X","name":"a","args":{"b":[1]}}
        {"ph":"i","name":"traceEvents"}
        {"ph":"X")";
    const std::string two = text.substr(0, text.rfind('{'));
    for (std::size_t cut = 0; cut < two.size(); ++cut) {
        const auto seen = readAll(two, {cut}, kSmall);
        ASSERT_THAT(seen, IsOk()) << cut;
        EXPECT_EQ(seen->events.size(), 2u) << cut;
        EXPECT_FALSE(seen->cutOff) << cut;
    }
    const auto cutOff = readAll(text, {}, kSmall);
    EXPECT_EQ(cutOff->events.size(), 2u);
    EXPECT_TRUE(cutOff->cutOff);
}

TEST(EventStream, ResolvesOnlyEscapesThatNeedNotBe) {
    const auto events = [](const std::string& event) {
        const auto seen = readAll("[" + event + "]", {}, kSmall);
        return seen->events.empty() ? std::string() : seen->events.front();
    };
    EXPECT_EQ(events(R"({"\u0070\u0068":"\u0058"})"), R"({"ph":"X"})");
    EXPECT_EQ(events(R"({"name":"a\u003cb\u003e"})"), R"({"name":"a<b>"})");
    for (const char* kept : {R"({"a":"\\u0058"})", R"({"a":"\u0022\u005c\u000a\u00e9\u2028"})",
                             R"({"a":"\u00"})", R"({"a":"\u005"})", R"({"a":"\u00g1"})"})
        EXPECT_EQ(events(kept), kept);
    EXPECT_EQ(events(R"({"a":"\\\u0058"})"), R"({"a":"\\X"})");
}

TEST(EventStream, HostileTextIsNamedAndRefused) {
    const auto refused = [](const std::string& text) { return readAll(text, {}, kSmall); };
    EXPECT_THAT(refused(""), FailsWith("is empty"));
    EXPECT_THAT(refused("  \n "), FailsWith("is empty"));
    EXPECT_THAT(refused("hello"), FailsWith("is not JSON"));
    EXPECT_THAT(refused(R"({"a":1})"), FailsWith("no traceEvents"));
    EXPECT_THAT(refused(R"({"schema":"1.0.1","nodes":[{"id":1}]})"), FailsWith("execution trace"));
    EXPECT_THAT(refused(R"({"traceEvents":[)" + std::string(500, '[')), FailsWith("nested deeper"));
    EXPECT_THAT(refused(R"({"a":)" + std::string(500, '{')), FailsWith("nested deeper"));
    EXPECT_THAT(refused(R"({"traceEvents":[{"name":")" + std::string(5000, 'x')),
                FailsWith("one event of more than"));
    EXPECT_THAT(refused("{\"" + std::string(5000, 'k')), FailsWith("key of more than"));
    EXPECT_THAT(refused("{1:2}"), FailsWith("a key is missing"));
    EXPECT_THAT(refused("{\"a\" 2}"), FailsAs(ErrorCode::kUnreadable));
    EXPECT_THAT(refused(R"({"big":")" + std::string(50'000, 'x') + R"(","traceEvents":[]})"),
                IsOk());
}

TEST(WindowScan, AgreesWithReadingByteByByte) {
    std::mt19937 random(11);
    constexpr std::string_view kLetters = "{}[]\"\\,a ";
    for (int round = 0; round < 2000; ++round) {
        std::string text;
        for (auto size = random() % 400; size > 0; --size)
            text += kLetters[random() % (round % 2 == 0 ? 4 : kLetters.size())];
        WindowScan whole;
        whole.scan(text);
        WindowScan bytes;
        for (std::size_t size = 1; size <= text.size(); ++size)
            bytes.scan(std::string_view(text).substr(0, size));
        ASSERT_EQ(whole.ended(), bytes.ended()) << text;
        ASSERT_EQ(whole.cut(), bytes.cut()) << text;
        ASSERT_EQ(whole.tooDeep(), bytes.tooDeep()) << text;
    }
}

TEST(ReadEvent, AnyBytesAreReadToTheirEnd) {
    std::mt19937 random(13);
    for (int round = 0; round < 5000; ++round) {
        std::string text = R"({"ph":"X","args":{"a":[1,"b"]},"ts":1.5},{"ph":"i"})";
        for (int i = 0; i < 3; ++i) text[random() % text.size()] = static_cast<char>(random());
        std::string_view rest = text;
        Event event;
        while (const std::size_t length = readEvent(rest, event)) {
            ASSERT_LE(length, rest.size());
            rest.remove_prefix(length);
        }
    }
}

}  // namespace
}  // namespace shardscope::interchange::kineto
