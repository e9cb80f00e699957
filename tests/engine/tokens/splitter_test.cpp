// The pieces GPT-2's pattern cuts, worked out by hand from the pattern; byte alphabet; UTF-8.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "engine/tokens/splitter.h"

#include "engine/tokens/vocabulary.h"
#include "tests/engine/tokens/brute_force.h"

#include <gmock/gmock.h>
#include <pcre2.h>

namespace shardscope::tokens {
namespace {

using testing::ElementsAre;

TEST(Splitter, CutsAsGpt2sPatternSays) {
    EXPECT_THAT(piecesOf("Hello world"), ElementsAre("Hello", " world"));
    EXPECT_THAT(piecesOf("I'm you're they'll"),
                ElementsAre("I", "'m", " you", "'re", " they", "'ll"));
    EXPECT_THAT(piecesOf("IT'S"), ElementsAre("IT", "'", "S"));
    EXPECT_THAT(piecesOf("a1b 23!?x"), ElementsAre("a", "1", "b", " 23", "!?", "x"));
    EXPECT_THAT(piecesOf("a   b"), ElementsAre("a", "  ", " b"));
    EXPECT_THAT(piecesOf("a\n\n b  "), ElementsAre("a", "\n\n", " b", "  "));
    EXPECT_THAT(piecesOf("a\t\tb"), ElementsAre("a", "\t", "\t", "b"));
    EXPECT_THAT(piecesOf(""), ElementsAre());
}

TEST(Splitter, LettersNumbersAndSpacesAreUnicodes) {
    EXPECT_THAT(piecesOf("\xC3\xA9t\xC3\xA9 \xE4\xB8\xAD\xE6\x96\x87"),
                ElementsAre("\xC3\xA9t\xC3\xA9", " \xE4\xB8\xAD\xE6\x96\x87"));
    EXPECT_THAT(piecesOf("\xC2\xBDx"), ElementsAre("\xC2\xBD", "x"));
    EXPECT_THAT(piecesOf("a\xC2\xA0"
                         "b"),
                ElementsAre("a", "\xC2\xA0", "b"));
    // A combining mark is neither letter nor number nor space.
    EXPECT_THAT(piecesOf("e\xCC\x81t"), ElementsAre("e", "\xCC\x81", "t"));
    // U+0085 is White_Space, U+180E is not.
    EXPECT_THAT(piecesOf("!\xC2\x85!"), ElementsAre("!", "\xC2\x85", "!"));
    EXPECT_THAT(piecesOf("!\xE1\xA0\x8E!"), ElementsAre("!\xE1\xA0\x8E!"));
}

/// GPT-2's pattern as OpenAI wrote it, and nothing but PCRE2.
std::vector<std::string> piecesOfThePattern(const std::string& text) {
    static const char* const kPattern =
        R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
    int error = 0;
    std::size_t at = 0;
    static pcre2_code* const code =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kPattern), PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr);
    static pcre2_match_data* const match = pcre2_match_data_create(1, nullptr);
    std::vector<std::string> pieces;
    for (at = 0; at < text.size();) {
        const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
        EXPECT_GT(pcre2_match(code, subject, text.size(), at, 0, match, nullptr), 0);
        const std::size_t end = pcre2_get_ovector_pointer(match)[1];
        pieces.push_back(text.substr(at, end - at));
        at = end;
    }
    return pieces;
}

TEST(Splitter, EqualsThePatternOnRandomText) {
    Random random(11);
    for (int i = 0; i < 5000; ++i) {
        std::string text = randomText(random, random() % 60);
        // The one character that PCRE2 takes for a space and Unicode does not.
        for (auto at = text.find("\xE1\xA0\x8E"); at != text.npos; at = text.find("\xE1\xA0\x8E"))
            text.erase(at, 3);
        for (std::size_t j = random() % 8; j > 0; --j)
            text.insert(text.size() / 2, 1, static_cast<char>(random() % 128));
        if (text.size() > 1 && (text[text.size() / 2] & 0x80) != 0) text.resize(text.size() / 2);
        if (validUtf8(text) == text.size()) {
            ASSERT_EQ(piecesOf(text), piecesOfThePattern(text)) << text;
        }
    }
}

