#include "engine/worker/cuda_library.h"

#include <gmock/gmock.h>

#include <string>

namespace shardscope::worker {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string folderOf(const std::string& variant) {
    std::string folder = SHARDSCOPE_FAKE_MODULES "/";
    folder += variant;
    return folder;
}

/// Why loading the variant fails.
run::Obstacle refusal(const std::string& variant) {
    const auto module = loadCudaModule(folderOf(variant));
    return module ? run::Obstacle{"", "it was loaded", ""} : module.error();
}

testing::Matcher<const run::Obstacle&> is(const char* code,
                                          const testing::Matcher<std::string>& found,
                                          const testing::Matcher<std::string>& remedy) {
    return AllOf(testing::Field("code", &run::Obstacle::code, code),
                 testing::Field("found", &run::Obstacle::found, found),
                 testing::Field("remedy", &run::Obstacle::remedy, remedy));
}

TEST(CudaLibrary, LoadsAModuleOfThisBuild) {
    const auto module = loadCudaModule(folderOf("right"));
    ASSERT_TRUE(module) << module.error().found;
    EXPECT_EQ((*module)->version, CudaModule::kVersion);
    EXPECT_EQ((*module)->probe().cuptiVersion, 130001u);
    // The same one again: it stays loaded.
    EXPECT_EQ(*loadCudaModule(folderOf("right")), *module);
}

TEST(CudaLibrary, ABuildWithoutModuleSaysWhereItLooked) {
    EXPECT_THAT(refusal("absent"),
                is("module-missing", AllOf(HasSubstr("no GPU part"), HasSubstr(folderOf("absent"))),
                   AllOf(HasSubstr("--device cpu"), HasSubstr("shardscope doctor"))));
}

TEST(CudaLibrary, NamesTheLibraryThatIsMissing) {
    EXPECT_THAT(refusal("incomplete"),
                is("module-not-loadable",
                   AllOf(HasSubstr("cannot be loaded"), HasSubstr("libshardscope_gone.so")),
                   HasSubstr("fetch-libtorch --cuda")));
}

TEST(CudaLibrary, RefusesAModuleOfAnotherBuild) {
    for (const char* variant : {"other_version", "no_symbol", "no_table"}) {
        EXPECT_THAT(refusal(variant),
                    is("module-of-another-build",
                       AllOf(HasSubstr(folderOf(variant)), HasSubstr("of another build")),
                       "build both again"));
    }
}

TEST(CudaLibrary, RefusesAFileThatIsNoLibrary) {
    EXPECT_THAT(refusal("no_library").found,
                AllOf(HasSubstr("cannot be loaded"), HasSubstr("short")));
}

CudaProbe probeWith(std::int32_t error, std::int32_t driver, std::size_t devices) {
    CudaProbe probe;
    probe.deviceError = error;
    probe.deviceErrorText = error == 0 ? "" : "words of the driver";
    probe.driverVersion = driver;
    probe.devices.resize(devices);
    return probe;
}

TEST(WhyNoDevice, IsNoneWhenOneCanBeUsed) {
    EXPECT_TRUE(whyNoDevice(probeWith(0, 13000, 1)).none());
    EXPECT_TRUE(whyNoDevice(probeWith(0, 13020, 8)).none());
}

TEST(WhyNoDevice, NoDriver) {
    EXPECT_THAT(whyNoDevice(probeWith(35, 0, 0)),
                is(run::kNoDriverCode, HasSubstr("no NVIDIA driver"),
                   AllOf(HasSubstr("r580"), HasSubstr("--device cpu"))));
}

TEST(WhyNoDevice, OldDriver) {
    EXPECT_THAT(
        whyNoDevice(probeWith(35, 12040, 0)),
        is("driver-too-old", AllOf(HasSubstr("12.4"), HasSubstr("too old")), HasSubstr("r580")));
    // A driver that is too old may still count its devices.
    EXPECT_THAT(whyNoDevice(probeWith(0, 12090, 2)).found, HasSubstr("12.9, which is too old"));
}

TEST(WhyNoDevice, NoDevices) {
    for (const CudaProbe& probe : {probeWith(100, 13000, 0), probeWith(0, 13000, 0)}) {
        EXPECT_THAT(whyNoDevice(probe),
                    is("no-device", HasSubstr("shows no GPU"), HasSubstr("CUDA_VISIBLE_DEVICES")));
    }
}

TEST(WhyNoDevice, AnythingElseInTheDriversWords) {
    EXPECT_THAT(whyNoDevice(probeWith(802, 13000, 0)),
                is("cuda-error", AllOf(HasSubstr("words of the driver"), HasSubstr("802")),
                   HasSubstr("nvidia-smi")));
}

TEST(ChooseDevice, GivesEachRankItsOwn) {
    const CudaProbe probe = probeWith(0, 13000, 4);
    for (std::int32_t rank = 0; rank < 4; ++rank)
        EXPECT_EQ(chooseDevice(probe, rank, 4, false), rank);
    EXPECT_EQ(chooseDevice(probe, 1, 2, true), 1);
}

TEST(ChooseDevice, RefusesMoreRanksThanDevicesUnlessTheyShare) {
    const CudaProbe probe = probeWith(0, 13000, 2);
    const auto refused = chooseDevice(probe, 0, 3, false);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kLaunch);
    EXPECT_THAT(refused.error().message,
                AllOf(HasSubstr("3 ranks need 3 GPUs, this host has 2"), HasSubstr("--ranks 2"),
                      HasSubstr("--share-device")));
    EXPECT_EQ(chooseDevice(probe, 0, 3, true), 0);
    EXPECT_EQ(chooseDevice(probe, 1, 3, true), 1);
    EXPECT_EQ(chooseDevice(probe, 2, 3, true), 0);
}

}  // namespace
}  // namespace shardscope::worker
