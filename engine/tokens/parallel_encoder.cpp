#include "engine/tokens/parallel_encoder.h"

#include <algorithm>
#include <future>

namespace shardscope::tokens {
namespace {

/// What a thread encodes at once: long beside starting it, short beside memory.
constexpr std::size_t kBlockBytes = 2 << 20;

}  // namespace

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
