#include "engine/data/dataset.h"

#include "engine/control/observer.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace shardscope::data {
namespace {

/// Distinct from the training part's, which begin at place 0.
constexpr std::uint64_t kValidation = std::uint64_t{1} << 63;

std::int64_t placeOf(const BatchPlace& place, std::int64_t row) {
    const std::int64_t microStep = place.step * place.accumulate + place.microStep;
    return (microStep * place.ranks + place.rank) * place.rows + row;
}

HostBatch emptyBatch(const BatchPlace& place) {
    const auto count = static_cast<std::size_t>(place.rows * place.context);
    return {place.rows, std::vector<std::int64_t>(count), std::vector<std::int64_t>(count)};
}

/// A window of context + 1 tokens as a row of tokens and one of targets.
void fillRow(HostBatch& batch, std::int64_t row, std::span<const std::int64_t> window) {
    const auto at = row * (static_cast<std::int64_t>(window.size()) - 1);
    std::copy(window.begin(), window.end() - 1, batch.tokens.begin() + at);
    std::copy(window.begin() + 1, window.end(), batch.targets.begin() + at);
}

constexpr unsigned kRounds = 6;

}  // namespace

Batch toBatch(const HostBatch& host) {
    const control::MemoryScope scope(MemoryCategory::kInput, "batch");
    const auto count = static_cast<std::int64_t>(host.tokens.size());
    Batch batch{at::empty({host.rows, count / host.rows}, at::kLong),
                at::empty({count}, at::kLong)};
    std::copy(host.tokens.begin(), host.tokens.end(),
              batch.tokens.mutable_data_ptr<std::int64_t>());
    std::copy(host.targets.begin(), host.targets.end(),
              batch.targets.mutable_data_ptr<std::int64_t>());
    return batch;
}

Result<Dataset> Dataset::load(const run::RunConfig& config) {
    Dataset dataset;
    dataset.m_vocabulary = config.model.vocabulary;
    dataset.m_synthetic = config.data == tokens::kSynthetic;
    if (dataset.m_synthetic) return dataset;
    auto corpus = tokens::loadCorpus(config);
    if (!corpus) return failure(corpus);
    dataset.m_corpus = std::move(*corpus);
    return dataset;
}

std::int64_t Dataset::windows(std::int64_t context) const {
    return m_synthetic ? 0 : (trainingTokens() - 1) / context;
}

std::int64_t Dataset::windowStart(const BatchPlace& place, std::int64_t row) const {
    const std::int64_t count = windows(place.context);
    const std::int64_t at = placeOf(place, row);
    const std::uint64_t key = mix(place.seed ^ mix(static_cast<std::uint64_t>(at / count)));
    const auto rest = static_cast<std::uint64_t>(trainingTokens() - 1 - count * place.context);
    const WindowOrder order(static_cast<std::uint64_t>(count), key);
    const auto window = static_cast<std::int64_t>(order.at(static_cast<std::uint64_t>(at % count)));
    return static_cast<std::int64_t>(mix(key) % (rest + 1)) + window * place.context;
}

void Dataset::readWindow(const tokens::TokenStream& from, std::int64_t start,
                         std::span<std::int64_t> into) const {
    if (m_corpus.unchecked) {
        const auto count = static_cast<std::int64_t>(into.size());
        const auto checked = from.checkRange(start, count, m_vocabulary);
        if (!checked) throw std::out_of_range(checked.error().message);
    }
    from.read(start, into);
}

/// Uniform but for 1 in 2^64 / vocabulary.
void Dataset::drawWindow(std::uint64_t key, std::span<std::int64_t> into) const {
    const auto vocabulary = static_cast<std::uint64_t>(m_vocabulary);
    for (std::int64_t& token : into) token = static_cast<std::int64_t>(mix(key++) % vocabulary);
}

HostBatch Dataset::trainingRows(const BatchPlace& place) const {
    HostBatch batch = emptyBatch(place);
    std::vector<std::int64_t> window(static_cast<std::size_t>(place.context) + 1);
    for (std::int64_t row = 0; row < place.rows; ++row) {
        if (m_synthetic) {
            const auto at = static_cast<std::uint64_t>(placeOf(place, row));
            drawWindow(mix(place.seed ^ mix(at)), window);
        } else {
            readWindow(m_corpus.training, windowStart(place, row), window);
        }
        fillRow(batch, row, window);
    }
    return batch;
}

Batch Dataset::validation(const BatchPlace& place, std::int64_t worldSize,
                          std::int64_t batches) const {
    HostBatch batch = emptyBatch(place);
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(place.context) + 1);
    const std::int64_t starts = validationTokens() - place.context - 1;
    const std::int64_t windows = batches * worldSize * place.rows;
    for (std::int64_t row = 0; row < place.rows; ++row) {
        const std::int64_t window = (place.microStep * worldSize + place.rank) * place.rows + row;
        if (m_synthetic) {
            const auto at = static_cast<std::uint64_t>(window) | kValidation;
            drawWindow(mix(place.seed ^ mix(at)), tokens);
        } else {
            readWindow(m_corpus.validation, starts * window / windows, tokens);
        }
        fillRow(batch, row, tokens);
    }
    return toBatch(batch);
}

std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

WindowOrder::WindowOrder(std::uint64_t count, std::uint64_t key) : m_count(count), m_key(key) {
    if (count > 1) m_halfBits = (static_cast<unsigned>(std::bit_width(count - 1)) + 1) / 2;
}

std::uint64_t WindowOrder::at(std::uint64_t place) const {
    std::uint64_t value = encrypt(place);
    while (value >= m_count) value = encrypt(value);
    return value;
}

std::uint64_t WindowOrder::encrypt(std::uint64_t value) const {
    const std::uint64_t mask = (std::uint64_t{1} << m_halfBits) - 1;
    std::uint64_t left = value >> m_halfBits;
    std::uint64_t right = value & mask;
    for (unsigned round = 0; round < kRounds; ++round) {
        const std::uint64_t next =
            left ^ (mix(m_key ^ mix(right + (std::uint64_t{round} << 56))) & mask);
        left = right;
        right = next;
    }
    return left << m_halfBits | right;
}

}  // namespace shardscope::data
