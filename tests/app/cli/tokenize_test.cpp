// `shardscope tokenize` as a program: what it makes, how it ends, what it leaves.
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <tuple>

namespace shardscope::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Tokenize : public CliTest {
protected:
    Tokenize() {
        for (int i = 0; i < 300; ++i)
            m_text += "the cat sat on the mat; \xC3\xA9t\xC3\xA9 " + std::to_string(i * i) + "\n";
        write("text.txt", m_text);
    }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path(name), std::ios::binary) << text;
        return path(name);
    }
    static std::string read(const std::string& file) {
        std::ifstream in(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    /// Runs `tokenize` and gives its exit status; output and errors in m_out, m_err.
    int tokenize(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "tokenize");
        const auto program = start(arguments);
        const int status = program->wait();
        m_out = program->out();
        m_err = program->err();
        return status;
    }
    void train() {
        ASSERT_EQ(
            tokenize({"--train", "--vocabulary", "300", "-o", path("t.json"), path("text.txt")}), 0)
            << m_err;
    }
    /// No file of an output that was not finished.
    bool leftNothing() const {
        const fs::path folder = fs::path(path("x")).parent_path();
        for (const auto& entry : fs::recursive_directory_iterator(folder)) {
            if (entry.path().filename().string().find(".part-") != std::string::npos) return false;
        }
        return true;
    }
    std::string m_text, m_out, m_err;
};

TEST_F(Tokenize, TrainsEncodesAndDecodesBackToTheText) {
    train();
    EXPECT_THAT(m_out, HasSubstr("bytes per token"));
    EXPECT_THAT(m_out, HasSubstr("--vocabulary 300"));
    ASSERT_EQ(tokenize({"--tokenizer", path("t.json"), "--held-back", "0.25", "-o", path("tokens"),
                        path("text.txt")}),
              0)
        << m_err;
    EXPECT_THAT(m_out, HasSubstr("shardscope record --data"));
    EXPECT_EQ(nlohmann::json::parse(read(path("tokens/tokenizer.json"))),
              nlohmann::json::parse(read(path("t.json"))));
    const auto training = fs::file_size(path("tokens/train.bin")),
               heldBack = fs::file_size(path("tokens/val.bin"));
    EXPECT_NEAR(static_cast<double>(heldBack) / static_cast<double>(training + heldBack), 0.25,
                0.01);
    ASSERT_EQ(tokenize({"--tokenizer", path("tokens"), "--decode", path("tokens/train.bin"),
                        path("tokens/val.bin")}),
              0)
        << m_err;
    EXPECT_EQ(m_out, m_text + "<|endoftext|>");
}

TEST_F(Tokenize, APartIsWrittenThroughNoLink) {
    train();
    write("victim", "precious");
    for (const char* part : {"t.json.part", "book.bin.part", "book.txt.part"})
        fs::create_symlink(path("victim"), path(part));
    EXPECT_EQ(
        tokenize({"--train", "--vocabulary", "300", "-f", "-o", path("t.json"), path("text.txt")}),
        0);
    EXPECT_EQ(tokenize({"--tokenizer", path("t.json"), "-o", path("book.bin"), path("text.txt")}),
              0);
    EXPECT_EQ(tokenize({"--tokenizer", path("t.json"), "--decode", "-o", path("book.txt"),
                        path("book.bin")}),
              0);
    EXPECT_EQ(read(path("victim")), "precious");
    EXPECT_TRUE(read(path("book.txt")).starts_with(m_text));
}

TEST_F(Tokenize, WritesLlmcsHeaderWhenAsked) {
    train();
    ASSERT_EQ(tokenize({"--tokenizer", path("t.json"), "--format", "llmc", "-o", path("l.bin"),
                        path("text.txt")}),
              0)
        << m_err;
    ASSERT_EQ(tokenize({"--tokenizer", path("t.json"), "-o", path("n.bin"), path("text.txt")}), 0);
    EXPECT_EQ(read(path("l.bin")).substr(1024), read(path("n.bin")));
    EXPECT_EQ(tokenize({"--tokenizer", path("t.json"), "--decode", "-o", path("back.txt"),
                        path("l.bin")}),
              0);
    EXPECT_EQ(read(path("back.txt")), m_text + "<|endoftext|>");
}

TEST_F(Tokenize, AccountsInJson) {
    ASSERT_EQ(tokenize({"--train", "--vocabulary", "300", "-o", path("t.json"), "--json",
                        path("text.txt")}),
              0);
    const auto trained = nlohmann::json::parse(m_out);
    EXPECT_EQ(trained.at("schema"), "shardscope.tokenize/1");
    EXPECT_EQ(trained.at("action"), "train");
    EXPECT_EQ(trained.at("text_bytes"), m_text.size());
    EXPECT_EQ(
        tokenize({"--tokenizer", path("t.json"), "-o", path("n.bin"), "--json", path("text.txt")}),
        0);
    const auto encoded = nlohmann::json::parse(m_out);
    EXPECT_EQ(encoded.at("tokens").get<std::uintmax_t>() * 2, fs::file_size(path("n.bin")));
    // Training counts what encoding gives, which adds the end of the text.
    EXPECT_EQ(encoded.at("tokens").get<int>(), trained.at("tokens").get<int>() + 1);
}

TEST_F(Tokenize, SaysWhenTheTextHasTooFewPairs) {
    EXPECT_EQ(tokenize({"--train", "--vocabulary", "5000", "-o", path("t.json"), path("text.txt")}),
              0);
    EXPECT_THAT(m_out, HasSubstr("not 5000: no more pairs occur 2 times"));
}

