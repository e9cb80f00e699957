#include "profiler/analysis/device/roofline.h"

#include <gmock/gmock.h>

namespace shardscope::analysis {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kHalves{"c10::Half", "c10::Half", "c10::Half"};

TEST(Products, ReadTheirFactorsByOperator) {
    const auto mm =
        productOf("aten::mm", {{128, 64}, {64, 256}}, {"c10::BFloat16", "c10::BFloat16"});
    ASSERT_TRUE(mm);
    EXPECT_EQ(shapeText(*mm), "(128 x 64)(64 x 256)");
    EXPECT_EQ(mm->type, ProductType::kBFloat);
    const auto addmm = productOf("aten::addmm", {{256}, {128, 64}, {64, 256}, {}, {}}, kHalves);
    ASSERT_TRUE(addmm);
    EXPECT_EQ(addmm->n, 256);
    const auto bmm = productOf("aten::bmm", {{8, 2, 3}, {8, 3, 4}}, {});
    ASSERT_TRUE(bmm);
    EXPECT_EQ(shapeText(*bmm), "8 x (2 x 3)(3 x 4)");
    EXPECT_EQ(bmm->type, ProductType::kUnknown);
    const auto conv =
        productOf("aten::cudnn_convolution", {{8, 3, 32, 32}, {64, 3, 7, 7}}, {"float", "float"});
    ASSERT_TRUE(conv);
    EXPECT_EQ(shapeText(*conv), "3 -> 64 channels");
}

TEST(Products, AreNoneWhereShapesAreNotTheirs) {
    EXPECT_FALSE(productOf("aten::add", {{8, 8}, {8, 8}}, kHalves));
    EXPECT_FALSE(productOf("aten::linear", {{8, 8}, {8, 8}}, kHalves));  // calls addmm
    EXPECT_FALSE(productOf("aten::mm", {}, kHalves));
    EXPECT_FALSE(productOf("aten::mm", {{8, 8}}, kHalves));
    EXPECT_FALSE(productOf("aten::mm", {{8, 8}, {}}, kHalves));
    EXPECT_FALSE(productOf("aten::mm", {{8, 8}, {7, 8}}, kHalves));
    EXPECT_FALSE(productOf("aten::mm", {{0, 8}, {8, 8}}, kHalves));
    EXPECT_FALSE(productOf("aten::mm", {{-8, 8}, {8, 8}}, kHalves));
    EXPECT_FALSE(productOf("aten::bmm", {{2, 8, 8}, {3, 8, 8}}, kHalves));
    EXPECT_FALSE(productOf("aten::cudnn_convolution", {{8, 8}, {8, 8}}, kHalves));
}

TEST(Eligibility, GoesByTypeAndMultiples) {
    const auto told = [](std::int64_t m, std::int64_t n, std::int64_t k, const char* type) {
        return eligibilityOf(*productOf("aten::mm", {{m, k}, {k, n}}, {type, type}));
    };
    EXPECT_TRUE(*told(8, 16, 24, "c10::Half").eligible);
    EXPECT_FALSE(*told(8, 16, 28, "c10::BFloat16").eligible);
    EXPECT_EQ(told(8, 16, 28, "c10::BFloat16").why, "K is 28, no multiple of 8");
    EXPECT_TRUE(*told(8, 16, 28, "float").eligible);
    EXPECT_THAT(told(7, 16, 28, "float").why, HasSubstr("M is 7"));
    EXPECT_TRUE(*told(6, 2, 10, "double").eligible);
    EXPECT_FALSE(*told(16, 16, 24, "c10::Float8_e4m3fn").eligible);
    EXPECT_TRUE(*told(16, 32, 48, "signed char").eligible);
    EXPECT_FALSE(*told(16, 16, 16, "c10::complex<float>").eligible);
    EXPECT_FALSE(told(16, 16, 16, "").eligible.has_value());
    const auto conv = productOf("aten::cudnn_convolution", {{8, 3, 9, 9}, {64, 3, 7, 7}}, kHalves);
    EXPECT_EQ(eligibilityOf(*conv).why, "channels in is 3, no multiple of 8");
}

TEST(TensorCores, AreKnownByKernelNames) {
    for (const char* name :
         {"ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn", "volta_h884gemm_64x64",
          "turing_fp16_s1688cudnn_fp16_256x64", "sm90_xmma_gemm_bf16bf16_hmma", "nvjet_tst_128x256",
          "cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4",
          "sm80_xmma_fprop_implicit_gemm_tf32f32_f32_nhwckrsc_nchw_tilesize128_warpgroupsize1_"
          "tensor16x8x8_kernel_cudnn"})
        EXPECT_TRUE(usesTensorCores(name)) << name;
    for (const char* name :
         {"", "884", "ampere_sgemm_128x64_nn", "volta_sgemm_32x128_tn", "triton_poi_fused_1688100",
          "vectorized_elementwise_kernel<4>", "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32"})
        EXPECT_FALSE(usesTensorCores(name)) << name;
}

}  // namespace
}  // namespace shardscope::analysis
