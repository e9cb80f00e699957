#include "profiler/collectors/cupti/kernel_names.h"

#include <gtest/gtest.h>

namespace shardscope::collectors::cupti {
namespace {

TEST(KernelNames, ShowsWhatTellsKernelsApart) {
    EXPECT_EQ(displayName("void at::native::vectorized_elementwise_kernel<4, "
                          "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, "
                          "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"),
              "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array<char*, 3ul> >");
    EXPECT_EQ(displayName("(anonymous namespace)::softmax_warp<float, 5>(float*)"),
              "softmax_warp<float, 5>");
    EXPECT_EQ(displayName("add(int)"), "add");
    EXPECT_EQ(displayName("cutlass_80_tensorop_s1688gemm"), "cutlass_80_tensorop_s1688gemm");
    EXPECT_EQ(displayName("void a::f<b::g<c::h<int>, d> >(int)"), "f<g<h<...>, d> >");
    EXPECT_EQ(displayName("void f<g()::{lambda(int)#1}>(int)"), "f<g()::{lambda(int)#1}>");
    EXPECT_EQ(displayName("unsigned long cub::scan<int>::run(int)"), "scan<int>::run");
}

TEST(KernelNames, NeverShowsMoreThanFits) {
    const std::string shown = displayName(std::string(500, 'k'));
    EXPECT_EQ(shown.size(), 120u);
    EXPECT_TRUE(shown.ends_with("..."));
    EXPECT_FALSE(displayName("").size() > 0);
    EXPECT_EQ(displayName("(odd)"), "(odd)");
}

TEST(KernelNames, NumbersTextsNotPointers) {
    KernelNames names;
    std::string buffer = "_Z3addi";
    const auto add = names.add(buffer);
    buffer = "_Z3muli";  // the same memory, as after a module was unloaded
    const auto mul = names.add(buffer);
    EXPECT_NE(add, mul);
    EXPECT_EQ(names.add(std::string("_Z3addi")), add);
    EXPECT_EQ(names.at(add).full, "add(int)");
    EXPECT_EQ(names.at(add).shown, "add");
    EXPECT_EQ(names.at(mul).full, "mul(int)");
}

TEST(KernelNames, KnowsNcclsKernels) {
    KernelNames names;
    const auto collective = [&](const char* name) { return names.at(names.add(name)).collective; };
    EXPECT_TRUE(
        collective("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"
                   ""));
    EXPECT_TRUE(collective("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"));
    EXPECT_TRUE(collective("ncclSymkDevKernel_AllReduce"));
    EXPECT_TRUE(collective("ncclKernel_Broadcast"));
    EXPECT_FALSE(collective("gemm"));
    EXPECT_FALSE(collective("my_ncclKernel"));
}

}  // namespace
}  // namespace shardscope::collectors::cupti