TEST_F(Tokenize, WhatCannotBeAskedIsTwo) {
    train();
    write("taken.bin", "mine");
    const std::string text = path("text.txt"), json = path("t.json");
    const std::pair<std::vector<std::string>, const char*> cases[] = {
        {{text}, "--train"},
        {{"--tokenizer", json, text}, "--output"},
        {{"--train", "--tokenizer", json, "-o", path("a.json"), text}, "leave one of them out"},
        {{"--train", "--decode", "-o", path("a.json"), text}, "--train"},
        {{"--train", "--vocabulary", "100", "-o", path("a.json"), text}, "256 bytes"},
        {{"--train", "-o", path("none/a.json"), text}, "does not exist"},
        {{"--tokenizer", json, "-o", path("taken.bin"), text}, "already exists"},
        {{"--tokenizer", json, "-o", path("a.bin"), "--held-back", "0.1", text}, "one file"},
        {{"--tokenizer", json, "-o", path("a.bin"), "--held-back", "1.5", text}, "--held-back"},
        {{"--tokenizer", json, "-o", path("a.bin"), "--format", "gguf", text}, "--format"},
        {{"--tokenizer", json, "-o", path("a.bin")}, "inputs"}};
    for (const auto& [arguments, sentence] : cases) {
        EXPECT_EQ(tokenize(arguments), 2) << sentence;
        EXPECT_THAT(m_err, HasSubstr(sentence));
        EXPECT_TRUE(leftNothing());
    }
    EXPECT_EQ(read(path("taken.bin")), "mine");
    EXPECT_EQ(tokenize({"--tokenizer", json, "-o", path("taken.bin"), "--force", text}), 0);
}

TEST_F(Tokenize, WhatCannotBeReadIsThree) {
    train();
    write("empty.txt", "");
    write("binary", std::string(10, '\0'));
    write("odd.bin", "abc");
    write("high.bin", "\xFF\xFF");
    const std::string text = path("text.txt"), json = path("t.json"), out = path("a.bin");
    const std::pair<std::vector<std::string>, const char*> cases[] = {
        {{"--train", "-o", path("a.json"), path("none")}, "does not exist"},
        {{"--train", "-o", path("a.json"), path("empty.txt")}, "is empty"},
        {{"--train", "-o", path("a.json"), path("binary")}, "is binary"},
        {{"--tokenizer", path("none.json"), "-o", out, text}, "does not exist"},
        {{"--tokenizer", text, "-o", out, text}, "no JSON object"},
        {{"--tokenizer", json, "--decode", path("odd.bin")}, "an odd number"},
        {{"--tokenizer", json, "--decode", path("high.bin")}, "token 0 is 65535"},
        {{"--tokenizer", json, "--decode", "-o", path("a.txt"), path("high.bin")}, "high.bin"}};
    for (const auto& [arguments, sentence] : cases) {
        EXPECT_EQ(tokenize(arguments), 3) << sentence;
        EXPECT_THAT(m_err, HasSubstr(sentence));
        EXPECT_TRUE(leftNothing());
    }
}

TEST_F(Tokenize, AFullDiskIsOneAndLeavesNothing) {
    train();
    const std::string disk = path("disk");
    fs::create_directory(disk);
    if (::mount("none", disk.c_str(), "tmpfs", 0, "size=4k") != 0)
        GTEST_SKIP() << "no small file system to fill: this needs root";
    EXPECT_EQ(tokenize({"--tokenizer", path("t.json"), "-o", disk + "/a.bin", path("text.txt")}),
              1);
    EXPECT_THAT(m_err, HasSubstr("No space left on device"));
    EXPECT_TRUE(fs::is_empty(disk));
    ::umount(disk.c_str());
}

// What `record` is told of data before any rank starts.
TEST_F(Tokenize, RecordRefusesDataThatDoesNotFitTheModel) {
    train();
    ASSERT_EQ(tokenize({"--tokenizer", path("t.json"), "-o", path("tokens"), path("text.txt")}), 0);
    write("odd.bin", "abc");
    const std::tuple<std::vector<std::string>, int, const char*> cases[] = {
        {{"--data", path("tokens"), "--context", "100000"}, 3, "too few for a context of 100000"},
        {{"--data", path("odd.bin")}, 3, "an odd number"},
        {{"--data", path("none.bin")}, 3, "none.bin is not there"},
        {{"--data", path("text.txt"), "--tokenizer", path("none.json")}, 3, "does not exist"},
        {{"--data", path("text.txt"), "--tokenizer", path("t.json"), "--vocabulary", "299"},
         2,
         "has 300 tokens, the model a vocabulary of 299; give --vocabulary 300"}};
    for (const auto& [more, status, sentence] : cases) {
        std::vector<std::string> arguments = {"record", "--output", output()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto program = start(arguments);
        EXPECT_EQ(program->wait(), status) << sentence;
        EXPECT_THAT(program->err(), HasSubstr(sentence));
        EXPECT_FALSE(fs::exists(output()));
    }
}

TEST_F(Tokenize, RecordTakesTokenFilesAndSyntheticTokens) {
    train();
    ASSERT_EQ(tokenize({"--tokenizer", path("t.json"), "-o", path("tokens"), path("text.txt")}), 0);
    for (const std::string& data : {path("tokens"), std::string("synthetic")}) {
        const auto program = start({"record", "--data", data, "--vocabulary", "300", "--steps", "2",
                                    "--output", output(), "--force"});
        EXPECT_EQ(program->wait(), 0) << program->err();
        EXPECT_TRUE(recorded().complete);
    }
}

}  // namespace
}  // namespace shardscope::cli
