#include "tests/bench/kineto_generator.h"

#include <fmt/format.h>

#include <iterator>
#include <string>

namespace shardscope::bench {
namespace {

constexpr std::uint64_t kOperatorsAStep = 2000;
constexpr std::size_t kFlushBytes = std::size_t{1} << 20;

constexpr const char* kOperators[] = {
    "aten::mm",    "aten::add_",      "aten::layer_norm",  "aten::linear",  "aten::empty",
    "aten::copy_", "aten::transpose", "aten::native_gelu", "aten::softmax", "aten::_foreach_add"};
constexpr const char* kKernels[] = {
    "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, "
    "at::detail::Array<char*, 3>)",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, "
    "float, float const*, float const*, float const*, float*, float*, float*)"};

class Writer {
public:
    explicit Writer(std::FILE* to) : m_to(to) {}
    template <class... Arguments>
    void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(m_text), format, std::forward<Arguments>(arguments)...);
        if (m_text.size() > kFlushBytes) flush();
    }
    template <class... Arguments>
    void event(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        put("{}", m_events++ == 0 ? "\n" : ",\n");
        put(format, std::forward<Arguments>(arguments)...);
    }
    void flush() {
        m_bytes += std::fwrite(m_text.data(), 1, m_text.size(), m_to);
        m_text.clear();
    }
    [[nodiscard]] std::uint64_t bytes() const { return m_bytes + m_text.size(); }
    [[nodiscard]] std::uint64_t events() const { return m_events; }

private:
    std::FILE* m_to;
    std::string m_text;
    std::uint64_t m_bytes = 0;
    std::uint64_t m_events = 0;
};

std::string us(std::uint64_t ns) {
    return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

/// Bits without a pattern that a compressor could find (splitmix64).
std::uint64_t noiseOf(std::uint64_t n) {
    n = (n + 1) * 0x9E3779B97F4A7C15u;
    n = (n ^ n >> 30) * 0xBF58476D1CE4E5B9u;
    n = (n ^ n >> 27) * 0x94D049BB133111EBu;
    return n ^ n >> 31;
}

/// One operator with what it leaves on the device. As in training, what runs repeats with every
/// step, and no time does.
void putOperator(Writer& out, std::uint64_t n, std::uint64_t start) {
    const std::uint64_t noise = noiseOf(n % kOperatorsAStep);
    const std::uint64_t time = noiseOf(n);
    const std::uint64_t duration = 4'000 + time % 9'000;
    start += time / 9'000 % 3'000;
    const std::uint64_t id = 1000 + n;
    out.event(
        "  {{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"{}\", \"pid\": 2910249, "
        "\"tid\": "
        "2910249,\n    \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"External id\": {},"
        "\"Record function id\": {}, \"Ev Idx\": {}\n    }}\n  }}",
        kOperators[noise % std::size(kOperators)], us(start), us(duration), id, id - 140, n);
    if (n % 3 == 0) return;
    const std::uint64_t launch = start + duration / 2;
    out.event(
        "  {{\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", "
        "\"pid\": "
        "2910249, \"tid\": 2910249,\n    \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      "
        "\"External "
        "id\": {}, \"cbid\": 211, \"correlation\": {}\n    }}\n  }}",
        us(launch), us(1'500 + time % 700), id, id);
    out.event(
        "  {{\n    \"ph\": \"s\", \"id\": {}, \"pid\": 2910249, \"tid\": 2910249, \"ts\": {},\n    "
        "\"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }}",
        id, us(launch));
    const bool nccl = n % 200 == 1;
    const std::uint64_t run = launch + 20'000 + time % 1'500;
    out.event(
        "  {{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"{}\", \"pid\": 0, \"tid\": "
        "{},\n    "
        "\"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"External id\": {},\n      \"queued\": "
        "0, "
        "\"device\": 0, \"context\": 1,\n      \"stream\": {}, \"correlation\": {},\n      "
        "\"registers per thread\": {},\n      \"shared memory\": {},\n      \"blocks per SM\": "
        "{}.740741,\n      \"warps per SM\": {}.851852,\n      \"grid\": [{}, 1, 1],\n      "
        "\"block\": "
        "[512, 1, 1],\n      \"est. achieved occupancy %\": {}{}\n    }}\n  }}",
        nccl ? "ncclDevKernel_AllGather_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
             : kKernels[noise % std::size(kKernels)],
        nccl ? 40 : 7, us(run), us(2'000 + time % 3'000), id, nccl ? 40 : 7, id, 32 + noise % 8 * 8,
        noise % 4 * 400, noise % 9, noise % 64, 1u << noise % 10, noise % 100,
        nccl
            ? ", \"Collective name\": \"all_gather\", \"In msg nelems\": 1024, \"Out msg nelems\": "
              "8192, \"Group size\": 8, \"dtype\": \"BFloat16\", \"Process Group Name\": \"0\""
            : "");
    out.event(
        "  {{\n    \"ph\": \"f\", \"id\": {}, \"pid\": 0, \"tid\": {}, \"ts\": {},\n    \"cat\": "
        "\"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  }}",
        id, nccl ? 40 : 7, us(run));
}

}  // namespace

KinetoSize writeKinetoTrace(std::FILE* to, std::uint64_t bytes) {
    constexpr std::uint64_t kOperatorNs = 16'000;
    constexpr std::uint64_t kBegin = 4'458'676'388'068'751;
    Writer out(to);
    out.put(
        "{{\n  \"schemaVersion\": 1,\n  \"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": 0, "
        "\"world_size\": 8}},\n  \"traceEvents\": [");
    for (std::uint64_t n = 0; out.bytes() < bytes; ++n) {
        const std::uint64_t start = kBegin + n * kOperatorNs;
        if (n % kOperatorsAStep == 0)
            out.event(
                "  {{\n    \"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
                "\"ProfilerStep#{}\", "
                "\"pid\": 2910249, \"tid\": 2910249,\n    \"ts\": {}, \"dur\": {},\n    \"args\": "
                "{{\n"
                "      \"External id\": {}, \"Ev Idx\": {}\n    }}\n  }}",
                n / kOperatorsAStep, us(start), us(kOperatorsAStep * kOperatorNs), n, n);
        putOperator(out, n, start);
    }
    out.put(
        "\n  ],\n  \"traceName\": \"t.json\",\n  \"baseTimeNanoseconds\": "
        "1711964646000000000\n}}\n");
    out.flush();
    return {out.events(), out.bytes()};
}

}  // namespace shardscope::bench
