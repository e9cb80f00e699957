// The GPU's embedding and its gradient on CPU threads, against a plain loop.
#include "tests/engine/kernels_cuda/kernel_types.h"

namespace shardscope::kernels {
namespace {

struct EmbeddingCase {
    std::int64_t tokens, hidden;
    std::int64_t vocabulary = 9;
    std::int64_t firstRow = 0, rows = 9;  ///< of the vocabulary, in the table
    std::size_t shift = 0;
    friend std::ostream& operator<<(std::ostream& out, const EmbeddingCase& c) {
        return out << c.tokens << " x " << c.hidden << ", rows " << c.firstRow << " to "
                   << c.firstRow + c.rows << " of " << c.vocabulary << ", shift " << c.shift;
    }
};

std::vector<std::int64_t> tokensOf(const EmbeddingCase& c) {
    std::mt19937 generator(static_cast<unsigned>(c.tokens));
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < c.tokens; ++i)
        ids.push_back(static_cast<std::int64_t>(generator()) % c.vocabulary);
    return ids;
}

template <class T>
DeviceEmbedding given(const EmbeddingCase& c, const std::vector<std::int64_t>& ids) {
    return {Type<T>::kIs, c.tokens, c.hidden, c.firstRow, c.rows, ids.data()};
}

/// Row of the table, or none.
const std::int64_t kOutside = -1;
std::int64_t rowOf(const EmbeddingCase& c, std::int64_t id) {
    const std::int64_t row = id - c.firstRow;
    return row >= 0 && row < c.rows ? row : kOutside;
}

/// Rows of a position table, of which the first kContext are used.
constexpr std::int64_t kContext = 7, kPositions = 9;

template <class T>
void checkForward(const EmbeddingCase& c, bool positions, bool add) {
    SCOPED_TRACE(::testing::Message()
                 << c << (positions ? ", positions" : "") << (add ? ", added" : ""));
    const auto ids = tokensOf(c);
    Shifted<T> table(as<T>(randomValues(c.rows * c.hidden, 1)), c.shift);
    Shifted<T> wpe(as<T>(randomValues(kPositions * c.hidden, 2)), c.shift);
    const std::vector<T> before = as<T>(randomValues(c.tokens * c.hidden, 3));
    Shifted<T> x(before, c.shift);
    device::kTable.embed(given<T>(c, ids), table.data(), positions ? wpe.data() : nullptr, kContext,
                         x.data(), add, nullptr);
    for (std::int64_t i = 0; i < c.tokens * c.hidden; ++i) {
        const std::int64_t token = i / c.hidden, column = i % c.hidden;
        const std::int64_t row = rowOf(c, ids[static_cast<std::size_t>(token)]);
        float wanted = add ? device::toFloat(before[static_cast<std::size_t>(i)]) : 0;
        if (positions) wanted = device::toFloat(wpe.data()[token % kContext * c.hidden + column]);
        if (row != kOutside) wanted += device::toFloat(table.data()[row * c.hidden + column]);
        ASSERT_EQ(x.values()[static_cast<std::size_t>(i)], device::fromFloat<T>(wanted)) << i;
    }
}

template <class G>
struct Gradients {
    Shifted<G> table, positions;
};

/// They start as `before` and `positions`; none of positions when that is empty.
template <class T, class G>
Gradients<G> runBackward(const EmbeddingCase& c, const std::vector<std::int64_t>& ids,
                         const std::vector<T>& dx, const std::vector<float>& before,
                         const std::vector<float>& positions) {
    Shifted<T> shifted(dx, c.shift);
    Gradients<G> d{{as<G>(before), c.shift}, {as<G>(positions), c.shift}};
    DeviceEmbeddingGradients gradients;
    gradients.dx = shifted.data();
    gradients.gradientType = Type<G>::kIs;
    gradients.table = d.table.data();
    if (!positions.empty()) gradients.positions = d.positions.data();
    gradients.context = kContext;
    device::kTable.addEmbeddingGradients(given<T>(c, ids), gradients, nullptr);
    return d;
}

/// A row for each token, or none: where its dx goes.
template <class T, class G, class Row>
void checkSums(const EmbeddingCase& c, const std::vector<T>& dx, const std::vector<float>& before,
               Shifted<G>& found, const Row& rowOfToken) {
    std::vector<double> sums(before.size());
    for (std::int64_t i = 0; i < c.tokens * c.hidden; ++i) {
        const std::int64_t row = rowOfToken(i / c.hidden);
        if (row != kOutside)
            sums[static_cast<std::size_t>(row * c.hidden + i % c.hidden)] +=
                static_cast<double>(device::toFloat(dx[static_cast<std::size_t>(i)]));
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const double wanted =
            static_cast<double>(device::toFloat(device::fromFloat<G>(before[i]))) + sums[i];
        ASSERT_NEAR(static_cast<double>(device::toFloat(found.values()[i])), wanted,
                    Type<G>::kLeast + Type<G>::kRelative * std::abs(wanted) +
                        1e-6 * static_cast<double>(c.tokens))
            << "at " << i;
    }
}

template <class T, class G>
void checkBackward(const EmbeddingCase& c, bool positions) {
    SCOPED_TRACE(::testing::Message()
                 << c << " into " << Type<G>::kName << (positions ? ", positions" : ""));
    const auto ids = tokensOf(c);
    const std::vector<T> dx = as<T>(randomValues(c.tokens * c.hidden, 5));
    const std::vector<float> before = randomValues(c.rows * c.hidden, 6);
    const std::vector<float> atPositions = randomValues(positions ? kPositions * c.hidden : 0, 7);
    Gradients<G> found = runBackward<T, G>(c, ids, dx, before, atPositions);
    checkSums(c, dx, before, found.table,
              [&](std::int64_t token) { return rowOf(c, ids[static_cast<std::size_t>(token)]); });
    if (!positions) return;
    checkSums(c, dx, atPositions, found.positions,
              [](std::int64_t token) { return token % kContext; });
}

template <class T>
void check(const EmbeddingCase& c) {
    for (bool add : {false, true}) checkForward<T>(c, false, add);
    checkForward<T>(c, true, false);
    for (bool positions : {false, true}) {
        checkBackward<T, float>(c, positions);
        checkBackward<T, T>(c, positions);
    }
}

template <class T>
class CudaEmbedding : public ::testing::Test {};
TYPED_TEST_SUITE(CudaEmbedding, Types, TypeNames);

TYPED_TEST(CudaEmbedding, TakesRowsOfAnyWidth) {
    for (std::int64_t hidden : {1, 7, 8, 33, 256, 520, 1040}) check<TypeParam>({5, hidden});
}

TYPED_TEST(CudaEmbedding, TakesRowsAtAnyAddress) {
    for (std::size_t shift : {1u, 2u, 3u}) check<TypeParam>({12, 16, 9, 0, 9, shift});
}

TYPED_TEST(CudaEmbedding, TakesAnyNumberOfTokens) {
    for (std::int64_t tokens : {1, 2, 63, 64, 65, 200}) check<TypeParam>({tokens, 8});
}

TYPED_TEST(CudaEmbedding, PassesOverTokensOfOtherPieces) {
    for (std::int64_t first : {0, 3, 6}) check<TypeParam>({70, 8, 9, first, 3});
}

TYPED_TEST(CudaEmbedding, SumsATokenThatIsEverywhere) {
    check<TypeParam>({300, 8, 1, 0, 1});
}

TYPED_TEST(CudaEmbedding, RunsWithTheBlocksOfADevice) {
    const DeviceLimits limits({2, 1024});
    check<TypeParam>({40, 2056});
}

/// Thousands of small numbers onto a large one: in bf16 each would be lost.
TEST(CudaEmbeddingGradient, SumsInFp32BeforeItRounds) {
    const EmbeddingCase c{256, 1, 1, 0, 1};
    const std::vector<__nv_bfloat16> dx = as<__nv_bfloat16>(std::vector<float>(256, 0x1p-8F));
    auto found = runBackward<__nv_bfloat16, __nv_bfloat16>(c, tokensOf(c), dx, {4}, {});
    EXPECT_EQ(device::toFloat(found.table.values()[0]), 5);
}

/// In the order of the tokens, to the last bit, whatever the blocks.
TEST(CudaEmbeddingGradient, IsTheSameWhateverTheBlocks) {
    const EmbeddingCase c{300, 40, 3, 0, 3};
    const std::vector<float> dx = randomValues(c.tokens * c.hidden, 9);
    const std::vector<float> before = randomValues(c.rows * c.hidden, 10);
    const std::vector<float> positions = randomValues(kPositions * c.hidden, 11);
    const auto run = [&] {
        std::vector<float> all;
        Gradients<float> d = runBackward<float, float>(c, tokensOf(c), dx, before, positions);
        for (Shifted<float>* part : {&d.table, &d.positions})
            all.insert(all.end(), part->values().begin(), part->values().end());
        return all;
    };
    const std::vector<float> found = run();
    testing::emulatedBackwards() = true;
    EXPECT_EQ(run(), found);
    testing::emulatedBackwards() = false;
    const DeviceLimits limits({7, 256});
    EXPECT_EQ(run(), found);
}

TEST(CudaEmbeddingTable, RefusesOtherTypesAndSkipsNoTokens) {
    const EmbeddingCase c{1, 1};
    DeviceEmbedding wrong = given<float>(c, {});
    wrong.dtype = DataType::kFloat64;
    EXPECT_THROW(device::kTable.addEmbeddingGradients(wrong, {}, nullptr), control::DeviceError);
    const int launches = testing::emulatedLaunches();
    DeviceEmbedding none = given<float>(c, {});
    none.tokens = 0;
    device::kTable.embed(none, nullptr, nullptr, 1, nullptr, false, nullptr);
    device::kTable.addEmbeddingGradients(none, {}, nullptr);
    EXPECT_EQ(testing::emulatedLaunches(), launches);
}

}  // namespace
}  // namespace shardscope::kernels
