#include "engine/tokens/tokenizer_file.h"

#include "engine/tokens/mapped_file.h"

#include <fmt/format.h>

#include <filesystem>

namespace shardscope::tokens {
namespace {

namespace fs = std::filesystem;

/// No tokenizer is larger; the largest in use have 20 MB.
constexpr std::size_t kLargestFile = 256U << 20;

/// The first of `names` that is in `folder`; empty without.
fs::path firstOf(const fs::path& folder, std::initializer_list<const char*> names) {
    std::error_code error;
    for (const char* name : names) {
        if (fs::is_regular_file(folder / name, error)) return folder / name;
    }
    return {};
}

Result<MappedFile> openFile(const fs::path& path) {
    auto file = MappedFile::open(path.string());
    if (file && file->bytes().size() > kLargestFile) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("{} has {} bytes, more than any tokenizer; give a "
                                   "tokenizer.json",
                                   path.string(), file->bytes().size()));
    }
    return file;
}

Result<Tokenizer> readJson(const fs::path& path) {
    const auto file = openFile(path);
    if (!file) return failure(file, "the tokenizer");
    return parseTokenizerJson(file->bytes(), path.string());
}

Result<Tokenizer> readGpt2(const fs::path& folder) {
    const fs::path vocabulary = firstOf(folder, {"encoder.json", "vocab.json"});
    const fs::path merges = firstOf(folder, {"vocab.bpe", "merges.txt"});
    if (vocabulary.empty() || merges.empty()) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("{} holds no tokenizer: neither a tokenizer.json nor GPT-2's "
                                   "encoder.json (vocab.json) and vocab.bpe (merges.txt)",
                                   folder.string()));
    }
    const auto ids = openFile(vocabulary);
    if (!ids) return failure(ids, "the tokenizer");
    const auto pairs = openFile(merges);
    if (!pairs) return failure(pairs, "the tokenizer");
    return parseGpt2(ids->bytes(), pairs->bytes(),
                     fmt::format("{} with {}", vocabulary.string(), merges.filename().string()));
}

}  // namespace

Result<Tokenizer> readTokenizer(const std::string& path) {
    std::error_code error;
    const fs::path given(path);
    if (!fs::exists(given, error)) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("the tokenizer {} does not exist; give a tokenizer.json or a "
                                   "folder with GPT-2's files, or train one with shardscope "
                                   "tokenize --train",
                                   path));
    }
    if (fs::is_directory(given, error)) {
        const fs::path json = firstOf(given, {"tokenizer.json"});
        return json.empty() ? readGpt2(given) : readJson(json);
    }
    const std::string name = given.filename().string();
    const bool gpt2 = name == "encoder.json" || name == "vocab.json" || name == "vocab.bpe" ||
                      name == "merges.txt";
    return gpt2 ? readGpt2(given.parent_path()) : readJson(given);
}

}  // namespace shardscope::tokens
