#include "tests/engine/tokens/brute_force.h"

#include "engine/tokens/encoder.h"
#include "engine/tokens/vocabulary.h"

#include <algorithm>
#include <map>

namespace shardscope::tokens {

std::vector<std::string> piecesOf(std::string_view text) {
    Splitter splitter;
    std::vector<std::string> pieces;
    splitter.begin(text);
    for (auto piece = splitter.next(); !piece.empty(); piece = splitter.next())
        pieces.emplace_back(piece);
    return pieces;
}

std::vector<std::uint32_t> bruteForceMerge(const Vocabulary& vocabulary, std::string_view piece) {
    std::vector<std::uint32_t> ids;
    for (const char c : piece) {
        const auto token =
            std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), std::string(1, c));
        ids.push_back(static_cast<std::uint32_t>(token - vocabulary.tokens.begin()));
    }
    while (true) {
        std::size_t best = vocabulary.merges.size(), at = 0;
        for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
            for (std::size_t rank = 0; rank < best; ++rank) {
                const Merge& merge = vocabulary.merges[rank];
                if (merge.left != ids[i] || merge.right != ids[i + 1]) continue;
                best = rank;
                at = i;
            }
        }
        if (best == vocabulary.merges.size()) return ids;
        ids[at] = vocabulary.merges[best].result;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
}

std::vector<std::uint32_t> bruteForceEncode(const Vocabulary& vocabulary, std::string_view text) {
    std::vector<std::uint32_t> ids;
    for (const std::string& piece : piecesOf(text)) {
        const auto more = bruteForceMerge(vocabulary, piece);
        ids.insert(ids.end(), more.begin(), more.end());
    }
    return ids;
}

namespace {

using Words = std::vector<std::vector<std::uint32_t>>;
using Pair = std::pair<std::uint32_t, std::uint32_t>;

std::pair<Pair, std::int64_t> mostFrequent(const Words& words) {
    std::map<Pair, std::int64_t> counts;
    for (const auto& word : words) {
        for (std::size_t i = 0; i + 1 < word.size(); ++i) ++counts[{word[i], word[i + 1]}];
    }
    std::pair<Pair, std::int64_t> best{{}, 0};
    for (const auto& each : counts) {
        if (each.second > best.second) best = each;  // in order of ids: the smallest of equals
    }
    return best;
}

void mergeIn(std::vector<std::uint32_t>& word, Pair pair, std::uint32_t result) {
    for (std::size_t i = 0; i + 1 < word.size(); ++i) {
        if (word[i] != pair.first || word[i + 1] != pair.second) continue;
        word[i] = result;
        word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
}

}  // namespace

Vocabulary bruteForceTrain(std::string_view text, std::size_t vocabulary, std::int64_t leastCount) {
    Vocabulary result;
    std::map<std::string, std::uint32_t> ids;
    for (const std::uint8_t byte : alphabetOrder()) {
        const std::string token(1, static_cast<char>(byte));
        ids.emplace(token, static_cast<std::uint32_t>(ids.size()));
        result.tokens.push_back(token);
    }
    Words words;
    for (const std::string& piece : piecesOf(text)) {
        words.emplace_back();
        for (const char c : piece) words.back().push_back(ids.at(std::string(1, c)));
    }
    while (result.tokens.size() + 1 < vocabulary) {
        const auto [pair, count] = mostFrequent(words);
        if (count < leastCount) break;
        const std::string bytes = result.tokens[pair.first] + result.tokens[pair.second];
        const auto [id, isNew] =
            ids.emplace(bytes, static_cast<std::uint32_t>(result.tokens.size()));
        if (isNew) result.tokens.push_back(bytes);
        const Merge merge{pair.first, pair.second, id->second};
        if (std::find(result.merges.begin(), result.merges.end(), merge) == result.merges.end())
            result.merges.push_back(merge);
        for (auto& word : words) mergeIn(word, pair, id->second);
    }
    result.added.push_back({kEndOfText, static_cast<std::uint32_t>(result.tokens.size()), true});
    result.tokens.push_back(kEndOfText);
    return result;
}

std::string randomText(Random& random, std::size_t bytes) {
    static const char* const kPieces[] = {"a",
                                          "b",
                                          "ab",
                                          "the",
                                          "and",
                                          "'s",
                                          "'ll",
                                          "'",
                                          " ",
                                          "  ",
                                          "\n",
                                          "\n\n",
                                          "\t",
                                          "\r\n",
                                          "\xC2\xA0",
                                          "\xE3\x80\x80",
                                          "1",
                                          "42",
                                          "\xC2\xBD",
                                          "!",
                                          "...",
                                          "(",
                                          "\xE2\x80\xA8",
                                          "\xC3\xA9",
                                          "e\xCC\x81",
                                          "\xD0\xB6",
                                          "\xE4\xB8\xAD",
                                          "\xE6\x96\x87",
                                          "\xF0\x9F\x98\x80",
                                          "_",
                                          "\xC2\x85",
                                          "\xE1\xA0\x8E"};
    std::uniform_int_distribution<std::size_t> pick(0, std::size(kPieces) - 1);
    std::string text;
    while (text.size() < bytes) text += kPieces[pick(random)];
    return text;
}

std::string randomBytes(Random& random, std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) {
        text += randomText(random, random() % 12);
        for (std::size_t i = random() % 4; i > 0; --i) text += static_cast<char>(random());
    }
    return text;
}

std::vector<std::uint32_t> encoded(const Tokenizer& tokenizer, std::string_view text) {
    std::vector<std::uint32_t> ids;
    Encoder(tokenizer).encode(text, ids);
    return ids;
}

}  // namespace shardscope::tokens
