// The GPU's GELU and gated SiLU on CPU threads, against double.
#include "tests/engine/kernels_cuda/kernel_types.h"

#include <cmath>
#include <limits>

namespace shardscope::kernels {
namespace {

struct Values {
    double y, dWide, dGate;
};

Values gelu(double x, double dy) {
    const double cumulative = 0.5 * std::erfc(-x / std::sqrt(2.0));
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
    return {x * cumulative, dy * (cumulative + x * density), 0};
}

Values siluGate(double gate, double x, double dy) {
    const double share = 1 / (1 + std::exp(-gate));
    return {gate * share * x, dy * gate * share, dy * x * (share + gate * share * (1 - share))};
}

template <class T>
struct Run {
    Run(const std::vector<float>& g, const std::vector<float>& w, const std::vector<float>& dy,
        bool gated, std::size_t shift)
        : gate(as<T>(g), shift),
          wide(as<T>(w), shift),
          y(std::vector<T>(w.size()), shift),
          d(as<T>(dy), shift),
          dGate(std::vector<T>(w.size()), shift),
          given{Type<T>::kIs, static_cast<std::int64_t>(w.size())} {
        given.gate = gated ? gate.data() : nullptr;
        given.wide = wide.data();
        given.y = y.data();
        given.d = d.data();
        given.dGate = gated ? dGate.data() : nullptr;
    }
    Shifted<T> gate, wide, y, d, dGate;
    DeviceActivation given;
};

template <class T>
void near(T found, double wanted, double size) {
    ASSERT_NEAR(static_cast<double>(device::toFloat(found)), wanted,
                Type<T>::kLeast + Type<T>::kRelative * std::abs(wanted) + size);
}

template <class T>
void check(std::int64_t n, bool gated, std::size_t shift, float size = 6) {
    SCOPED_TRACE(::testing::Message() << n << (gated ? ", gated" : "") << ", shift " << shift);
    const std::vector<float> g = randomValues(n, 1, -size, size);
    const std::vector<float> w = randomValues(n, 2, -size, size);
    const std::vector<float> dy = randomValues(n, 3, -1, 1);
    Run<T> forward(g, w, dy, gated, shift), backward(g, w, dy, gated, shift);
    const auto given = inDouble(forward.d.values());
    device::kTable.activation(forward.given, nullptr);
    device::kTable.activationBackward(backward.given, nullptr);
    EXPECT_EQ(inDouble(forward.d.values()), given) << "forward has no gradients";
    for (std::size_t i = 0; i < w.size(); ++i) {
        const double x = inDouble(forward.wide.values())[i];
        const double gate = inDouble(forward.gate.values())[i];
        const Values wanted = gated ? siluGate(gate, x, given[i]) : gelu(x, given[i]);
        SCOPED_TRACE(::testing::Message() << "at " << i << ", x " << x << ", gate " << gate);
        ASSERT_NO_FATAL_FAILURE(near(forward.y.values()[i], wanted.y, 1e-6));
        ASSERT_EQ(backward.y.values()[i], forward.y.values()[i]) << "made again";
        ASSERT_NO_FATAL_FAILURE(near(backward.d.values()[i], wanted.dWide, 1e-6));
        ASSERT_NO_FATAL_FAILURE(near(backward.dGate.values()[i], wanted.dGate, 4e-6));
    }
}

template <class T>
class CudaActivation : public ::testing::Test {};
TYPED_TEST_SUITE(CudaActivation, Types, TypeNames);

TYPED_TEST(CudaActivation, IsItselfWithItsGradientAtAnyLength) {
    for (std::int64_t n : {0, 1, 7, 8, 9, 31, 100, 1003})
        for (bool gated : {false, true})
            for (std::size_t shift : {0u, 1u, 3u}) check<TypeParam>(n, gated, shift);
}

TYPED_TEST(CudaActivation, StridesWhenThereIsMoreThanTheGridTakes) {
    for (bool gated : {false, true}) check<TypeParam>(3 * 8 * 64 * 8 + 5, gated, 0);
}

/// Far out the one side is the identity, the other nothing; what is not finite stays so.
TYPED_TEST(CudaActivation, HoldsFarFromZero) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const std::vector<float> x = {
        30, -30, 6, -6, 0, kInfinity, std::numeric_limits<float>::quiet_NaN()};
    Run<TypeParam> run(x, x, std::vector<float>(7, 1), false, 0);
    device::kTable.activationBackward(run.given, nullptr);
    const auto y = inDouble(run.y.values()), d = inDouble(run.d.values());
    for (std::size_t i : {0u, 2u}) EXPECT_NEAR(y[i], x[i], 1e-6);
    for (std::size_t i : {1u, 4u}) EXPECT_EQ(y[i], 0);
    EXPECT_NEAR(y[3], 0, 1e-7);
    EXPECT_EQ(d[0], 1);
    EXPECT_EQ(d[1], 0);
    EXPECT_EQ(d[4], 0.5);
    EXPECT_EQ(y[5], std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(y[6]));
    EXPECT_TRUE(std::isnan(d[6]));
}

TEST(CudaActivationTable, RefusesOtherTypes) {
    EXPECT_THROW(device::kTable.activation({DataType::kInt64, 1}, nullptr), control::DeviceError);
    EXPECT_THROW(device::kTable.activationBackward({DataType::kInt64, 1}, nullptr),
                 control::DeviceError);
}

}  // namespace
}  // namespace shardscope::kernels
