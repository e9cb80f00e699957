// tokenizer.json and GPT-2's files: read, written, refused.
#include "engine/tokens/tokenizer.h"
#include "engine/tokens/vocabulary.h"
#include "tests/engine/tokens/brute_force.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <tuple>

namespace shardscope::tokens {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

Vocabulary sample() {
    return bruteForceTrain("low lower newest widest low low \xC3\xA9t\xC3\xA9 \xC3\xA9t\xC3\xA9",
                           280, 2);
}

json sampleJson() {
    return json::parse(tokenizerJson(sample()));
}

std::string refusal(const json& document) {
    const auto tokenizer = parseTokenizerJson(document.dump(), "odd.json");
    if (tokenizer) return "accepted";
    EXPECT_EQ(tokenizer.error().code, ErrorCode::kUnreadable);
    return tokenizer.error().message;
}

TEST(TokenizerJson, IsReadAsItWasWritten) {
    Random random(9);
    for (int i = 0; i < 20; ++i) {
        const Vocabulary vocabulary = bruteForceTrain(randomBytes(random, 500), 300, 1);
        const auto tokenizer = parseTokenizerJson(tokenizerJson(vocabulary), "it");
        ASSERT_THAT(tokenizer, test::IsOk());
        EXPECT_EQ(tokenizer->vocabulary(), vocabulary);
    }
}

TEST(TokenizerJson, OlderAndNewerFormsOfMergesAreTheSame) {
    json document = sampleJson();
    for (json& merge : document["model"]["merges"]) {
        const auto text = merge.get<std::string>();
        const std::size_t space = text.find(' ');
        merge = json::array({text.substr(0, space), text.substr(space + 1)});
    }
    document["model"].erase("type");
    const auto tokenizer = parseTokenizerJson(document.dump(), "it");
    ASSERT_THAT(tokenizer, test::IsOk());
    EXPECT_EQ(tokenizer->vocabulary(), sample());
}

TEST(TokenizerJson, IdsMayHaveGapsAndAddedTokensSpaces) {
    json document = sampleJson();
    document["added_tokens"].push_back({{"id", 400}, {"content", "two words"}, {"special", false}});
    const auto tokenizer = parseTokenizerJson(document.dump(), "it");
    ASSERT_THAT(tokenizer, test::IsOk());
    EXPECT_EQ(tokenizer->size(), 401u);
    EXPECT_THAT(encoded(*tokenizer, "two words"), testing::ElementsAre(400));
    const std::uint32_t gap[] = {399};
    EXPECT_THAT(tokenizer->decode(gap), test::FailsWith("399"));
}

TEST(TokenizerJson, WhatIsNoByteLevelBpeIsRefusedByName) {
    const std::tuple<const char*, json, const char*> cases[] = {
        {"/model/type", "Unigram", "its model is Unigram"},
        {"/model/type", "WordPiece", "its model is WordPiece"},
        {"/model/merges", nullptr, "not byte-level BPE"},
        {"/model", nullptr, "it has no model"},
        {"/model/byte_fallback", true, "byte_fallback"},
        {"/model/ignore_merges", true, "ignore_merges"},
        {"/model/continuing_subword_prefix", "##", "continuing_subword_prefix"},
        {"/model/dropout", 0.1, "dropout"},
        {"/pre_tokenizer", {{"type", "Metaspace"}}, "a Metaspace pre-tokenizer"},
        {"/pre_tokenizer", nullptr, "pre-tokenizer"},
        {"/pre_tokenizer/use_regex", false, "pre-tokenizer"},
        {"/pre_tokenizer/add_prefix_space", true, "add_prefix_space"},
        {"/normalizer", {{"type", "NFC"}}, "normalizer NFC"},
        {"/added_tokens/0/lstrip", true, "is lstrip"}};
    for (const auto& [place, value, sentence] : cases) {
        json document = sampleJson();
        document[json::json_pointer(place)] = value;
        EXPECT_THAT(refusal(document), HasSubstr(sentence)) << place;
        EXPECT_THAT(refusal(document), HasSubstr("odd.json")) << place;
    }
}

TEST(TokenizerJson, DamageIsASentence) {
    const std::tuple<const char*, json, const char*> cases[] = {
        {"/model/vocab", json::array(), "no object of tokens"},
        {"/model/vocab/!", "0", "token '!' has no id"},
        {"/model/vocab/!", -1, "token '!' has no id"},
        {"/model/vocab/!", 5, "given to two tokens"},
        {"/model/vocab/!", 1 << 20, "past the largest"},
        {"/model/vocab/\xE2\x96\x81the", 300, "no byte-level BPE"},
        {"/model/merges/0", "low", "merge 1 is not two tokens"},
        {"/model/merges/1", json::array({1, 2}), "merge 2 is not two tokens"},
        {"/model/merges/0", "q q", "merge 1 joins 'q' and 'q', but 'qq' is not in"},
        {"/added_tokens", "none", "no list"},
        {"/added_tokens/0/id", -3, "no id"},
        {"/added_tokens/0/content", "", "is empty"}};
    for (const auto& [place, value, sentence] : cases) {
        json document = sampleJson();
        document[json::json_pointer(place)] = value;
        EXPECT_THAT(refusal(document), HasSubstr(sentence)) << place;
    }
    json lacking = sampleJson();
    lacking["model"]["vocab"].erase("!");
    EXPECT_THAT(refusal(lacking), HasSubstr("no token for the byte 0x21"));
    EXPECT_THAT(refusal(json::array()), HasSubstr("no JSON object"));
    EXPECT_THAT(parseTokenizerJson("{\"model\":", "cut.json"), test::FailsWith("no JSON object"));
}

TEST(TokenizerJson, EveryTruncationIsASentence) {
    const std::string whole = tokenizerJson(bruteForceTrain("a", 257, 1));
    for (std::size_t length = 0; length + 2 < whole.size(); length += 7)
        EXPECT_THAT(parseTokenizerJson(whole.substr(0, length), "cut"), test::FailsWith("cut"));
}

class Folder : public testing::Test {
protected:
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(m_folder.file(name), std::ios::binary) << text;
        return m_folder.file(name);
    }
    void writeGpt2(const std::string& ids, const std::string& merges) const {
        const Vocabulary v = sample();
        json vocabulary;
        for (std::size_t id = 0; id < v.tokens.size(); ++id)
            vocabulary[id + 1 == v.tokens.size() ? kEndOfText : toAlphabet(v.tokens[id])] = id;
        std::string lines = "#version: 0.2\n";
        for (const Merge& m : v.merges)
            lines += toAlphabet(v.tokens[m.left]) + " " + toAlphabet(v.tokens[m.right]) + "\n";
        write(ids, vocabulary.dump());
        write(merges, lines);
    }
    test::TemporaryFolder m_folder;
};

