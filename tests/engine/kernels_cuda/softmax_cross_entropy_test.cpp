// The fused softmax cross entropy of the GPU on CPU threads, against sums in double.
#include "tests/engine/kernels_cuda/kernel_types.h"

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

/// Where rows lie: `shift` elements off the alignment of the heap, `gap` ones between them.
struct Place {
    std::size_t shift = 0;
    std::int64_t gap = 0;
};

constexpr float kBetween = 77;  // what lies in the gaps, in every type exactly

template <class T>
Answer found(const Rows& r, float scale, bool gradient, Place place = {}) {
    const std::vector<T> given = as<T>(r.logits);
    const std::int64_t stride = r.width + place.gap;
    std::vector<T> logits(place.shift + static_cast<std::size_t>(r.rows * stride),
                          device::fromFloat<T>(kBetween));
    T* const begin = logits.data() + place.shift;
    for (std::int64_t row = 0; row < r.rows; ++row)
        std::copy_n(given.data() + row * r.width, r.width, begin + row * stride);
    Answer answer;
    device::kTable.softmaxCrossEntropy({Type<T>::kIs, r.rows, r.width, stride, begin},
                                       r.targets.data(), scale, gradient, &answer.loss, nullptr);
    for (std::int64_t i = 0; i < r.rows * stride; ++i) {
        const auto value = static_cast<double>(device::toFloat(begin[i]));
        if (i % stride < r.width)
            answer.gradient.push_back(value);
        else
            EXPECT_EQ(value, static_cast<double>(kBetween)) << "between rows, at " << i;
    }
    return answer;
}

template <class T>
void check(const Rows& r, Place place = {}) {
    SCOPED_TRACE(::testing::Message() << r.rows << " x " << r.width << ", shift " << place.shift
                                      << ", gap " << place.gap);
    constexpr float kScale = 0.125F;
    const Answer wanted = expected(r, static_cast<double>(kScale));
    const Answer answer = found<T>(r, kScale, true, place);
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
TYPED_TEST_SUITE(CudaCrossEntropy, Types, TypeNames);

TYPED_TEST(CudaCrossEntropy, GivesLossAndGradientAtAnyWidth) {
    for (std::int64_t width : {1, 2, 7, 8, 9, 31, 32, 33, 257, 1000, 1003})
        check<TypeParam>(randomRows(3, width));
}

/// Columns in pieces of `width`: statistics over all of them, then each one's gradient.
template <class T>
Answer inPieces(const Rows& r, std::int64_t width, float scale) {
    std::vector<T> logits = as<T>(r.logits);
    const auto piece = [&](std::int64_t first) {
        return DeviceLogits{Type<T>::kIs, r.rows, std::min(width, r.width - first), r.width,
                            logits.data() + first};
    };
    std::vector<float> statistics;
    for (std::int64_t row = 0; row < r.rows; ++row)
        statistics.insert(statistics.end(), {-kInfinity, 0.0F, 0.0F});
    for (std::int64_t first = 0; first < r.width; first += width)
        device::kTable.softmaxStatistics(piece(first), first, r.targets.data(), statistics.data(),
                                         nullptr);
    Answer answer;
    for (std::int64_t row = 0; row < r.rows; ++row) {
        const float* s = statistics.data() + 3 * row;
        answer.loss += std::log(static_cast<double>(s[1])) + static_cast<double>(s[0]) -
                       static_cast<double>(s[2]);
    }
    for (std::int64_t first = 0; first < r.width; first += width)
        device::kTable.softmaxGradient(piece(first), first, r.targets.data(), statistics.data(),
                                       scale, nullptr);
    for (const T logit : logits)
        answer.gradient.push_back(static_cast<double>(device::toFloat(logit)));
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
        check<TypeParam>(randomRows(2, 3), {shift, 0});
        check<TypeParam>(randomRows(2, 101), {shift, 0});
    }
}

TYPED_TEST(CudaCrossEntropy, LeavesWhatLiesBetweenRows) {
    for (std::int64_t gap : {1, 7, 27, 64}) check<TypeParam>(randomRows(3, 101), {0, gap});
}

TYPED_TEST(CudaCrossEntropy, TakesTheVocabularyOfGpt2) {
    check<TypeParam>(randomRows(2, 50257), {0, 50304 - 50257});
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
    const DeviceLimits limits({2, 1024});
    check<TypeParam>(randomRows(1, 9000));
}

TEST(CudaCrossEntropyTable, RefusesOtherTypesAndSkipsNoRows) {
    double loss = 0;
    const std::int64_t target = 0;
    EXPECT_THROW(device::kTable.softmaxCrossEntropy({DataType::kFloat64, 1, 1, 1, &loss}, &target,
                                                    1, true, &loss, nullptr),
                 control::DeviceError);
    const int launches = testing::emulatedLaunches();
    device::kTable.softmaxCrossEntropy({DataType::kFloat32, 0, 50257, 50257, nullptr}, nullptr, 1,
                                       true, &loss, nullptr);
    EXPECT_EQ(testing::emulatedLaunches(), launches);
}

}  // namespace
}  // namespace shardscope::kernels
