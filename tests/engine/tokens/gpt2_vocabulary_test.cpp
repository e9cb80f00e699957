// OpenAI's own GPT-2 vocabulary, where somebody put it: ../shared/data/gpt2, or a folder anywhere
// below ../shared, or SHARDSCOPE_SHARED, that holds encoder.json and vocab.bpe.
#include "engine/tokens/tokenizer.h"
#include "tests/engine/tokens/brute_force.h"
#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

namespace shardscope::tokens {
namespace {

namespace fs = std::filesystem;

std::string vocabularyFolder() {
    const char* given = std::getenv("SHARDSCOPE_SHARED");
    std::error_code error;
    auto entry =
        fs::recursive_directory_iterator(given != nullptr ? given : SHARDSCOPE_SHARED_FOLDER,
                                         fs::directory_options::skip_permission_denied, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
        const fs::path folder = entry->path().parent_path();
        if (entry->path().filename() == "encoder.json" && fs::exists(folder / "vocab.bpe"))
            return folder.string();
    }
    return {};
}

// Ids from openai/gpt-2's encoder.py.
TEST(Gpt2Vocabulary, GivesGpt2sIds) {
    const std::string folder = vocabularyFolder();
    if (folder.empty())
        GTEST_SKIP() << "no encoder.json and vocab.bpe below " << SHARDSCOPE_SHARED_FOLDER;
    const auto tokenizer = readTokenizer(folder);
    ASSERT_THAT(tokenizer, test::IsOk());
    EXPECT_EQ(tokenizer->size(), 50257u);
    EXPECT_EQ(tokenizer->endOfText(), 50256u);
    using testing::ElementsAre;
    EXPECT_THAT(encoded(*tokenizer, "Hello world"), ElementsAre(15496, 995));
    EXPECT_THAT(encoded(*tokenizer, "Hello, world!\n"), ElementsAre(15496, 11, 995, 0, 198));
    EXPECT_THAT(encoded(*tokenizer, "The quick brown fox jumps over the lazy dog."),
                ElementsAre(464, 2068, 7586, 21831, 18045, 625, 262, 16931, 3290, 13));
    Random random(10);
    for (int i = 0; i < 10; ++i) {
        const std::string text = randomBytes(random, 100);
        EXPECT_EQ(encoded(*tokenizer, text), bruteForceEncode(tokenizer->vocabulary(), text));
    }
}

}  // namespace
}  // namespace shardscope::tokens
