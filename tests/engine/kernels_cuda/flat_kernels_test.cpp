// AdamW, accumulation and sums of squares: the CUDA kernels on the CPU against their twins.
#include "engine/kernels/adamw.h"
#include "engine/kernels/step_update.h"
#include "tests/engine/kernels_cuda/kernel_types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace shardscope::kernels {
namespace {

constexpr std::array<std::int64_t, 10> kSizes = {0, 1, 3, 4, 31, 32, 33, 255, 1000, 2051};

struct AdamWCase {
    std::int64_t n, decaying;
    std::size_t shift;
    bool cast;
};

struct AdamWState {
    std::vector<float> parameter, first, second;
};

AdamWStep step(std::int64_t index) {
    AdamWStep s;
    s.learningRate = 3e-3;
    s.weightDecay = 0.1;
    s.step = index;
    s.gradientScale = 0.7;
    return s;
}

StepUpdate applied(std::int64_t index) {
    StepUpdate update;
    update.applied = 1;
    update.constants = adamWConstants(step(index));
    return update;
}

/// The CPU's kernel, once with and once without weight decay.
void twin(std::int64_t index, const AdamWCase& c, AdamWState& state,
          const std::vector<float>& gradient) {
    const auto boundary = static_cast<std::size_t>(c.decaying);
    const auto part = [&](auto& v, bool decaying) {
        std::span all(v);
        return decaying ? all.subspan(0, boundary) : all.subspan(boundary);
    };
    for (bool decaying : {true, false}) {
        AdamWStep s = step(index);
        if (!decaying) s.weightDecay = 0;
        adamW(adamWConstants(s), part(state.parameter, decaying), part(gradient, decaying),
              part(state.first, decaying), part(state.second, decaying));
    }
}

/// The twin may fuse a multiplication with an addition, so that last bits differ.
void expectClose(std::span<const float> found, std::span<const float> expected, float size) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], 4e-7F * (size + std::abs(expected[i]))) << "at " << i;
}

void checkAdamW(const AdamWCase& c) {
    SCOPED_TRACE(::testing::Message() << c.n << " elements, " << c.decaying << " decaying, shift "
                                      << c.shift << (c.cast ? ", cast" : ""));
    AdamWState expected{randomValues(c.n, 1), randomValues(c.n, 2, -0.1F, 0.1F),
                        randomValues(c.n, 3, 0, 0.01F)};
    Shifted parameter(expected.parameter, c.shift);
    Shifted first(expected.first, c.shift);
    Shifted second(expected.second, c.shift);
    Shifted cast(std::vector<__nv_bfloat16>(static_cast<std::size_t>(c.n)), c.shift);
    for (std::int64_t index = 1; index <= 3; ++index) {
        const std::vector<float> values = randomValues(c.n, 10 + static_cast<unsigned>(index));
        Shifted gradient(values, c.shift);
        const StepUpdate update = applied(index);
        device::kTable.adamW(&update, c.n, c.decaying, parameter.data(), gradient.data(),
                             first.data(), second.data(), c.cast ? cast.data() : nullptr, nullptr);
        twin(index, c, expected, values);
    }
    expectClose(parameter.values(), expected.parameter, 0.01F);
    expectClose(first.values(), expected.first, 0.1F);
    expectClose(second.values(), expected.second, 0.01F);
    for (std::size_t i = 0; i < cast.values().size(); ++i) {
        const __nv_bfloat16 wanted =
            c.cast ? __float2bfloat16_rn(parameter.values()[i]) : __nv_bfloat16{};
        ASSERT_EQ(cast.values()[i], wanted) << "at " << i;
    }
}

TEST(CudaAdamW, StepsAsItsTwinOnTheCpu) {
    for (std::int64_t n : kSizes)
        for (bool cast : {false, true}) checkAdamW({n, n / 2, 0, cast});
}

TEST(CudaAdamW, DecaysUpToTheBoundaryWhereverItLies) {
    for (std::int64_t decaying : {0, 1, 2, 5, 62, 63, 64, 65, 129, 131})
        checkAdamW({131, decaying, 0, true});
}

TEST(CudaAdamW, TakesAddressesThatAreNoMultipleOf16) {
    for (std::size_t shift : {1u, 2u, 3u})
        for (std::int64_t n : {1, 33, 130}) checkAdamW({n, n / 3, shift, true});
}

TEST(CudaAdamW, StridesWhenTheShardIsLargerThanTheGrid) {
    const std::int64_t grid = 8 * 64 * 4;
    checkAdamW({5 * grid + 7, 2 * grid + 3, 0, true});
}

