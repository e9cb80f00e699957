#include "storage/interchange/kineto/in/window_scan.h"

#include <bit>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace shardscope::interchange::kineto {
namespace {

constexpr std::size_t kBlock = 64;

/// One bit a byte of the block.
struct BlockMasks {
    std::uint64_t quotes = 0;
    std::uint64_t backslashes = 0;
    std::uint64_t opens = 0;   ///< { and [
    std::uint64_t closes = 0;  ///< } and ]
};

BlockMasks masksOf(const char* block) {
    BlockMasks masks;
#ifdef __SSE2__
    // { and [ differ in one bit only, as } and ] do.
    const __m128i bit = _mm_set1_epi8(0x20);
    for (int part = 0; part < 4; ++part) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * part));
        const __m128i folded = _mm_or_si128(bytes, bit);
        const auto mask = [&](__m128i value, char c) {
            const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(value, _mm_set1_epi8(c)));
            return static_cast<std::uint64_t>(static_cast<unsigned>(found)) << (16 * part);
        };
        masks.quotes |= mask(bytes, '"');
        masks.backslashes |= mask(bytes, '\\');
        masks.opens |= mask(folded, '{');
        masks.closes |= mask(folded, '}');
    }
#else
    for (std::size_t i = 0; i < kBlock; ++i) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        const char c = block[i];
        if (c == '"') masks.quotes |= bit;
        if (c == '\\') masks.backslashes |= bit;
        if (c == '{' || c == '[') masks.opens |= bit;
        if (c == '}' || c == ']') masks.closes |= bit;
    }
#endif
    return masks;
}

/// Bit i is the parity of bits 0 to i.
std::uint64_t prefixParity(std::uint64_t bits) {
    for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
    return bits;
}

}  // namespace

void WindowScan::bracket(char c, std::size_t at) {
    if (c == '{' || c == '[') {
        m_tooDeep = m_tooDeep || m_depth >= kMostDepth;
        if (m_depth == 0) m_isObject = c == '{';
        ++m_depth;
        return;
    }
    // An element that lacks its last bracket ends with the array.
    if (m_depth == 1 && c == ']' && m_isObject) m_depth = 0;
    if (m_depth == 0) {
        if (c == '}') return;  // one too many: an element that is none
        m_ended = true;
        m_cut = at;
        return;
    }
    if (--m_depth == 0) m_cut = at + 1;
}

void WindowScan::scanByte(char c, std::size_t at) {
    if (m_escaped) {
        m_escaped = false;
    } else if (m_inString) {
        if (c == '\\') m_escaped = true;
        if (c == '"') m_inString = false;
    } else if (c == '"') {
        m_inString = true;
    } else if (c == '{' || c == '[' || c == '}' || c == ']') {
        bracket(c, at);
    }
}

/// false: this block is for scanByte().
bool WindowScan::scanBlock(const char* block, std::size_t at) {
    const BlockMasks masks = masksOf(block);
    if (masks.backslashes != 0 || m_escaped) return false;
    const std::uint64_t inside =
        prefixParity(masks.quotes) ^ (m_inString ? ~std::uint64_t{0} : std::uint64_t{0});
    const std::uint64_t opens = masks.opens & ~inside;
    const std::uint64_t closes = masks.closes & ~inside;
    const int opened = std::popcount(opens);
    const int closed = std::popcount(closes);
    if (m_depth > closed && m_depth + opened < kMostDepth) {
        m_depth += opened - closed;
    } else {
        for (std::uint64_t left = opens | closes; left != 0 && !m_ended; left &= left - 1) {
            const auto i = static_cast<std::size_t>(std::countr_zero(left));
            bracket(block[i], at + i);
        }
    }
    m_inString = (inside >> 63) != 0;
    return true;
}

void WindowScan::scan(std::string_view text) {
    while (m_scanned < text.size() && !m_ended && !m_tooDeep) {
        const char* at = text.data() + m_scanned;
        if (text.size() - m_scanned >= kBlock && scanBlock(at, m_scanned)) {
            m_scanned += kBlock;
            continue;
        }
        const std::size_t count = std::min(kBlock, text.size() - m_scanned);
        for (std::size_t i = 0; i < count && !m_ended; ++i) scanByte(at[i], m_scanned + i);
        m_scanned += count;
    }
}

void WindowScan::scanFirst(std::string_view text) {
    while (m_scanned < text.size() && m_cut == 0 && !m_ended && !m_tooDeep) {
        scanByte(text[m_scanned], m_scanned);
        ++m_scanned;
    }
}

}  // namespace shardscope::interchange::kineto
