// The fused softmax cross entropy of the GPU on CPU threads, against sums in double.
#include "tests/support/cuda_emulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace shardscope::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Rows {
    std::int64_t rows, width;
    std::vector<float> logits;
    std::vector<std::int64_t> targets;
};

Rows randomRows(std::int64_t rows, std::int64_t width, float size = 4) {
    Rows r{rows, width, std::vector<float>(static_cast<std::size_t>(rows * width)), {}};
    std::mt19937 generator(static_cast<unsigned>(width));
    std::uniform_real_distribution<float> logit(-size, size);
    // What bf16 can hold, and fp16 nearly, so that all types are given the same problem.
    for (float& value : r.logits) value = __bfloat162float(__float2bfloat16_rn(logit(generator)));
    for (std::int64_t row = 0; row < rows; ++row)
        r.targets.push_back(static_cast<std::int64_t>(generator()) % width);
    return r;
}

struct Answer {
    double loss = 0;
    std::vector<double> gradient;
};

/// By definition, in double.
Answer expected(const Rows& r, double scale) {
    Answer answer;
    for (std::int64_t row = 0; row < r.rows; ++row) {
        const auto begin = r.logits.begin() + row * r.width;
        const double most = *std::max_element(begin, begin + r.width);
        double sum = 0;
        for (std::int64_t i = 0; i < r.width; ++i) sum += std::exp(begin[i] - most);
        const std::int64_t target = r.targets[static_cast<std::size_t>(row)];
        answer.loss += std::log(sum) + most - begin[target];
        for (std::int64_t i = 0; i < r.width; ++i) {
            const double p = std::exp(begin[i] - most) / sum;
            answer.gradient.push_back(scale * (p - (i == target ? 1 : 0)));
        }
    }
    return answer;
}

template <class T>
std::vector<T> as(const std::vector<float>& values) {
    std::vector<T> result;
    for (float value : values) result.push_back(device::fromFloat<T>(value));
    return result;
}

/// As a kernel takes it, and what rounding to it may cost: relative, and where it holds no less.
template <class T>
struct Type;
template <>
struct Type<float> {
    static constexpr DataType kIs = DataType::kFloat32;
    static constexpr double kRelative = 4e-6, kLeast = 0;
    static constexpr const char* kName = "fp32";
};
template <>
struct Type<__nv_bfloat16> {
    static constexpr DataType kIs = DataType::kBFloat16;
    static constexpr double kRelative = 0x1p-8, kLeast = 0;
    static constexpr const char* kName = "bf16";
};
template <>
struct Type<__half> {
    static constexpr DataType kIs = DataType::kFloat16;
    static constexpr double kRelative = 0x1p-10, kLeast = 0x1p-25;
    static constexpr const char* kName = "fp16";
};

/// `shift` elements off the alignment of the heap.
template <class T>
Answer found(const Rows& r, float scale, bool gradient, std::size_t shift = 0) {
    std::vector<T> logits(shift);
    const std::vector<T> given = as<T>(r.logits);
    logits.insert(logits.end(), given.begin(), given.end());
    Answer answer;
    device::kTable.softmaxCrossEntropy(logits.data() + shift, Type<T>::kIs, r.rows, r.width,
                                       r.targets.data(), scale, gradient, &answer.loss, nullptr);
    for (std::size_t i = shift; i < logits.size(); ++i)
        answer.gradient.push_back(static_cast<double>(device::toFloat(logits[i])));
    return answer;
}

template <class T>
void check(const Rows& r, std::size_t shift = 0) {
    SCOPED_TRACE(::testing::Message() << r.rows << " x " << r.width << ", shift " << shift);
    constexpr float kScale = 0.125F;
    const Answer wanted = expected(r, static_cast<double>(kScale));
    const Answer answer = found<T>(r, kScale, true, shift);
    EXPECT_NEAR(answer.loss, wanted.loss, 2e-6 * std::max(1.0, std::abs(wanted.loss)));
    ASSERT_EQ(answer.gradient.size(), wanted.gradient.size());
    for (std::size_t i = 0; i < wanted.gradient.size(); ++i) {
        const double w = wanted.gradient[i];
        // p - 1 of a p near 1 keeps p's last bit as its error.
        const double lost = w < 0 ? 2e-7 * static_cast<double>(kScale) : 1e-12;
        ASSERT_NEAR(answer.gradient[i], w,
                    lost + Type<T>::kLeast + Type<T>::kRelative * std::abs(w))
            << "at " << i;
    }
}

