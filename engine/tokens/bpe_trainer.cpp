#include "engine/tokens/bpe_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <unordered_set>
#include <vector>

namespace shardscope::tokens {
namespace {

constexpr std::uint32_t kGone = ~std::uint32_t{0};
constexpr std::int32_t kNone = -1;
constexpr std::size_t kProgressEvery = 128;  ///< merges

using Pair = std::uint64_t;
Pair pairOf(std::uint32_t left, std::uint32_t right) {
    return Pair{left} << 32 | right;
}

/// A token in some distinct piece.
struct Symbol {
    std::uint32_t id = 0;
    std::int32_t previous = kNone;
    std::int32_t next = kNone;
    std::uint32_t piece = 0;
};

struct Occurrences {
    std::int64_t count = 0;               ///< in the text, by how often the pieces occur
    std::vector<std::int32_t> positions;  ///< of the left symbol; some no longer true
};

/// What the heap believes a pair's count to be; corrected when it comes up.
struct Entry {
    std::int64_t count = 0;
    Pair pair = 0;
    friend bool operator<(const Entry& a, const Entry& b) {
        return a.count != b.count ? a.count < b.count : a.pair > b.pair;
    }
};

class Trainer {
public:
    Trainer(const PieceCounts& pieces, const TrainingOptions& options);
    Result<Vocabulary> run();

private:
    void layOut(std::string_view piece, std::int64_t count);
    Entry mostFrequent();
    void mergeAll(Pair pair);
    void mergeAt(std::int32_t at, std::uint32_t right, std::uint32_t result);
    void change(std::int32_t at, std::int64_t sign);
    std::uint32_t tokenOf(Pair pair);

    Symbol& symbol(std::int32_t at) { return m_symbols[static_cast<std::size_t>(at)]; }