TEST(CudaAdamW, QueuesNothingForAnEmptyShard) {
    const int before = testing::emulatedLaunches();
    const StepUpdate update = applied(1);
    device::kTable.adamW(&update, 0, 0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    EXPECT_EQ(testing::emulatedLaunches(), before);
}

TEST(CudaAdamW, LeavesEverythingWhereTheStepIsNotApplied) {
    std::vector<float> parameter = randomValues(130, 1), first = parameter, second = parameter;
    const std::vector<float> before = parameter, gradient = randomValues(130, 2);
    std::vector<__nv_bfloat16> cast(130);
    StepUpdate update = applied(1);
    update.applied = 0;
    device::kTable.adamW(&update, 130, 60, parameter.data(), gradient.data(), first.data(),
                         second.data(), cast.data(), nullptr);
    EXPECT_EQ(parameter, before);
    EXPECT_EQ(first, before);
    EXPECT_EQ(second, before);
    EXPECT_EQ(cast, std::vector<__nv_bfloat16>(130));
}

TEST(CudaStepUpdate, BeginsWithVotesAndNothingElse) {
    StepUpdate update;
    update.sums = {1, 2, 3, 4};
    update.updates = 5;
    update.halted = 1;
    device::kTable.beginUpdate(&update, 0, 1, nullptr);
    EXPECT_EQ(update.sums.squaredNorm, 0);
    EXPECT_EQ(update.sums.loss, 0);
    EXPECT_EQ(update.sums.stop, 0);
    EXPECT_EQ(update.sums.change, 1);
    EXPECT_EQ(update.updates, 5);
    EXPECT_EQ(update.halted, 1);
}

TEST(CudaStepUpdate, IsDecidedAsOnTheHost) {
    UpdateRule rule;
    rule.adamW = step(1);
    rule.clip = 1;
    rule.lossScale = 4;
    for (const double norm : {0.0, 0.25, 100.0, std::numeric_limits<double>::infinity()}) {
        StepUpdate host, device;
        host.updates = device.updates = 6;
        host.sums.squaredNorm = device.sums.squaredNorm = norm * norm;
        decideUpdate(rule, host);
        device::kTable.decideUpdate(rule, &device, nullptr);
        EXPECT_EQ(std::memcmp(&host, &device, sizeof host), 0) << norm;
    }
}

template <class T>
void checkAccumulate(const std::vector<T>& in, DataType dtype, bool add, std::size_t shift) {
    const auto n = static_cast<std::int64_t>(in.size());
    SCOPED_TRACE(::testing::Message() << n << " elements of type " << static_cast<int>(dtype)
                                      << (add ? ", added" : "") << ", shift " << shift);
    const std::vector<float> before = randomValues(n, 5);
    Shifted from(in, shift);
    Shifted out(before, shift);
    device::kTable.accumulate(from.data(), dtype, out.data(), n, add, nullptr);
    for (std::size_t i = 0; i < in.size(); ++i) {
        const float value = device::toFloat(in[i]);
        ASSERT_EQ(out.values()[i], add ? before[i] + value : value) << "at " << i;
    }
}

TEST(CudaAccumulate, AddsOrReplacesInEveryType) {
    for (std::int64_t n : kSizes) {
        for (bool add : {false, true}) {
            for (std::size_t shift : {0u, 1u, 2u}) {
                const std::vector<float> in = randomValues(n, 6, -100, 100);
                checkAccumulate(in, DataType::kFloat32, add, shift);
                checkAccumulate(as<__nv_bfloat16>(in), DataType::kBFloat16, add, shift);
                checkAccumulate(as<__half>(in), DataType::kFloat16, add, shift);
            }
        }
    }
}

TEST(CudaAccumulate, KeepsWhatOverflowedInFp16AndWhatIsTiny) {
    const std::vector<float> in = {1e6F, -1e6F, 65504, 0x1p-24F, -0x1p-14F, 0x1p-26F};
    std::vector<__half> halves = as<__half>(in);
    std::vector<float> out(in.size(), 1.0F);
    device::kTable.accumulate(halves.data(), DataType::kFloat16, out.data(), 6, false, nullptr);
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(out, (std::vector<float>{infinity, -infinity, 65504, 0x1p-24F, -0x1p-14F, 0}));
}

TEST(CudaAccumulate, RefusesOtherTypes) {
    float out = 0;
    EXPECT_THROW(device::kTable.accumulate(&out, DataType::kInt64, &out, 1, true, nullptr),
                 control::DeviceError);
}

TEST(CudaSumOfSquares, EqualsItsTwinAndAdds) {
    for (std::int64_t n : kSizes) {
        for (std::size_t shift : {0u, 3u}) {
            const std::vector<float> values = randomValues(n, 7, -3, 3);
            Shifted shifted(values, shift);
            double sum = 2.5;
            device::kTable.sumOfSquares(shifted.data(), n, &sum, nullptr);
            const double expected = 2.5 + sumOfSquares(values);
            EXPECT_NEAR(sum, expected, 1e-14 * expected) << n << " elements, shift " << shift;
        }
    }
}

TEST(CudaSumOfSquares, KeepsWhatAFloatWouldLose) {
    std::vector<float> values(3000, 1e-4F);
    values[17] = 1e4F;
    double sum = 0;
    device::kTable.sumOfSquares(values.data(), 3000, &sum, nullptr);
    EXPECT_NEAR(sum - 1e8, 2999e-8, 1e-7);
}

// The GPU's GELU and gated SiLU on CPU threads, against double.

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