template <class T>
class CudaCrossEntropy : public ::testing::Test {};
using Types = ::testing::Types<float, __nv_bfloat16, __half>;
class TypeNames {
public:
    template <class T>
    static std::string GetName(int) {
        return Type<T>::kName;
    }
};
TYPED_TEST_SUITE(CudaCrossEntropy, Types, TypeNames);

TYPED_TEST(CudaCrossEntropy, GivesLossAndGradientAtAnyWidth) {
    for (std::int64_t width : {1, 2, 7, 8, 9, 31, 32, 33, 257, 1000, 1003})
        check<TypeParam>(randomRows(3, width));
}

/// Columns in pieces of `width`: statistics over all of them, then each one's gradient.
template <class T>
Answer inPieces(const Rows& r, std::int64_t width, float scale) {
    std::vector<std::vector<T>> pieces;
    std::vector<float> statistics;
    for (std::int64_t row = 0; row < r.rows; ++row)
        statistics.insert(statistics.end(), {-kInfinity, 0.0F, 0.0F});
    for (std::int64_t first = 0; first < r.width; first += width) {
        const std::int64_t columns = std::min(width, r.width - first);
        std::vector<float> piece;
        for (std::int64_t row = 0; row < r.rows; ++row) {
            const auto begin = r.logits.begin() + row * r.width + first;
            piece.insert(piece.end(), begin, begin + columns);
        }
        pieces.push_back(as<T>(piece));
        device::kTable.softmaxStatistics(pieces.back().data(), Type<T>::kIs, r.rows, columns, first,
                                         r.targets.data(), statistics.data(), nullptr);
    }
    Answer answer;
    answer.gradient.resize(r.logits.size());
    for (std::int64_t row = 0; row < r.rows; ++row) {
        const float* s = statistics.data() + 3 * row;
        answer.loss += std::log(static_cast<double>(s[1])) + static_cast<double>(s[0]) -
                       static_cast<double>(s[2]);
    }
    for (std::size_t p = 0; p < pieces.size(); ++p) {
        const std::int64_t first = static_cast<std::int64_t>(p) * width;
        const std::int64_t columns = std::min(width, r.width - first);
        device::kTable.softmaxGradient(pieces[p].data(), Type<T>::kIs, r.rows, columns, first,
                                       r.targets.data(), statistics.data(), scale, nullptr);
        for (std::int64_t i = 0; i < r.rows * columns; ++i)
            answer.gradient[static_cast<std::size_t>(i / columns * r.width + first + i % columns)] =
                static_cast<double>(device::toFloat(pieces[p][static_cast<std::size_t>(i)]));
    }
    return answer;
}

TYPED_TEST(CudaCrossEntropy, GivesTheSameInPiecesOfColumns) {
    for (const std::int64_t piece : {1, 7, 32, 100, 257}) {
        SCOPED_TRACE(piece);
        const Rows r = randomRows(3, 257);
        const Answer wanted = expected(r, 0.125);
        const Answer answer = inPieces<TypeParam>(r, piece, 0.125F);
        EXPECT_NEAR(answer.loss, wanted.loss, 4e-6 * std::abs(wanted.loss));
        const double relative = std::max(2e-5, Type<TypeParam>::kRelative);
        for (std::size_t i = 0; i < wanted.gradient.size(); ++i)
            ASSERT_NEAR(answer.gradient[i], wanted.gradient[i],
                        1e-7 + relative * std::abs(wanted.gradient[i]))
                << "at " << i;
    }
}

TYPED_TEST(CudaCrossEntropy, TakesRowsAtAnyAddress) {
    for (std::size_t shift : {1u, 2u, 3u, 5u, 7u}) {
        check<TypeParam>(randomRows(2, 3), shift);
        check<TypeParam>(randomRows(2, 101), shift);
    }
}

