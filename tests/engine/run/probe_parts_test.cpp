// What a probe tells, as the doctor hears it: whole, in parts, and from another build.
#include "engine/run/protocol/probe_parts.h"

#include <gtest/gtest.h>

namespace shardscope::run {
namespace {

template <class Part>
Part heard(const std::string& line) {
    const auto decoded = decodePart(line);
    EXPECT_TRUE(decoded && std::holds_alternative<Part>(*decoded)) << line;
    return decoded && std::holds_alternative<Part>(*decoded) ? std::get<Part>(*decoded) : Part{};
}

TEST(ProbeParts, ComeBackAsTheyWereTold) {
    const auto engine = heard<EnginePart>(encodePart(EnginePart{"2.11.0", "3.10.2", "AVX2", true}));
    EXPECT_EQ(engine.cpuCapability, "AVX2");
    EXPECT_TRUE(engine.computes);
    DriverPart told;
    told.version = "580.95.05";
    told.devices = {{"H100", "00000000:1B:00.0", "GPU-1", Bytes{7}, std::nullopt, true, {}}};
    told.devices[0].users = {{77, "python3", Bytes{5}}, {78, "", std::nullopt}};
    const auto driver = heard<DriverPart>(encodePart(told));
    EXPECT_TRUE(driver.problem.none());
    EXPECT_EQ(driver.version, "580.95.05");
    ASSERT_EQ(driver.devices.size(), 1u);
    EXPECT_EQ(driver.devices[0].memory, Bytes{7});
    EXPECT_FALSE(driver.devices[0].memoryUsed);
    EXPECT_TRUE(driver.devices[0].mig);
    ASSERT_EQ(driver.devices[0].users.size(), 2u);
    EXPECT_EQ(driver.devices[0].users[0].memory, Bytes{5});
    EXPECT_FALSE(driver.devices[0].users[1].memory);
    heard<EndPart>(encodePart(EndPart{}));
}

TEST(ProbeParts, CudaComesBackWithItsDevicesAndFiles) {
    CudaPart told;
    told.loaded = true;
    told.cuptiVersion = 130001;
    told.devices = {{"H100", "0000:1b:00.0", "GPU-1", Bytes{7}, 132, "9.0"}};
    told.loadedFrom = {{"libcupti.so.13", "/cuda/libcupti.so.13"}};
    const auto cuda = heard<CudaPart>(encodePart(told));
    EXPECT_TRUE(cuda.loaded);
    EXPECT_EQ(cuda.cuptiVersion, 130001);
    ASSERT_EQ(cuda.devices.size(), 1u);
    EXPECT_EQ(cuda.devices[0].multiprocessors, 132);
    EXPECT_EQ(cuda.devices[0].computeCapability, "9.0");
    EXPECT_EQ(cuda.loadedFrom, told.loadedFrom);
}

TEST(ProbeParts, WhatIsFoundAndWhatMendsItTravelApart) {
    const Obstacle told{"cupti-busy", "'a; b' holds it", "End it; then record again."};
    CudaPart cuda;
    cuda.problem = told;
    for (const Obstacle& problem :
         {heard<DriverPart>(encodePart(DriverPart{told, "", {}})).problem,
          heard<CudaPart>(encodePart(cuda)).problem,
          heard<TracingPart>(encodePart(TracingPart{false, told})).problem}) {
        EXPECT_EQ(problem.code, told.code);
        EXPECT_EQ(problem.found, told.found);
        EXPECT_EQ(problem.remedy, told.remedy);
    }
}

TEST(ProbeParts, AreOneLine) {
    EXPECT_EQ(encodePart(TracingPart{false, {"a", "b\nc", "d"}}),
              R"({"part":"tracing","started":false,"code":"a","message":"b\nc","remedy":"d"})");
    EXPECT_EQ(encodePart(EndPart{}), R"({"part":"end"})");
}

TEST(ProbeParts, WhatIsMissingOrMalformedIsNotKnown) {
    const auto driver = heard<DriverPart>(
        R"({"part":"driver","problem":null,"version":580,"devices":[3,{"name":"H100",
            "memory_bytes":"much","memory_used_bytes":[],"mig":1,"processes":[{"pid":77},4]}]})");
    EXPECT_TRUE(driver.problem.none());
    EXPECT_EQ(driver.version, "");
    ASSERT_EQ(driver.devices.size(), 2u);
    EXPECT_EQ(driver.devices[0].name, "");
    EXPECT_EQ(driver.devices[1].name, "H100");
    EXPECT_EQ(driver.devices[1].memory, Bytes{0});
    EXPECT_FALSE(driver.devices[1].memoryUsed);
    EXPECT_FALSE(driver.devices[1].mig);
    ASSERT_EQ(driver.devices[1].users.size(), 2u);
    EXPECT_EQ(driver.devices[1].users[0].pid, 77);
    const auto cuda = heard<CudaPart>(
        R"({"part":"cuda","loaded":"yes","devices":{},"driver_version":13000,
            "loaded_from":{"libcupti.so.13":3,"libnccl.so.2":"/nccl.so"}})");
    EXPECT_FALSE(cuda.loaded);
    EXPECT_EQ(cuda.driverVersion, 13000);
    EXPECT_TRUE(cuda.devices.empty());
    EXPECT_EQ(cuda.loadedFrom.at("libcupti.so.13"), "");
    EXPECT_EQ(cuda.loadedFrom.at("libnccl.so.2"), "/nccl.so");
}

TEST(ProbeParts, WhatIsNoPartIsPassedOver) {
    for (const char* line : {"", "warning: noise", "[1]", R"({"part":3})", R"({"part":"weather"})",
                             R"({"part":"cuda","loaded":tr)"})
        EXPECT_FALSE(decodePart(line)) << line;
}

TEST(Obstacle, IsOneSentenceWithItsRemedy) {
    EXPECT_EQ(sentence({"", "it is gone", "build it"}), "it is gone; build it");
    EXPECT_EQ(sentence({"", "it is gone", ""}), "it is gone");
    EXPECT_TRUE(Obstacle{}.none());
}

}  // namespace
}  // namespace shardscope::run
