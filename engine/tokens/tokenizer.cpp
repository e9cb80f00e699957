#include "engine/tokens/tokenizer.h"

#include "engine/tokens/mapped_file.h"
#include "engine/tokens/splitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>

namespace shardscope::tokens {
namespace {

constexpr std::uint32_t kNoToken = ~std::uint32_t{0};

std::uint64_t key(std::uint32_t left, std::uint32_t right) {
    return ((std::uint64_t{left} << 32) | right) + 1;
}

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

Result<Tokenizer> Tokenizer::make(Vocabulary vocabulary, const std::string& origin) {
    Tokenizer tokenizer;
    tokenizer.m_vocabulary = std::move(vocabulary);
    if (tokenizer.size() > kMostTokens) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("{} has tokens up to id {}, more than the {} that can be; it is "
                                   "damaged",
                                   origin, tokenizer.size() - 1, kMostTokens));
    }
    if (auto taken = tokenizer.takeBytes(origin); !taken) return failure(taken);
    if (auto taken = tokenizer.takeMerges(origin); !taken) return failure(taken);
    if (auto taken = tokenizer.takeAdded(origin); !taken) return failure(taken);
    return tokenizer;
}

Result<void> Tokenizer::takeBytes(const std::string& origin) {
    m_bytes.fill(kNoToken);
    for (std::uint32_t id = 0; id < m_vocabulary.tokens.size(); ++id) {
        const std::string& bytes = m_vocabulary.tokens[id];
        if (bytes.size() != 1) continue;
        std::uint32_t& token = m_bytes[static_cast<unsigned char>(bytes[0])];
        if (token == kNoToken) token = id;
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
        if (m_bytes[byte] != kNoToken) continue;
        return failure(ErrorCode::kUnreadable,
                       fmt::format("{} has no token for the byte 0x{:02x}, so text with it could "
                                   "not be encoded; train it with the whole byte alphabet",
                                   origin, byte));
    }
    return {};
}

Result<void> Tokenizer::takeMerges(const std::string& origin) {
    m_slots.resize(std::bit_ceil(m_vocabulary.merges.size() * 3 + 16));
    for (std::uint32_t rank = 0; rank < m_vocabulary.merges.size(); ++rank) {
        const Merge& merge = m_vocabulary.merges[rank];
        const auto& tokens = m_vocabulary.tokens;
        const std::size_t count = tokens.size();
        const bool known = merge.left < count && merge.right < count && merge.result < count;
        if (!known || tokens[merge.left].empty() || tokens[merge.right].empty() ||
            tokens[merge.left] + tokens[merge.right] != tokens[merge.result]) {
            return failure(ErrorCode::kUnreadable,
                           fmt::format("{}: merge {} does not join two of its tokens to a third; "
                                       "it is damaged",
                                       origin, rank + 1));
        }
        Slot& slot = m_slots[slotOf(key(merge.left, merge.right))];
        if (slot.pair != 0) {
            return failure(ErrorCode::kUnreadable,
                           fmt::format("{}: merge {} repeats merge {}; it is damaged", origin,
                                       rank + 1, slot.step.rank + 1));
        }
        slot = {key(merge.left, merge.right), {rank, merge.result}};
    }
    return {};
}

Result<void> Tokenizer::takeAdded(const std::string& origin) {
    m_added = m_vocabulary.added;
    for (const AddedToken& token : m_added) {
        if (token.text.empty() || token.id >= size() ||
            m_vocabulary.tokens[token.id] != token.text) {
            return failure(
                ErrorCode::kUnreadable,
                fmt::format("{}: the added token '{}' has an id, {}, that is not its own; it is "
                            "damaged",
                            origin, token.text, token.id));
        }
        m_addedStart[static_cast<unsigned char>(token.text[0])] = true;
        if (token.text == kEndOfText) m_endOfText = token.id;
    }
    std::stable_sort(m_added.begin(), m_added.end(),
                     [](const auto& a, const auto& b) { return a.text.size() > b.text.size(); });
    return {};
}

std::size_t Tokenizer::slotOf(std::uint64_t pair) const {
    const std::size_t mask = m_slots.size() - 1;
    // Fibonacci hashing (Knuth, TAOCP 3, 6.4).
    std::size_t at = (pair * 0x9E3779B97F4A7C15ULL >> 32) & mask;
    while (m_slots[at].pair != 0 && m_slots[at].pair != pair) at = (at + 1) & mask;
    return at;
}

const Tokenizer::Step* Tokenizer::merge(std::uint32_t left, std::uint32_t right) const {
    const Slot& slot = m_slots[slotOf(key(left, right))];
    return slot.pair == 0 ? nullptr : &slot.step;
}

Tokenizer::Found Tokenizer::findAdded(std::string_view text, std::size_t from) const {
    if (m_added.empty()) return {text.size(), nullptr};
    for (std::size_t at = from; at < text.size(); ++at) {
        if (!m_addedStart[static_cast<unsigned char>(text[at])]) continue;
        for (const AddedToken& token : m_added) {
            if (text.substr(at).starts_with(token.text)) return {at, &token};
        }
    }
    return {text.size(), nullptr};
}

Result<std::string> Tokenizer::decode(std::span<const std::uint32_t> ids, std::size_t first) const {
    std::string text;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= size() || m_vocabulary.tokens[ids[i]].empty()) {
            return failure(ErrorCode::kUnreadable,
                           fmt::format("token {} is {}, which the tokenizer of {} tokens does not "
                                       "have; decode with the tokenizer that encoded",
                                       first + i, ids[i], size()));
        }
        text += m_vocabulary.tokens[ids[i]];
    }
    return text;
}

std::size_t Tokenizer::boundary(std::string_view text, std::size_t wanted) const {
    const auto crossed = [&](std::size_t at) {
        return std::any_of(m_added.begin(), m_added.end(), [&](const AddedToken& token) {
            const std::size_t length = token.text.size();
            for (std::size_t start = at < length ? 0 : at - length + 1; start < at; ++start) {
                if (text.substr(start, length) == token.text) return true;
            }
            return false;
        });
    };
    std::size_t at = pieceBoundary(text, wanted);
    while (at < text.size() && crossed(at)) at = pieceBoundary(text, at + 1);
    return at;
}

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
