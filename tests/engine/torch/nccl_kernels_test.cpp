// NCCL's communicator with the kernels that GPU ranks add gradients with, run on CPU threads.
#include "tests/engine/torch/rank_threads.h"
#include "tests/support/cuda_emulation.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace shardscope {
namespace {

using comm::Accumulate;
using comm::Communicator;
using comm::SymmetricBuffer;

/// As on a device: the launch returns at once or throws, the kernel runs in the stream's turn.
void accumulateByKernel(const void* in, DataType dtype, float* out, std::int64_t n, bool add,
                        void* stream) {
    test::FakeDevice::queue(
        stream, [=] { kernels::device::kTable.accumulate(in, dtype, out, n, add, nullptr); });
}

std::uint16_t rounded(DataType dtype, float value) {
    return dtype == DataType::kBFloat16 ? comm::BFloat16::round(value)
                                        : comm::Float16::round(value);
}

/// Of rank p; the sums of up to seven are exact in bf16.
float part(int p, std::size_t i) {
    return 0.25F * static_cast<float>(i % 13) - static_cast<float>(p);
}

void checkSums(Communicator& c, DataType dtype, Accumulate accumulate, std::size_t n) {
    const SymmetricBuffer full = c.allocate(n * static_cast<std::size_t>(c.size()), dtype);
    auto* halves = static_cast<std::uint16_t*>(full.local);
    for (std::size_t i = 0; i < full.count; ++i) halves[i] = rounded(dtype, part(c.rank(), i));
    std::vector<float> out(n, 0.375F);
    c.reduceScatter(full, out.data(), accumulate, {}).wait();
    for (std::size_t i = 0; i < n; ++i) {
        float sum = accumulate == Accumulate::kYes ? 0.375F : 0.0F;
        for (int p = 0; p < c.size(); ++p)
            sum += part(p, static_cast<std::size_t>(c.rank()) * n + i);
        ASSERT_EQ(out[i], sum) << toWord(dtype) << ", at " << i;
    }
}

TEST(NcclKernels, HalvesAreReducedIntoFp32WithAndWithoutAddition) {
    for (const int ranks : {1, 2, 3}) {
        test::runNcclRanks(
            ranks,
            [](Communicator& c) {
                for (const DataType dtype : {DataType::kBFloat16, DataType::kFloat16}) {
                    for (const Accumulate accumulate : {Accumulate::kNo, Accumulate::kYes}) {
                        for (const std::size_t n : {1U, 5U, 1003U}) {
                            checkSums(c, dtype, accumulate, n);
                        }
                    }
                }
            },
            [](comm::NcclSetup& setup) { setup.accumulate = &accumulateByKernel; });
    }
}

/// What the loss scale looks for must not get lost on the way.
TEST(NcclKernels, AGradientThatOverflowsInFp16IsInfinite) {
    test::runNcclRanks(
        2,
        [](Communicator& c) {
            const SymmetricBuffer full = c.allocate(4, DataType::kFloat16);
            for (std::size_t i = 0; i < full.count; ++i) {
                static_cast<std::uint16_t*>(full.local)[i] = comm::Float16::round(40000);
            }
            std::vector<float> out(2, 1.0F);
            c.reduceScatter(full, out.data(), Accumulate::kYes, {}).wait();
            for (const float value : out) {
                EXPECT_EQ(value, std::numeric_limits<float>::infinity());
            }
        },
        [](comm::NcclSetup& setup) { setup.accumulate = &accumulateByKernel; });
}

}  // namespace
}  // namespace shardscope
