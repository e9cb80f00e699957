#include "storage/model/plain_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>
#include <string>

namespace shardscope {
namespace {

using namespace std::string_literals;

constexpr const char* kText = "aten::mm  ä – µs 語 \xF0\x9F\x98\x80";

/// A terminal that takes bytes for Latin-1 obeys 0x80 to 0x9F only outside of UTF-8 characters,
/// which is where this looks.
bool steers(std::string_view text, std::string_view allowed) {
    while (!text.empty()) {
        const std::size_t length = plainCharacter(text);
        if (length == 0 && allowed.find(text.front()) == allowed.npos) return true;
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return false;
}

/// Random bytes, of which many are control characters and the beginnings of such.
std::string drawn(std::minstd_rand& random) {
    static const std::string kLikely =
        "\x1b\r\n\t\x7f\x07\xC2\x80\x9B\x9F\xA0\xE0\xED\xF0\xF5\xC0"
        "a"s;
    std::string text;
    for (auto left = random() % 40; left > 0; --left)
        text += random() % 2 == 0 ? kLikely[random() % kLikely.size()]
                                  : static_cast<char>(random() % 256);
    return text;
}

TEST(PlainText, LeavesTextAsItIs) {
    for (const std::string& text :
         {""s, "forward"s, std::string(kText), "\xC2\xA0 \xEF\xBF\xBD"s}) {
        EXPECT_EQ(printable(text), text);
        EXPECT_EQ(printableLine(text), text);
        EXPECT_EQ(quotedLines(text), text);
        EXPECT_EQ(printableDocument(text), text);
    }
    EXPECT_EQ(printable("a\n\tb\n"), "a\n\tb\n");
    EXPECT_EQ(printableDocument("a\tb\r\nc\n"), "a\tb\r\nc\n");
}

TEST(PlainText, SpellsWhatSteersATerminal) {
    EXPECT_EQ(printable("\x1b]0;title\x07!"), "\\x1b]0;title\\x07!");
    EXPECT_EQ(printable("ok\rno\x7f"), "ok\\x0dno\\x7f");
    EXPECT_EQ(printable("\xC2\x9B[31m\xC2\x85"), "\\xc2\\x9b[31m\\xc2\\x85") << "C1 in UTF-8";
    EXPECT_EQ(printable("a\0b"s), "a\\x00b");
    EXPECT_EQ(printableLine("one\r\ntwo\tthree\x1b"), "one  two three\\x1b");
}

TEST(PlainText, SpellsWhatReordersALineOrIsNoCharacter) {
    for (const char* text : {"\u061C", "\u200E", "\u202E", "\u2028", "\u2066", "\u2069", "\uFEFF",
                             "\uFDD0", "\uFFFE", "\uFFFF", "\U0001FFFE", "\U0010FFFF"}) {
        EXPECT_EQ(plainCharacter(text), 0) << text;
        EXPECT_EQ(printable(text).substr(0, 2), "\\x") << text;
    }
    EXPECT_EQ(printable("a\u202Eb"), "a\\xe2\\x80\\xaeb");
    EXPECT_EQ(printableDocument("\u202E"), "\\u202e");
}

TEST(PlainText, TakesNothingForTextThatIsNotUtf8) {
    EXPECT_EQ(printable("\x9B[31m"), "\\x9b[31m") << "a byte alone";
    EXPECT_EQ(printable("\xC0\x9B"), "\\xc0\\x9b") << "more bytes than it needs: ESC in disguise";
    EXPECT_EQ(printable("\xE0\x80\x9B"), "\\xe0\\x80\\x9b");
    EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
    EXPECT_EQ(printable("\xF5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
    EXPECT_EQ(printable("a\xC3"), "a\\xc3") << "cut off";
    EXPECT_EQ(printableDocument("a\xC3"), "a\\ufffd");
}

TEST(PlainText, LinesOfOthersDoNotPassForOurs) {
    EXPECT_EQ(quotedLines("one\ntwo\x1b\n\nthree"), "one\n    two\\x1b\n    \n    three");
    EXPECT_EQ(quotedLines("one"), "one");
}

TEST(PlainText, ADocumentOfJsonKeepsItsMeaning) {
    const nlohmann::json value = {{"name", "\x1b[0m\x7f\xC2\x9B\xC3\xA4\U0001FFFE"}};
    const std::string text = printableDocument(value.dump());
    EXPECT_FALSE(steers(text, ""));
    EXPECT_EQ(nlohmann::json::parse(text), value);
    EXPECT_EQ(printableDocument("a\rb"), "a\\u000db");
}

TEST(PlainText, AFieldOfCsvIsQuotedWhereItMustBe) {
    EXPECT_EQ(csvField("aten::mm"), "aten::mm");
    EXPECT_EQ(csvField("a,\"b\""), "\"a,\"\"b\"\"\"");
    EXPECT_EQ(csvField("a\r\nb\r\x1b"), "\"a\r\nb\\x0d\\x1b\"");
}

TEST(PlainText, NoNameIsMarkup) {
    EXPECT_EQ(markdownText("a|b <img> [x](y) *z* `c` \\ ~d~ &lt;"),
              "a\\|b \\<img> \\[x](y) \\*z\\* \\`c\\` \\\\ \\~d\\~ \\&lt;");
    EXPECT_EQ(markdownText("yes * or * no *"), "yes * or * no *");
    EXPECT_EQ(markdownText("all_gather _x_\n# y"), "all_gather \\_x\\_ # y");
    EXPECT_EQ(markdownSentence("run `shardscope x_ *` on <b>"), "run `shardscope x_ *` on \\<b>");
    // What is not closed is no code, and a longer row of backquotes closes none.
    EXPECT_EQ(markdownSentence("a ` <b>"), "a \\` \\<b>");
    EXPECT_EQ(markdownSentence("`a``<b>"), "\\`a\\`\\`\\<b>");
    EXPECT_EQ(markdownSentence("``a`<b>``<c>"), "``a`<b>``\\<c>");
}

TEST(PlainText, RandomBytesNeverLeaveAControlCharacter) {
    std::minstd_rand random(20);
    for (int i = 0; i < 20'000; ++i) {
        const std::string text = drawn(random);
        EXPECT_FALSE(steers(printable(text), "\n\t")) << i;
        EXPECT_FALSE(steers(printableLine(text), "")) << i;
        EXPECT_FALSE(steers(quotedLines(text), "\n\t")) << i;
        EXPECT_FALSE(steers(printableDocument(text), "\n\t\r")) << i;
    }
}

TEST(PlainText, WhatIsMadePrintableStaysAsItIs) {
    std::minstd_rand random(30);
    for (int i = 0; i < 2'000; ++i) {
        const std::string text = printable(drawn(random));
        EXPECT_EQ(printable(text), text);
    }
}

TEST(Demangled, LeavesPlainNamesAlone) {
    EXPECT_EQ(demangled("_Z3addi"), "add(int)");
    EXPECT_EQ(demangled("_ZN2at6native4copyEPf"), "at::native::copy(float*)");
    EXPECT_EQ(demangled("f"), "f") << "not the type float";
    EXPECT_EQ(demangled("sm90_xmma_gemm_f32f32_tf32"), "sm90_xmma_gemm_f32f32_tf32");
    EXPECT_EQ(demangled("_Zbroken"), "_Zbroken");
    EXPECT_EQ(demangled("_Z"), "_Z");
}

TEST(Demangled, NamesThatDoubleThemselvesStayAsTheyAre) {
    std::string name = "_Z1fI1pI1aS0_E";
    for (int i = 1; i < 60; ++i)
        name += fmt::format("1pIS{0}_S{0}_E", static_cast<char>('A' + i % 26));
    name += "Evv";
    EXPECT_EQ(demangled(name), name);
    const std::string longName = "_Z" + std::string("3000") + std::string(3000, 'k') + "v";
    EXPECT_EQ(demangled(longName), longName);
}

}  // namespace
}  // namespace shardscope