    const TrainingOptions& m_options;
    Vocabulary m_vocabulary;
    std::unordered_map<std::string, std::uint32_t> m_ids;  ///< of tokens of two bytes and more
    std::array<std::uint32_t, 256> m_byteIds{};
    std::vector<Symbol> m_symbols;
    std::vector<std::int64_t> m_pieceCounts;
    std::unordered_map<Pair, Occurrences> m_pairs;
    std::unordered_set<Pair> m_merged;
    std::vector<Pair> m_grown;  ///< pairs that the merge at hand made more frequent
    std::priority_queue<Entry> m_heap;
};

Trainer::Trainer(const PieceCounts& pieces, const TrainingOptions& options) : m_options(options) {
    for (const std::uint8_t byte : alphabetOrder()) {
        m_byteIds[byte] = static_cast<std::uint32_t>(m_vocabulary.tokens.size());
        m_vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
    }
    for (const auto& [piece, count] : pieces.counts()) layOut(piece, count);
    for (const auto& [pair, occurrences] : m_pairs) m_heap.push({occurrences.count, pair});
}

void Trainer::layOut(std::string_view piece, std::int64_t count) {
    const auto first = static_cast<std::int32_t>(m_symbols.size());
    const auto length = static_cast<std::int32_t>(piece.size());
    const auto index = static_cast<std::uint32_t>(m_pieceCounts.size());
    m_pieceCounts.push_back(count);
    for (std::int32_t i = 0; i < length; ++i) {
        const auto byte = static_cast<unsigned char>(piece[static_cast<std::size_t>(i)]);
        m_symbols.push_back({m_byteIds[byte], i == 0 ? kNone : first + i - 1,
                             i + 1 == length ? kNone : first + i + 1, index});
    }
    for (std::int32_t i = 0; i < length; ++i) change(first + i, +1);
}

/// Adds or takes away the pair of the symbol at `at` and the one after it.
void Trainer::change(std::int32_t at, std::int64_t sign) {
    if (at == kNone || symbol(at).next == kNone) return;
    const Pair pair = pairOf(symbol(at).id, symbol(symbol(at).next).id);
    Occurrences& occurrences = m_pairs[pair];
    occurrences.count += sign * m_pieceCounts[symbol(at).piece];
    if (sign < 0) return;
    occurrences.positions.push_back(at);
    m_grown.push_back(pair);
}

Entry Trainer::mostFrequent() {
    while (!m_heap.empty()) {
        const Entry top = m_heap.top();
        const auto found = m_pairs.find(top.pair);
        if (found != m_pairs.end() && found->second.count == top.count) return top;
        m_heap.pop();
        // Less frequent by now; more frequent ones were pushed when they grew.
        if (found != m_pairs.end() && found->second.count > 0 && found->second.count < top.count)
            m_heap.push({found->second.count, top.pair});
    }
    return {};
}

/// The token that the pair makes; two pairs may make the same one.
std::uint32_t Trainer::tokenOf(Pair pair) {
    const auto left = static_cast<std::uint32_t>(pair >> 32);
    const auto right = static_cast<std::uint32_t>(pair);
    const std::string bytes = m_vocabulary.tokens[left] + m_vocabulary.tokens[right];
    const auto next = static_cast<std::uint32_t>(m_vocabulary.tokens.size());
    const auto [found, isNew] = m_ids.emplace(bytes, next);
    if (isNew) m_vocabulary.tokens.push_back(bytes);
    if (m_merged.insert(pair).second) m_vocabulary.merges.push_back({left, right, found->second});
    return found->second;
}

void Trainer::mergeAll(Pair pair) {
    const std::uint32_t result = tokenOf(pair);
    std::vector<std::int32_t> positions = std::move(m_pairs[pair].positions);
    m_pairs[pair].positions.clear();
    // From the left, as encoding does: of "aaa" the first two.
    std::sort(positions.begin(), positions.end());
    m_grown.clear();
    for (const std::int32_t at : positions) {
        if (symbol(at).id == static_cast<std::uint32_t>(pair >> 32))
            mergeAt(at, static_cast<std::uint32_t>(pair), result);
    }
    std::sort(m_grown.begin(), m_grown.end());
    m_grown.erase(std::unique(m_grown.begin(), m_grown.end()), m_grown.end());
    for (const Pair grown : m_grown) {
        if (const std::int64_t count = m_pairs[grown].count; count > 0) m_heap.push({count, grown});
    }
    if (m_pairs[pair].count == 0) m_pairs.erase(pair);
}

void Trainer::mergeAt(std::int32_t at, std::uint32_t right, std::uint32_t result) {
    const std::int32_t second = symbol(at).next;
    if (second == kNone || symbol(second).id != right) return;
    const std::int32_t previous = symbol(at).previous;
    change(previous, -1);
    change(at, -1);
    change(second, -1);
    symbol(at).id = result;
    symbol(at).next = symbol(second).next;
    symbol(second).id = kGone;
    if (symbol(at).next != kNone) symbol(symbol(at).next).previous = at;
    change(previous, +1);
    change(at, +1);
}

Result<Vocabulary> Trainer::run() {
    // One id is kept for the end of text.
    const std::size_t wanted = m_options.vocabulary - 1;
    for (std::size_t merges = 0; m_vocabulary.tokens.size() < wanted; ++merges) {
        if (m_options.progress && merges % kProgressEvery == 0 &&
            !m_options.progress(m_vocabulary.tokens.size()))
            return failure(ErrorCode::kCancelled, "training the tokenizer was stopped");
        const Entry best = mostFrequent();
        if (best.count < std::max<std::int64_t>(m_options.leastCount, 1)) break;
        mergeAll(best.pair);
    }
    const auto end = static_cast<std::uint32_t>(m_vocabulary.tokens.size());
    m_vocabulary.tokens.emplace_back(kEndOfText);
    m_vocabulary.added.push_back({kEndOfText, end, true});
    return std::move(m_vocabulary);
}

}  // namespace

void PieceCounts::add(std::string_view text) {
    m_splitter.begin(text);
    for (auto piece = m_splitter.next(); !piece.empty(); piece = m_splitter.next()) {
        const auto found = m_counts.find(piece);
        if (found != m_counts.end())
            ++found->second;
        else
            m_counts.emplace(piece, 1);
    }
}

void PieceCounts::add(const PieceCounts& other) {
    for (const auto& [piece, count] : other.m_counts) m_counts[piece] += count;
}

Result<Vocabulary> trainBpe(const PieceCounts& pieces, const TrainingOptions& options) {
    if (options.vocabulary < 257 || options.vocabulary > kMostTokens) {
        return failure(ErrorCode::kUsage,
                       fmt::format("a vocabulary of {} cannot be: it has to hold 256 bytes and the "
                                   "end of text, and at most {} tokens; change --vocabulary",
                                   options.vocabulary, kMostTokens));
    }
    std::size_t bytes = 0;
    for (const auto& [piece, count] : pieces.counts()) bytes += piece.size();
    if (bytes > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        return failure(ErrorCode::kUnreadable,
                       fmt::format("the text has {} bytes of different words, more than the 2 GiB "
                                   "that training takes; train on a part of it",
                                   bytes));
    }
    return Trainer(pieces, options).run();
}

}  // namespace shardscope::tokens