TEST_F(Folder, OfGpt2IsReadUnderBothNames) {
    for (const auto& [ids, merges] :
         {std::pair{"encoder.json", "vocab.bpe"}, std::pair{"vocab.json", "merges.txt"}}) {
        writeGpt2(ids, merges);
        for (const std::string& path :
             {m_folder.path(), m_folder.file(ids), m_folder.file(merges)}) {
            const auto tokenizer = readTokenizer(path);
            ASSERT_THAT(tokenizer, test::IsOk());
            EXPECT_EQ(tokenizer->vocabulary(), sample());
        }
        fs::remove(m_folder.file(ids));
        fs::remove(m_folder.file(merges));
    }
}

TEST_F(Folder, WithATokenizerJsonIsReadFromIt) {
    write("tokenizer.json", tokenizerJson(sample()));
    const auto tokenizer = readTokenizer(m_folder.path());
    ASSERT_THAT(tokenizer, test::IsOk());
    EXPECT_EQ(tokenizer->vocabulary(), sample());
}

TEST_F(Folder, WhatIsMissingOrDamagedIsNamed) {
    EXPECT_THAT(readTokenizer(m_folder.file("none")), test::FailsWith("does not exist"));
    EXPECT_THAT(readTokenizer(m_folder.path()), test::FailsWith("holds no tokenizer"));
    EXPECT_THAT(readTokenizer(write("text.json", "hello")), test::FailsWith("no JSON object"));
    EXPECT_THAT(readTokenizer(write("empty.json", "")), test::FailsWith("no JSON object"));
    writeGpt2("encoder.json", "vocab.bpe");
    write("vocab.bpe", "#version: 0.2\nl o\nlo w x\n");
    EXPECT_THAT(readTokenizer(m_folder.path()), test::FailsWith("line 3 of its merges"));
    write("vocab.bpe", "q q\n");
    EXPECT_THAT(readTokenizer(m_folder.path()), test::FailsWith("do not belong together"));
    write("encoder.json", "[");
    EXPECT_THAT(readTokenizer(m_folder.path()), test::FailsWith("its vocabulary is no JSON"));
}

}  // namespace
}  // namespace shardscope::tokens
