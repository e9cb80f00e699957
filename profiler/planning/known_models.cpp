#include "profiler/planning/known_models.h"

#include <algorithm>
#include <array>

namespace shardscope::planning {
namespace {

constexpr KnownModel gpt(std::string_view name, std::int64_t context, std::int64_t layers,
                         std::int64_t hidden, std::int64_t heads) {
    return {name,  50257,      context, layers, hidden, heads,
            heads, 4 * hidden, false,   true,   true,   true};
}

constexpr KnownModel llama(std::string_view name, std::int64_t context, std::int64_t layers,
                           std::int64_t hidden, std::int64_t heads, std::int64_t keyValueHeads,
                           std::int64_t innerWidth) {
    return {name,          32000,      context, layers, hidden, heads,
            keyValueHeads, innerWidth, true,    false,  false,  false};
}

constexpr std::array kModels{
    gpt("gpt2", 1024, 12, 768, 12),
    gpt("gpt2-medium", 1024, 24, 1024, 16),
    gpt("gpt2-large", 1024, 36, 1280, 20),
    gpt("gpt2-xl", 1024, 48, 1600, 25),
    gpt("gpt3-175b", 2048, 96, 12288, 96),
    llama("llama-7b", 2048, 32, 4096, 32, 32, 11008),
    llama("llama-13b", 2048, 40, 5120, 40, 40, 13824),
    llama("llama2-70b", 4096, 80, 8192, 64, 8, 28672),
};

std::int64_t blockCount(const KnownModel& m) {
    const std::int64_t c = m.hidden, keys = c / m.heads * m.keyValueHeads, f = m.innerWidth;
    const std::int64_t matrices = 2 * c * c + 2 * c * keys + (m.gated ? 3 : 2) * c * f;
    const std::int64_t biases = 2 * c + 2 * keys + f + c;
    const std::int64_t norms = 2 * c * (m.biases ? 2 : 1);
    return matrices + norms + (m.biases ? biases : 0);
}

}  // namespace

std::span<const KnownModel> knownModels() {
    return kModels;
}

const KnownModel* findKnownModel(std::string_view name) {
    const auto* const found = std::find_if(kModels.begin(), kModels.end(),
                                           [&](const KnownModel& m) { return m.name == name; });
    return found == kModels.end() ? nullptr : found;
}

std::int64_t parameterCount(const KnownModel& m) {
    const std::int64_t tables = m.vocabulary * (m.tiedHead ? 1 : 2) + (m.positions ? m.context : 0);
    return tables * m.hidden + m.layers * blockCount(m) + m.hidden * (m.biases ? 2 : 1);
}

}  // namespace shardscope::planning
