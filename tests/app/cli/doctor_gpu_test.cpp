// `shardscope doctor` on GPUs and tracing: what a probe told and the host shows, as checks with
// their remedies.
#include "app/cli/doctor/doctor_checks.h"
#include "tests/app/cli/doctor_machines.h"

namespace shardscope::cli {
namespace {

using namespace run;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(DoctorGpu, FindsNothingToMendOnAHealthyHost) {
    const Diagnosis diagnosis = diagnosed(healthy(), around());
    EXPECT_TRUE(diagnosis.cuda);
    EXPECT_TRUE(diagnosis.tracing);
    for (const Check& check : diagnosis.checks) {
        EXPECT_EQ(check.status, CheckStatus::kOk) << check.id << ": " << check.found;
        EXPECT_EQ(check.remedy, "") << check.id;
    }
    EXPECT_THAT(checkOf(diagnosis, "gpu.driver").found,
                AllOf(HasSubstr("580.95.05"), HasSubstr("CUDA up to 13.0")));
    EXPECT_THAT(checkOf(diagnosis, "gpu.nccl").found, HasSubstr("2.28.9"));
    EXPECT_THAT(checkOf(diagnosis, "gpu.device_0").found,
                AllOf(HasSubstr("H100"), HasSubstr("80.0 GiB"), HasSubstr("9.0")));
}

TEST(DoctorGpu, AHostWithoutGpuIsANoteUnlessAGpuIsWanted) {
    ProbeOutcome probe = healthy();
    of<DriverPart>(probe) = {{"", "libnvidia-ml.so.1 is not there", ""}, "", {}};
    of<CudaPart>(probe).problem = {kNoDriverCode, "there is no NVIDIA driver on this host",
                                   "install r580 or newer"};
    of<CudaPart>(probe).driverVersion = 0;
    of<CudaPart>(probe).devices.clear();
    forget<TracingPart>(probe);
    GpuSurroundings surroundings = withoutGpu();
    const Diagnosis diagnosis = diagnosed(probe, surroundings);
    EXPECT_FALSE(diagnosis.cuda);
    // Once is enough.
    EXPECT_THAT(diagnosis.checks, Each(testing::Field(&Check::id, Not("gpu.usable"))));
    EXPECT_THAT(
        checkOf(diagnosis, "gpu.driver"),
        says(CheckStatus::kNote, HasSubstr("no NVIDIA GPU on the PCI bus"), HasSubstr("r580")));
    EXPECT_THAT(checkOf(diagnosis, "tracing.cupti"),
                says(CheckStatus::kNote, HasSubstr("no GPU"), IsEmpty()));
    surroundings.wanted = true;
    EXPECT_EQ(checkOf(diagnosed(probe, surroundings), "gpu.driver").status, CheckStatus::kMissing);
    // The device is there, its driver is not.
    surroundings.wanted = false;
    surroundings.pci = {"NVIDIA 0000:1b:00.0"};
    EXPECT_THAT(
        checkOf(diagnosed(probe, surroundings), "gpu.driver"),
        says(CheckStatus::kMissing, HasSubstr("but NVIDIA 0000:1b:00.0"), HasSubstr("install")));
}

TEST(DoctorGpu, ADriverThatIsLoadedAndDoesNotAnswerIsAProblem) {
    ProbeOutcome probe = healthy();
    of<DriverPart>(probe) = {{"", "Driver/library version mismatch", ""}, "", {}};
    of<CudaPart>(probe).driverVersion = 0;
    EXPECT_THAT(checkOf(diagnosed(probe, around()), "gpu.driver"),
                says(CheckStatus::kProblem, HasSubstr("version mismatch"), HasSubstr("restart")));
}

TEST(DoctorGpu, WithoutEngineNobodyAskedTheDriver) {
    EXPECT_THAT(checkOf(diagnosed({}, around()), "gpu.driver"),
                says(CheckStatus::kNote, HasSubstr("driver is loaded"), IsEmpty()));
    EXPECT_THAT(checkOf(diagnosed({}, withoutGpu()), "gpu.driver").found,
                HasSubstr("no NVIDIA driver"));
}

TEST(DoctorGpu, EachDeviceHasACheckOfItsOwn) {
    ProbeOutcome probe = healthy();
    std::vector<CudaDevice>& devices = of<CudaPart>(probe).devices;
    devices.push_back(CudaDevice(devices[0]));
    devices[1].pciBusId = "0000:2b:00.0";
    const Diagnosis diagnosis = diagnosed(probe, around());
    EXPECT_THAT(checkOf(diagnosis, "gpu.device_0").found, HasSubstr("1b:00.0"));
    EXPECT_THAT(checkOf(diagnosis, "gpu.device_1").found, HasSubstr("2b:00.0"));
}

TEST(DoctorGpu, AnOldDriverIsAProblem) {
    ProbeOutcome probe = healthy();
    of<DriverPart>(probe).version = "535.183.01";
    of<CudaPart>(probe).driverVersion = 12020;
    of<CudaPart>(probe).problem = {"driver-too-old",
                                   "the NVIDIA driver knows CUDA up to 12.2, which is too old",
                                   "install r580 or newer"};
    of<CudaPart>(probe).devices.clear();
    forget<TracingPart>(probe);
    const Diagnosis diagnosis = diagnosed(probe, around());
    EXPECT_FALSE(diagnosis.cuda);
    EXPECT_THAT(checkOf(diagnosis, "gpu.driver"),
                says(CheckStatus::kProblem,
                     AllOf(HasSubstr("535.183.01"), HasSubstr("CUDA up to 12.2"),
                           HasSubstr("older than r580")),
                     HasSubstr("r580")));
    EXPECT_THAT(checkOf(diagnosis, "gpu.usable"),
                says(CheckStatus::kProblem, HasSubstr("too old"), "install r580 or newer"));
    // What the driver has is shown all the same.
    EXPECT_THAT(checkOf(diagnosis, "gpu.device_0").found, HasSubstr("H100"));
}

TEST(DoctorGpu, WhatCudaCannotUseIsToldInTheWorkersWords) {
    ProbeOutcome probe = healthy();
    of<CudaPart>(probe).problem = {"cuda-error",
                                   "CUDA cannot be used: system not yet initialized (error 802)",
                                   "look at nvidia-smi"};
    of<CudaPart>(probe).devices.clear();
    EXPECT_THAT(
        checkOf(diagnosed(probe, around()), "gpu.usable"),
        says(CheckStatus::kProblem, "CUDA cannot be used: system not yet initialized (error 802)",
             "look at nvidia-smi"));
}

TEST(DoctorGpu, WhatIsFoundMayHoldSemicolons) {
    ProbeOutcome probe = healthy();
    of<CudaPart>(probe).problem = {"cuda-error", "out of order; see the log", "restart; then wait"};
    EXPECT_THAT(checkOf(diagnosed(probe, around()), "gpu.usable"),
                says(CheckStatus::kProblem, "out of order; see the log", "restart; then wait"));
    of<CudaPart>(probe) = {};
    of<CudaPart>(probe).problem.found = "/opt/a; b/x.so cannot be loaded";
    EXPECT_THAT(checkOf(diagnosed(probe, around()), "gpu.module"),
                says(CheckStatus::kProblem, "/opt/a; b/x.so cannot be loaded", IsEmpty()));
}

TEST(DoctorGpu, AnotherCuptiIsNamedWithTheFileItCameFrom) {
    ProbeOutcome probe = healthy();
    of<CudaPart>(probe).cuptiVersion = 130000;
    const Diagnosis diagnosis = diagnosed(probe, around());
    EXPECT_TRUE(diagnosis.cuda);
    EXPECT_THAT(checkOf(diagnosis, "gpu.cupti"),
                says(CheckStatus::kProblem,
                     AllOf(HasSubstr("CUPTI 130000 from /old/cuda/libcupti.so.13"),
                           HasSubstr("needs 130001")),
                     HasSubstr("LD_LIBRARY_PATH")));
}

TEST(DoctorGpu, AnotherNcclIsAProblem) {
    ProbeOutcome probe = healthy();
    of<CudaPart>(probe).ncclVersion = 22205;
    EXPECT_THAT(checkOf(diagnosed(probe, around()), "gpu.nccl"),
                says(CheckStatus::kProblem, HasSubstr("NCCL 2.22.5; this build needs 2.28.9"),
                     HasSubstr("libnccl.so.2")));
}

TEST(DoctorGpu, ABuildWithoutGpuPartIsToldWhatItLacks) {
    ProbeOutcome probe = healthy();
    of<CudaPart>(probe) = {};
    of<CudaPart>(probe).problem.found = "no GPU part";
    GpuSurroundings surroundings = around();
    surroundings.moduleFile = false;
    const Diagnosis diagnosis = diagnosed(probe, surroundings);
    EXPECT_FALSE(diagnosis.cuda);
    EXPECT_THAT(checkOf(diagnosis, "gpu.module"),
                says(CheckStatus::kMissing, HasSubstr("libshardscope_cuda.so"),
                     HasSubstr("SHARDSCOPE_WITH_CUDA=ON")));
    EXPECT_THAT(checkOf(diagnosis, "gpu.toolkit"),
                says(CheckStatus::kMissing, HasSubstr("nvcc"), HasSubstr("cuda-toolkit-13-0")));
    surroundings.toolkit = "/usr/local/cuda/bin/nvcc";
    surroundings.toolkitVersion = 13000;
    EXPECT_EQ(checkOf(diagnosed(probe, surroundings), "gpu.toolkit").status, CheckStatus::kOk);
    surroundings.toolkitVersion = 12040;
    EXPECT_THAT(checkOf(diagnosed(probe, surroundings), "gpu.toolkit"),
                says(CheckStatus::kMissing, HasSubstr("is of CUDA 12.4, and the GPU part"),
                     HasSubstr("cuda-toolkit-13-0")));
    // The devices that it could have used, by the driver's word.
    EXPECT_THAT(checkOf(diagnosis, "gpu.device_0").found, HasSubstr("H100"));
}

TEST(DoctorGpu, AModuleThatIsLoadedFromElsewhereHasItsLibrariesChecked) {
    GpuSurroundings surroundings = around();
    surroundings.moduleFile = false;
    const Diagnosis diagnosis = diagnosed(healthy(), surroundings);
    EXPECT_TRUE(diagnosis.cuda);
    EXPECT_EQ(checkOf(diagnosis, "gpu.module").status, CheckStatus::kMissing);
    EXPECT_EQ(checkOf(diagnosis, "gpu.nccl").status, CheckStatus::kOk);
}

TEST(DoctorGpu, AModuleThatCannotBeLoadedNamesTheLibrary) {
    ProbeOutcome probe = healthy();
    of<CudaPart>(probe) = {};
    of<CudaPart>(probe).problem = {"module-not-loadable",
                                   "x.so cannot be loaded: libcudnn.so.9: no such file",
                                   "run packaging/fetch-libtorch --cuda"};
    EXPECT_THAT(checkOf(diagnosed(probe, around()), "gpu.module"),
                says(CheckStatus::kProblem, HasSubstr("libcudnn.so.9"),
                     HasSubstr("fetch-libtorch --cuda")));
    EXPECT_EQ(checkOf(diagnosed(probe, withoutGpu()), "gpu.module").status, CheckStatus::kNote);
}

TEST(DoctorGpu, SaysWhoUsesADevicesMemoryAndThatItIsASlice) {
    ProbeOutcome probe = healthy();
    DriverDevice& device = of<DriverPart>(probe).devices[0];
    device.memoryUsed = Bytes{3 << 20};
    device.mig = true;
    device.users = {{77, "python3", Bytes{2097152}}, {78, "", std::nullopt}};
    const Diagnosis diagnosis = diagnosed(probe, around());
    EXPECT_TRUE(diagnosis.cuda);
    EXPECT_THAT(checkOf(diagnosis, "gpu.device_0"),
                says(CheckStatus::kNote,
                     AllOf(HasSubstr("MIG"), HasSubstr("in use 3.0 MiB"),
                           HasSubstr("pid 77 python3 2.0 MiB, pid 78")),
                     HasSubstr("CUDA_VISIBLE_DEVICES")));
}

TEST(DoctorGpu, ADeviceOlderThanTheKernelsCannotBeUsed) {
    ProbeOutcome probe = healthy();
    of<CudaPart>(probe).devices[0].computeCapability = "7.5";
    const Diagnosis diagnosis = diagnosed(probe, around());
    EXPECT_FALSE(diagnosis.cuda);
    EXPECT_THAT(checkOf(diagnosis, "gpu.device_0"),
                says(CheckStatus::kProblem, HasSubstr("7.5, older than 8.0"),
                     HasSubstr("CUDA_VISIBLE_DEVICES")));
}

TEST(DoctorTracing, SaysWhoHoldsCupti) {
    ProbeOutcome probe = healthy();
    of<TracingPart>(probe) = {
        false,
        {"cupti-busy", "'Nsight Systems' already traces this process", "End the other tool."}};
    const Diagnosis diagnosis = diagnosed(probe, around());
    EXPECT_TRUE(diagnosis.cuda);
    EXPECT_FALSE(diagnosis.tracing);
    EXPECT_THAT(checkOf(diagnosis, "tracing.cupti"),
                says(CheckStatus::kProblem, HasSubstr("Nsight Systems"), "End the other tool."));
    EXPECT_THAT(doctorText(diagnosis), HasSubstr("kernels cannot be recorded"));
}

TEST(DoctorTracing, AProbeThatDiesInTheTracerLeavesTheRest) {
    ProbeOutcome probe = healthy();
    forget<TracingPart>(probe);
    forget<EndPart>(probe);
    probe.problem = "was ended by signal 11 (Segmentation fault) while starting the tracer";
    const Diagnosis diagnosis = diagnosed(probe, around());
    EXPECT_TRUE(diagnosis.cuda);
    EXPECT_FALSE(diagnosis.tracing);
    EXPECT_THAT(checkOf(diagnosis, "gpu.probe"),
                says(CheckStatus::kProblem, HasSubstr("signal 11"), HasSubstr("xid")));
    EXPECT_EQ(checkOf(diagnosis, "tracing.cupti").status, CheckStatus::kProblem);
}

TEST(DoctorTracing, NamesTheVariablesThatLetOtherToolsIn) {
    EXPECT_THAT(injectionCheck({"CUDA_HOME=/usr", "LD_PRELOAD=", "PATH=/bin"}),
                says(CheckStatus::kOk, HasSubstr("no variable"), IsEmpty()));
    EXPECT_THAT(
        injectionCheck({"CUDA_INJECTION64_PATH=/n/a.so", "NSYS_SESSION=1", "HOME=/"}),
        says(CheckStatus::kProblem, HasSubstr("CUDA_INJECTION64_PATH=/n/a.so, NSYS_SESSION"),
             "unset CUDA_INJECTION64_PATH NSYS_SESSION"));
    for (const std::string name :
         {"NVTX_INJECTION64_PATH", "NV_COMPUTE_PROFILER_PERFWORKS_DIR", "KINETO_USE_DAEMON"}) {
        EXPECT_THAT(injectionCheck({name + "=1"}),
                    says(CheckStatus::kProblem, HasSubstr(name), "unset " + name));
    }
    EXPECT_THAT(injectionCheck({"LD_PRELOAD=/lib/jemalloc.so"}),
                says(CheckStatus::kNote, "LD_PRELOAD=/lib/jemalloc.so", HasSubstr("LD_PRELOAD")));
}

TEST(DoctorTracing, SaysWhoMayReadCounters) {
    const std::string restricted = "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n";
    EXPECT_THAT(countersCheck(restricted, false),
                says(CheckStatus::kNote, HasSubstr("only root"),
                     HasSubstr("NVreg_RestrictProfilingToAdminUsers=0")));
    EXPECT_EQ(countersCheck(restricted, true).status, CheckStatus::kOk);
    EXPECT_EQ(countersCheck("RmProfilingAdminOnly: 0\n", false).status, CheckStatus::kOk);
    EXPECT_THAT(countersCheck("", false),
                says(CheckStatus::kNote, HasSubstr("no driver"), IsEmpty()));
}

}  // namespace
}  // namespace shardscope::cli
