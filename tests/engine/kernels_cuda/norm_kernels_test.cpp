// The GPU's layer norm and RMS norm on CPU threads, against sums in double.
#include "engine/kernels/norm_rows.h"
#include "tests/engine/kernels_cuda/kernel_types.h"

#include <cmath>
#include <limits>

namespace shardscope::kernels {
namespace {

struct NormCase {
    std::int64_t rows, width;
    bool layer = true;  ///< norm; otherwise an RMS norm
    bool adds = true;
    std::size_t shift = 0;
    friend std::ostream& operator<<(std::ostream& out, const NormCase& c) {
        return out << c.rows << " x " << c.width << (c.layer ? ", layer" : ", rms")
                   << (c.adds ? ", added" : "") << ", shift " << c.shift;
    }
};

template <class T>
struct Operands {
    explicit Operands(const NormCase& c)
        : x(random(c.rows * c.width, 1, c), c.shift),
          other(random(c.rows * c.width, 2, c), c.shift),
          weight(random(c.width, 3, c), c.shift),
          bias(random(c.width, 4, c), c.shift),
          dy(random(c.rows * c.width, 5, c), c.shift) {}
    static std::vector<T> random(std::int64_t n, unsigned seed, const NormCase&) {
        return as<T>(randomValues(n, seed, -1, 2));
    }
    Shifted<T> x;
    Shifted<T> other;  ///< delta, or skip in backward
    Shifted<T> weight, bias, dy;
};

/// Mean and 1 / deviation of a row, by definition.
struct Moments {
    double mean = 0, rstd = 0;
};
Moments momentsOf(const std::vector<double>& x, std::size_t row, const NormCase& c) {
    const auto n = static_cast<std::size_t>(c.width);
    Moments m;
    for (std::size_t i = 0; c.layer && i < n; ++i) m.mean += x[row * n + i];
    m.mean /= static_cast<double>(n);
    double square = 0;
    for (std::size_t i = 0; i < n; ++i) square += std::pow(x[row * n + i] - m.mean, 2);
    m.rstd = 1 / std::sqrt(square / static_cast<double>(n) + kNormEpsilon);
    return m;
}

template <class T>
void expectNear(double found, double wanted, double size) {
    ASSERT_NEAR(found, wanted, Type<T>::kLeast + Type<T>::kRelative * std::abs(wanted) + size);
}

template <class T>
void checkForward(const NormCase& c) {
    SCOPED_TRACE(c);
    Operands<T> in(c);
    const auto count = static_cast<std::size_t>(c.rows * c.width);
    const auto rows = static_cast<std::size_t>(c.rows);
    Shifted<T> sum(std::vector<T>(count), c.shift), copy(std::vector<T>(count), c.shift);
    Shifted<T> value(std::vector<T>(count), c.shift);
    std::vector<float> mean(rows, 7), rstd(rows, 7);
    DeviceNormForward norm{Type<T>::kIs, c.rows, c.width, in.x.data()};
    norm.weight = in.weight.data();
    if (c.adds) {
        norm.delta = in.other.data();
        norm.sum = sum.data();
        norm.copy = copy.data();
    }
    norm.value = value.data();
    if (c.layer) {
        norm.bias = in.bias.data();
        norm.mean = mean.data();
    }
    norm.rstd = rstd.data();
    device::kTable.normForward(norm, nullptr);

    std::vector<double> x = inDouble(in.x.values());
    const std::vector<double> weight = inDouble(in.weight.values());
    const std::vector<double> bias = inDouble(in.bias.values());
    for (std::size_t i = 0; i < count && c.adds; ++i) {
        const float exact =
            device::toFloat(in.x.values()[i]) + device::toFloat(in.other.values()[i]);
        ASSERT_EQ(sum.values()[i], device::fromFloat<T>(exact));
        ASSERT_EQ(copy.values()[i], sum.values()[i]);
    }
    if (c.adds) x = inDouble(sum.values());
    for (std::size_t row = 0; row < rows; ++row) {
        const Moments m = momentsOf(x, row, c);
        ASSERT_NEAR(rstd[row], m.rstd, 2e-6 * m.rstd);
        ASSERT_NEAR(mean[row], c.layer ? m.mean : 7, 1e-6);
        for (std::size_t i = 0; i < static_cast<std::size_t>(c.width); ++i) {
            const std::size_t at = row * static_cast<std::size_t>(c.width) + i;
            const double z = (x[at] - m.mean) * m.rstd;
            ASSERT_NO_FATAL_FAILURE(
                expectNear<T>(static_cast<double>(device::toFloat(value.values()[at])),
                              z * weight[i] + (c.layer ? bias[i] : 0), 4e-6 * m.rstd))
                << "at " << at;
        }
    }
}

/// What backward leaves.
struct NormGradients {
    std::vector<double> dx, dWeight, dBias;
};

NormGradients expectedGradients(const NormCase& c, const std::vector<double>& x,
                                const std::vector<double>& dy, const std::vector<double>& skip,
                                const std::vector<double>& weight) {
    const auto n = static_cast<std::size_t>(c.width);
    NormGradients d{skip, std::vector<double>(n), std::vector<double>(n)};
    for (std::size_t row = 0; row < static_cast<std::size_t>(c.rows); ++row) {
        const Moments m = momentsOf(x, row, c);
        double g = 0, gz = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const double z = (x[row * n + i] - m.mean) * m.rstd;
            d.dWeight[i] += dy[row * n + i] * z;
            d.dBias[i] += dy[row * n + i];
            g += dy[row * n + i] * weight[i] / static_cast<double>(n);
            gz += dy[row * n + i] * weight[i] * z / static_cast<double>(n);
        }
        for (std::size_t i = 0; i < n; ++i) {
            const double z = (x[row * n + i] - m.mean) * m.rstd;
            d.dx[row * n + i] +=
                m.rstd * (dy[row * n + i] * weight[i] - (c.layer ? g : 0) - z * gz);
        }
    }
    return d;
}

/// Mean and 1 / deviation of every row, rounded.
struct Statistics {
    template <class T>
    Statistics(const NormCase& c, Operands<T>& in) {
        const std::vector<double> x = inDouble(in.x.values());
        for (std::size_t row = 0; row < static_cast<std::size_t>(c.rows); ++row) {
            const Moments m = momentsOf(x, row, c);
            mean.push_back(static_cast<float>(m.mean));
            rstd.push_back(static_cast<float>(m.rstd));
        }
    }
    std::vector<float> mean, rstd;
};

/// Gradients of the parameters, which start as 0.5.
template <class G>
struct Sums {
    explicit Sums(const NormCase& c) : dWeight(halves(c), c.shift), dBias(halves(c), c.shift) {}
    static std::vector<G> halves(const NormCase& c) {
        return std::vector<G>(static_cast<std::size_t>(c.width), device::fromFloat<G>(0.5F));
    }
    Shifted<G> dWeight, dBias;
};

/// The gradient of x in `dx`. The tickets are as they should be afterwards.
template <class T, class G>
Sums<G> runBackward(const NormCase& c, Operands<T>& in, Shifted<T>& dx, bool add) {
    Sums<G> sums(c);
    const Statistics statistics(c, in);
    std::vector<float> work(static_cast<std::size_t>(normWork(c.rows, c.width)),
                            std::numeric_limits<float>::quiet_NaN());
    std::vector<std::uint32_t> tickets(static_cast<std::size_t>(normTickets(c.rows)));
    DeviceNormBackward norm{Type<T>::kIs, c.rows, c.width, in.x.data(), in.dy.data()};
    if (c.adds) norm.skip = in.other.data();
    norm.weight = in.weight.data();
    if (c.layer) norm.mean = statistics.mean.data();
    norm.rstd = statistics.rstd.data();
    norm.dx = dx.data();
    norm.work = work.data();
    norm.tickets = tickets.data();
    norm.gradientType = Type<G>::kIs;
    norm.dWeight = sums.dWeight.data();
    if (c.layer) norm.dBias = sums.dBias.data();
    norm.addWeight = norm.addBias = add;
    device::kTable.normBackward(norm, nullptr);
    EXPECT_EQ(tickets, std::vector<std::uint32_t>(tickets.size()));
    return sums;
}

/// G: what gradients are kept in.
template <class G>
void checkSums(const NormCase& c, Sums<G>& found, const NormGradients& wanted, bool add) {
    const double before = add ? 0.5 : 0, size = 1e-5 * static_cast<double>(c.rows);
    for (std::size_t i = 0; i < static_cast<std::size_t>(c.width); ++i) {
        const auto weight = static_cast<double>(device::toFloat(found.dWeight.values()[i]));
        const auto bias = static_cast<double>(device::toFloat(found.dBias.values()[i]));
        ASSERT_NO_FATAL_FAILURE(expectNear<G>(weight, before + wanted.dWeight[i], size)) << i;
        const double wantedBias = c.layer ? before + wanted.dBias[i] : 0.5;
        ASSERT_NO_FATAL_FAILURE(expectNear<G>(bias, wantedBias, size)) << i;
    }
}

template <class T, class G>
void checkBackward(const NormCase& c, Operands<T>& in, const NormGradients& wanted) {
    for (bool add : {false, true}) {
        Shifted<T> dx(std::vector<T>(static_cast<std::size_t>(c.rows * c.width)), c.shift);
        Sums<G> sums = runBackward<T, G>(c, in, dx, add);
        for (std::size_t i = 0; i < wanted.dx.size(); ++i) {
            const auto value = static_cast<double>(device::toFloat(dx.values()[i]));
            ASSERT_NO_FATAL_FAILURE(expectNear<T>(value, wanted.dx[i], 3e-5)) << "at " << i;
        }
        checkSums<G>(c, sums, wanted, add);
    }
}

template <class T>
void checkBackward(const NormCase& c) {
    SCOPED_TRACE(c);
    Operands<T> in(c);
    std::vector<double> skip(static_cast<std::size_t>(c.rows * c.width));
    if (c.adds) skip = inDouble(in.other.values());
    const NormGradients wanted = expectedGradients(
        c, inDouble(in.x.values()), inDouble(in.dy.values()), skip, inDouble(in.weight.values()));
    checkBackward<T, float>(c, in, wanted);
    if (!std::is_same_v<T, float>) checkBackward<T, T>(c, in, wanted);
}

template <class T>
class CudaNorm : public ::testing::Test {};
TYPED_TEST_SUITE(CudaNorm, Types, TypeNames);

// Rows of one pack and of one element, odd ones, ones that fill a warp or block, and wider ones.
constexpr std::int64_t kWidths[] = {1, 2, 7, 8, 33, 64, 257, 512, 520, 1032};

TYPED_TEST(CudaNorm, AddsAndNormalisesRowsOfAnyWidth) {
    for (std::int64_t width : kWidths)
        for (bool layer : {true, false})
            for (bool adds : {true, false}) checkForward<TypeParam>({3, width, layer, adds});
}

TYPED_TEST(CudaNorm, GivesTheGradientsOfRowsOfAnyWidth) {
    // One element is its own mean: a layer norm's gradient is 1 / sqrt(epsilon) times rounding.
    for (std::int64_t width : kWidths)
        for (bool layer : {true, false})
            for (bool adds : {true, false})
                if (width > 2 || !layer) checkBackward<TypeParam>({3, width, layer, adds});
}

TYPED_TEST(CudaNorm, TakesRowsAtAnyAddress) {
    for (std::size_t shift : {1u, 3u}) {
        checkForward<TypeParam>({2, 64, true, true, shift});
        checkBackward<TypeParam>({2, 64, true, true, shift});
        checkBackward<TypeParam>({2, 65, false, true, shift});
    }
}

TYPED_TEST(CudaNorm, TakesOneRowAndMoreThanThereAreParts) {
    // Parts of one row, a last group of one part, parts of several rows.
    for (std::int64_t rows : {1, 2, 15, 16, 17, 113, 127, 128, 129, 300}) {
        checkForward<TypeParam>({rows, 24, true, true});
        checkBackward<TypeParam>({rows, 24, true, true});
    }
}

TYPED_TEST(CudaNorm, RunsWithTheBlocksOfADevice) {
    const DeviceLimits limits({2, 1024});
    checkForward<TypeParam>({40, 200, true, true});
    checkBackward<TypeParam>({40, 200, true, true});
}

/// A warp's registers hold these, on a device with blocks as large as all devices have them: less
/// than a pack of each lane, some lanes, and all of a pack each, up to all there is room for.
TYPED_TEST(CudaNorm, HoldsRowsThatFitAWarp) {
    const DeviceLimits limits({1, 256});
    constexpr std::int64_t kMost = device::kHeldColumns<device::kPackOf<TypeParam>>;
    for (std::int64_t width : {std::int64_t{8}, std::int64_t{40}, kMost / 4, kMost / 2 + 8, kMost})
        for (bool layer : {true, false}) checkBackward<TypeParam>({19, width, layer, true});
    checkBackward<TypeParam>({3, kMost + 8, true, false});
}

/// Bits, so that a device with other blocks gives the same, and whichever block comes last.
void sameWhateverTheBlocks(const NormCase& c, device::LaunchLimits few, device::LaunchLimits many) {
    const DeviceLimits first(few);
    Operands<float> in(c);
    const auto run = [&] {
        Shifted<float> dx(std::vector<float>(static_cast<std::size_t>(c.rows * c.width)), 0);
        const Sums<float> sums = runBackward<float, float>(c, in, dx, false);
        std::vector<float> all;
        for (Shifted<float> part : {dx, sums.dWeight, sums.dBias})
            all.insert(all.end(), part.values().begin(), part.values().end());
        return all;
    };
    const std::vector<float> inOrder = run();
    testing::emulatedBackwards() = true;
    EXPECT_EQ(run(), inOrder);
    testing::emulatedBackwards() = false;
    const DeviceLimits then(many);
    EXPECT_EQ(run(), inOrder);
}

TEST(CudaNormGradients, AreTheSameWhateverTheBlocks) {
    sameWhateverTheBlocks({300, 96}, {1, 64}, {7, 128});
}

TEST(CudaNormGradients, OfHeldRowsAreTheSameWhateverTheBlocks) {
    sameWhateverTheBlocks({300, 96}, {1, 256}, {7, 1024});
}

TEST(CudaNormForward, LeavesTicketsForBackward) {
    constexpr std::int64_t kRows = 200, kWidth = 8;
    std::vector<float> x(kRows * kWidth, 1), value(x), weight(kWidth, 1), rstd(kRows);
    std::vector<std::uint32_t> tickets(static_cast<std::size_t>(normTickets(kRows)) + 1, 7);
    DeviceNormForward norm{DataType::kFloat32, kRows, kWidth, x.data()};
    norm.weight = weight.data();
    norm.value = value.data();
    norm.rstd = rstd.data();
    norm.tickets = tickets.data();
    device::kTable.normForward(norm, nullptr);
    std::vector<std::uint32_t> wanted(tickets.size());
    wanted.back() = 7;
    EXPECT_EQ(tickets, wanted);
}

TEST(CudaNormForward, SumsFarFromZeroWithoutLosingTheDifference) {
    // A mean of 1000 with deviation 1: a variance by squares would keep two digits.
    std::vector<float> x = randomValues(256, 8, 999, 1001);
    std::vector<float> value(256), weight(256, 1);
    float mean = 0, rstd = 0;
    DeviceNormForward norm{DataType::kFloat32, 1, 256, x.data()};
    norm.weight = weight.data();
    norm.value = value.data();
    norm.mean = &mean;
    norm.rstd = &rstd;
    device::kTable.normForward(norm, nullptr);
    const Moments wanted = momentsOf(inDouble<float>(x), 0, {1, 256});
    EXPECT_NEAR(rstd, wanted.rstd, 1e-4 * wanted.rstd);
}

TYPED_TEST(CudaNorm, KeepsWhatIsNotFiniteInItsRow) {
    const NormCase c{3, 40};
    Operands<TypeParam> in(c);
    in.x.data()[45] = device::fromFloat<TypeParam>(std::numeric_limits<float>::quiet_NaN());
    in.x.data()[90] = device::fromFloat<TypeParam>(-std::numeric_limits<float>::infinity());
    std::vector<TypeParam> value(120);
    std::vector<float> mean(3), rstd(3);
    DeviceNormForward norm{Type<TypeParam>::kIs, c.rows, c.width, in.x.data()};
    norm.weight = in.weight.data();
    norm.value = value.data();
    norm.mean = mean.data();
    norm.rstd = rstd.data();
    device::kTable.normForward(norm, nullptr);
    for (std::size_t i = 0; i < 120; ++i)
        EXPECT_EQ(std::isnan(device::toFloat(value[i])), i >= 40) << "at " << i;
}

TEST(CudaNormTable, RefusesOtherTypesAndSkipsNoRows) {
    EXPECT_THROW(device::kTable.normForward({DataType::kFloat64, 1, 1}, nullptr),
                 control::DeviceError);
    EXPECT_THROW(device::kTable.normBackward({DataType::kInt64, 1, 1}, nullptr),
                 control::DeviceError);
    const int launches = testing::emulatedLaunches();
    device::kTable.normForward({DataType::kFloat32, 0, 1024}, nullptr);
    device::kTable.normBackward({DataType::kFloat32, 0, 1024}, nullptr);
    EXPECT_EQ(testing::emulatedLaunches(), launches);
}

}  // namespace
}  // namespace shardscope::kernels