TEST(Splitter, EqualsThePatternOnEveryShortAsciiText) {
    const std::string letters = "ab'st1! \n";
    std::string text(5, ' ');
    for (std::size_t number = 0; number < 9 * 9 * 9 * 9 * 9; ++number) {
        std::size_t rest = number;
        for (char& c : text) {
            c = letters[rest % letters.size()];
            rest /= letters.size();
        }
        ASSERT_EQ(piecesOf(text), piecesOfThePattern(text)) << text;
    }
}

TEST(Splitter, BytesThatAreNoUtf8AreAPieceEach) {
    EXPECT_THAT(piecesOf("ab\xFF\xFE"
                         "cd"),
                ElementsAre("ab", "\xFF", "\xFE", "cd"));
    EXPECT_THAT(piecesOf("\xC3"), ElementsAre("\xC3"));
    EXPECT_THAT(piecesOf("  \x80x"), ElementsAre("  ", "\x80", "x"));
}

TEST(Splitter, PiecesJoinedAreTheTextWhateverItIs) {
    Random random(1);
    for (int i = 0; i < 2000; ++i) {
        const std::string text = randomBytes(random, random() % 200);
        std::string joined;
        for (const std::string& piece : piecesOf(text)) joined += piece;
        ASSERT_EQ(joined, text);
    }
}

TEST(Splitter, TextDividedAtABoundaryHasTheSamePieces) {
    Random random(2);
    int divided = 0;
    for (int i = 0; i < 3000; ++i) {
        const std::string text = randomBytes(random, 1 + random() % 200);
        const std::size_t at = pieceBoundary(text, random() % text.size());
        if (at < text.size()) ++divided;
        std::vector<std::string> pieces = piecesOf(text.substr(0, at));
        for (std::string& piece : piecesOf(text.substr(at))) pieces.push_back(std::move(piece));
        ASSERT_EQ(pieces, piecesOf(text)) << "divided at " << at;
    }
    EXPECT_GT(divided, 1000);
}

TEST(ByteAlphabet, IsGpt2s) {
    EXPECT_EQ(toAlphabet(" \n"), "\xC4\xA0\xC4\x8A");  // the Ġ and Ċ of its vocabulary
    EXPECT_EQ(toAlphabet("A!~"), "A!~");
    EXPECT_EQ(toAlphabet(std::string(1, '\0')), "\xC4\x80");
    EXPECT_EQ(toAlphabet("\xAD"), "\xC5\x83");  // the last of the 68
    EXPECT_EQ(alphabetOrder()[0], '!');
    EXPECT_EQ(alphabetOrder()[187], 0xFF);
    EXPECT_EQ(alphabetOrder()[188], 0);
    EXPECT_EQ(alphabetOrder()[255], 0xAD);
}

TEST(ByteAlphabet, ReadsWhatItWritesAndNothingElse) {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    EXPECT_EQ(fromAlphabet(toAlphabet(all)), all);
    for (const char* other :
         {" ", "\xC2", "\xC2\xA0", "\xC5\x84", "\xE2\x96\x81", "\xFF", "\xC1\x81"})
        EXPECT_EQ(fromAlphabet(other), std::nullopt) << other;
}

TEST(Utf8, EndsWhereItIsNotValid) {
    const std::pair<std::string_view, std::size_t> cases[] = {{"plain text", 10},
                                                              {"\xC3\xA9", 2},
                                                              {"\xE2\x82\xAC", 3},
                                                              {"\xF0\x9F\x98\x80", 4},
                                                              {"a\x80", 1},
                                                              {"a\xC0\xAF", 1},
                                                              {"\xE0\x9F\xBF", 0},
                                                              {"\xED\xA0\x80", 0},
                                                              {"\xED\x9F\xBF", 3},
                                                              {"\xF4\x8F\xBF\xBF", 4},
                                                              {"\xF4\x90\x80\x80", 0},
                                                              {"\xF5\x80\x80\x80", 0},
                                                              {"12345678\xE2\x82", 8},
                                                              {"\xF0\x8F\xBF\xBF", 0},
                                                              {"\xC3(", 0}};
    for (const auto& [text, length] : cases) EXPECT_EQ(validUtf8(text), length) << text;
}

}  // namespace
}  // namespace shardscope::tokens
