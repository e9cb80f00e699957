#include "engine/comm/copy.h"

#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace shardscope::comm {

#ifdef __x86_64__
namespace {

constexpr std::size_t kLine = 64;
/// Smaller rows are read again before anything pushes them out.
constexpr std::size_t kLarge = std::size_t{1} << 20;

/// `to` at the start of a line, `bytes` whole lines.
using Stream = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

void streamBy16(std::byte* to, const std::byte* from, std::size_t bytes) {
    for (const std::byte* end = from + bytes; from != end; from += kLine, to += kLine) {
        const auto* source = reinterpret_cast<const __m128i*>(from);
        auto* target = reinterpret_cast<__m128i*>(to);
        const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
        const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
    _mm_sfence();
}

/// A whole line at once.
__attribute__((target("avx512f"))) void streamBy64(std::byte* to, const std::byte* from,
                                                   std::size_t bytes) {
    for (const std::byte* end = from + bytes; from != end; from += kLine, to += kLine) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
    }
    _mm_sfence();
}

Stream fastest() {
    return __builtin_cpu_supports("avx512f") ? &streamBy64 : &streamBy16;
}

}  // namespace

void copyRow(void* to, const void* from, std::size_t bytes) {
    if (bytes < kLarge) {
        std::memcpy(to, from, bytes);
        return;
    }
    auto* target = static_cast<std::byte*>(to);
    const auto* source = static_cast<const std::byte*>(from);
    const std::size_t head = (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine;
    const std::size_t middle = (bytes - head) / kLine * kLine;
    std::memcpy(target, source, head);
    static const Stream stream = fastest();
    stream(target + head, source + head, middle);
    std::memcpy(target + head + middle, source + head + middle, bytes - head - middle);
}

#else

void copyRow(void* to, const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
}

#endif

}  // namespace shardscope::comm
