#include "engine/tokens/encoder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <future>

namespace shardscope::tokens {
namespace {

/// Any spread will do: what collides is merged anew.
std::size_t spread(std::string_view piece) {
    std::uint64_t hash = piece.size();
    for (std::size_t i = 0; i < piece.size(); i += sizeof hash) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, piece.data() + i, std::min(sizeof eight, piece.size() - i));
        hash = (hash ^ eight) * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 32;
    }
    return hash;
}

/// What a thread encodes at once: long beside starting it, short beside memory.
constexpr std::size_t kBlockBytes = 2 << 20;

}  // namespace

Encoder::Encoder(const Tokenizer& tokenizer, AddedTokens added, std::size_t remembered)
    : m_tokenizer(tokenizer), m_added(added), m_known(std::bit_ceil(remembered)) {}

void Encoder::encode(std::string_view text, std::vector<std::uint32_t>& ids) {
    if (m_added == AddedTokens::kAsText) return encodePlain(text, ids);
    for (std::size_t at = 0; at < text.size();) {
        const Tokenizer::Found found = m_tokenizer.findAdded(text, at);
        encodePlain(text.substr(at, found.at - at), ids);
        at = found.at;
        if (found.token == nullptr) break;
        ids.push_back(found.token->id);
        at += found.token->text.size();
    }
}

void Encoder::encodePlain(std::string_view text, std::vector<std::uint32_t>& ids) {
    m_splitter.begin(text);
    for (auto piece = m_splitter.next(); !piece.empty(); piece = m_splitter.next())
        encodePiece(piece, ids);
}

void Encoder::encodePiece(std::string_view piece, std::vector<std::uint32_t>& ids) {
    if (piece.size() > Known::kBytes) return mergePiece(piece, ids);
    Known& known = m_known[spread(piece) & (m_known.size() - 1)];
    if (std::string_view(known.bytes.data(), known.length) == piece) {
        ids.insert(ids.end(), known.ids.begin(), known.ids.begin() + known.count);
        return;
    }
    const std::size_t before = ids.size();
    mergePiece(piece, ids);
    if (ids.size() - before > Known::kIds) return;
    known.length = static_cast<std::uint8_t>(piece.size());
    known.count = static_cast<std::uint8_t>(ids.size() - before);
    std::copy(piece.begin(), piece.end(), known.bytes.begin());
    std::copy(ids.begin() + static_cast<std::ptrdiff_t>(before), ids.end(), known.ids.begin());
}

void Encoder::mergePiece(std::string_view piece, std::vector<std::uint32_t>& ids) {
    const auto count = static_cast<std::int32_t>(piece.size());
    m_symbols.clear();
    m_heap.clear();
    for (std::int32_t i = 0; i < count; ++i) {
        const auto byte = static_cast<unsigned char>(piece[static_cast<std::size_t>(i)]);
        m_symbols.push_back(
            {m_tokenizer.byteToken(byte), i - 1, i + 1 < count ? i + 1 : -1, false});
    }
    for (std::int32_t i = 0; i < count; ++i) note(i);
    while (!m_heap.empty()) {
        std::pop_heap(m_heap.begin(), m_heap.end());
        const Candidate best = m_heap.back();
        m_heap.pop_back();
        apply(best);
    }
    for (const Symbol& symbol : m_symbols) {
        if (!symbol.gone) ids.push_back(symbol.id);
    }
}

void Encoder::note(std::int32_t at) {
    const Symbol& symbol = m_symbols[static_cast<std::size_t>(at)];
    if (symbol.next < 0) return;
    const std::uint32_t right = m_symbols[static_cast<std::size_t>(symbol.next)].id;
    const Tokenizer::Step* step = m_tokenizer.merge(symbol.id, right);
    if (step == nullptr) return;
    m_heap.push_back({step->rank, at, symbol.id, right, step->result});
    std::push_heap(m_heap.begin(), m_heap.end());
}

void Encoder::apply(const Candidate& best) {
    Symbol& left = m_symbols[static_cast<std::size_t>(best.at)];
    // Merged otherwise since it was noted.
    if (left.gone || left.id != best.left || left.next < 0) return;
    Symbol& right = m_symbols[static_cast<std::size_t>(left.next)];
    if (right.id != best.right) return;
    left.id = best.result;
    left.next = right.next;
    right.gone = true;
    if (left.next >= 0) m_symbols[static_cast<std::size_t>(left.next)].previous = best.at;
    note(best.at);
    if (left.previous >= 0) note(left.previous);
}

ParallelEncoder::ParallelEncoder(const Tokenizer& tokenizer, AddedTokens added, unsigned threads)
    : m_tokenizer(tokenizer), m_made(std::max(threads, 1U)) {
    for (std::size_t i = 0; i < m_made.size(); ++i) m_encoders.emplace_back(tokenizer, added);
}

Result<void> ParallelEncoder::encode(std::string_view text, const TokenSink& sink) {
    while (!text.empty()) {
        std::vector<std::future<void>> running;
        std::size_t blocks = 0;
        for (; blocks < m_made.size() && !text.empty(); ++blocks) {
            const std::size_t now = m_tokenizer.boundary(text, std::min(kBlockBytes, text.size()));
            const auto block = [this, blocks, part = text.substr(0, now)] {
                m_made[blocks].clear();
                m_encoders[blocks].encode(part, m_made[blocks]);
            };
            text.remove_prefix(now);
            // The last needs no thread of its own: this one would only wait.
            const bool last = text.empty() || blocks + 1 == m_made.size();
            if (last)
                block();
            else
                running.push_back(std::async(std::launch::async, block));
        }
        for (std::future<void>& each : running) each.get();
        for (std::size_t i = 0; i < blocks; ++i) {
            if (auto taken = sink(m_made[i]); !taken) return taken;
        }
    }
    const auto end = m_tokenizer.endOfText();
    return end ? sink(std::span(&*end, 1)) : Result<void>();
}

}  // namespace shardscope::tokens