TYPED_TEST(CudaCrossEntropy, TakesTheVocabularyOfGpt2) {
    check<TypeParam>(randomRows(2, 50257));
}

TYPED_TEST(CudaCrossEntropy, SurvivesExtremeLogits) {
    Rows r = randomRows(4, 65);
    for (std::size_t i = 0; i < 65; ++i) {
        r.logits[i] = i % 2 == 0 ? 1e4F : -1e4F;
        r.logits[65 + i] = -1e4F;
        r.logits[130 + i] = i == 64 ? 1e4F : 0;
        r.logits[195 + i] = 0;
    }
    r.logits = [&] {
        std::vector<float> held;
        for (float v : r.logits) held.push_back(__bfloat162float(__float2bfloat16_rn(v)));
        return held;
    }();
    r.targets = {0, 5, 64, 33};
    check<TypeParam>(r);
    r.targets = {1, 5, 0, 33};  // as wrong as can be: a loss of thousands
    check<TypeParam>(r);
}

TYPED_TEST(CudaCrossEntropy, GivesMaskedLogitsNoProbability) {
    Rows r = randomRows(2, 77);
    for (std::size_t i = 0; i < 77; ++i)
        if (i % 3 != 0) r.logits[i] = -kInfinity;
    // All but the last: whole packs and warps see nothing but masks.
    for (std::size_t i = 77; i < 153; ++i) r.logits[i] = -kInfinity;
    r.targets = {3, 76};
    check<TypeParam>(r);
    const Answer answer = found<TypeParam>(r, 1, true);
    EXPECT_EQ(answer.gradient[1], 0);
    EXPECT_EQ(answer.gradient[153], 0);
}

TYPED_TEST(CudaCrossEntropy, SaysWhenARowHasNoAnswer) {
    Rows masked = randomRows(1, 40);
    std::fill(masked.logits.begin(), masked.logits.end(), -kInfinity);
    EXPECT_TRUE(std::isnan(found<TypeParam>(masked, 1, true).loss));
    Rows broken = randomRows(1, 40);
    broken.logits[13] = std::numeric_limits<float>::quiet_NaN();
    broken.targets = {2};
    EXPECT_TRUE(std::isnan(found<TypeParam>(broken, 1, true).loss));
    Rows wrong = randomRows(1, 40);
    wrong.logits[6] = -kInfinity;
    wrong.targets = {6};
    EXPECT_EQ(found<TypeParam>(wrong, 1, true).loss, std::numeric_limits<double>::infinity());
}

TYPED_TEST(CudaCrossEntropy, LeavesLogitsAloneWithoutGradient) {
    const Rows r = randomRows(2, 130);
    const Answer answer = found<TypeParam>(r, 1, false);
    EXPECT_NEAR(answer.loss, expected(r, 1).loss, 1e-5);
    for (std::size_t i = 0; i < r.logits.size(); ++i)
        ASSERT_EQ(answer.gradient[i], static_cast<double>(r.logits[i]));
}

TYPED_TEST(CudaCrossEntropy, RunsWithTheBlocksOfADevice) {
    const auto before = testing::emulatedLimits();
    testing::emulatedLimits() = {2, 1024};
    check<TypeParam>(randomRows(1, 9000));
    testing::emulatedLimits() = before;
}

TEST(CudaCrossEntropyTable, RefusesOtherTypesAndSkipsNoRows) {
    double loss = 0;
    const std::int64_t target = 0;
    EXPECT_THROW(device::kTable.softmaxCrossEntropy(&loss, DataType::kFloat64, 1, 1, &target, 1,
                                                    true, &loss, nullptr),
                 control::DeviceError);
    const int launches = testing::emulatedLaunches();
    device::kTable.softmaxCrossEntropy(nullptr, DataType::kFloat32, 0, 50257, nullptr, 1, true,
                                       &loss, nullptr);
    EXPECT_EQ(testing::emulatedLaunches(), launches);
}

}  // namespace
}  // namespace shardscope::kernels
