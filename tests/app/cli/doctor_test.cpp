// `shardscope doctor`: every state of a machine as a check with its remedy, and a probe that
// crashes, hangs or is not there.
#include "app/cli/doctor/doctor_checks.h"
#include "app/cli/doctor/doctor_probe.h"
#include "app/cli/doctor/doctor_report.h"
#include "tests/app/cli/doctor_machines.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <variant>

namespace shardscope::cli {
namespace {

using nlohmann::json;
using namespace run;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const char* const kEngine =
    R"({"part":"engine","libtorch":"2.11.0","one_dnn":"3.10.2","cpu_capability":"AVX2","computes":true})";

class DoctorFlags : public CliTest {};

TEST_F(DoctorFlags, AKeyOfNoHostIsRefused) {
    const auto doctor =
        start({"doctor", "--accept-key", "SHA256:0000000000000000000000000000000000000000000"});
    EXPECT_EQ(doctor->wait(), 2);
    EXPECT_THAT(doctor->err(),
                HasSubstr("--accept-key is about other hosts; name them with --hosts"));
    EXPECT_EQ(doctor->out(), "");
}

TEST(DoctorReport, JsonHasStableKeys) {
    Diagnosis diagnosis;
    diagnosis.cpu = true;
    diagnosis.exitCode = 4;
    diagnosis.checks = {{"gpu.driver", CheckStatus::kMissing, "none", "install it"},
                        {"tools.ssh", CheckStatus::kOk, "/usr/bin/ssh", ""}};
    const json report = json::parse(doctorJson(diagnosis));
    EXPECT_EQ(report, json::parse(R"({
        "schema": "shardscope.doctor/1", "exit_code": 4,
        "works": {"cpu": true, "cuda": false, "tracing": false},
        "checks": [
            {"id": "gpu.driver", "section": "gpu", "status": "missing", "found": "none",
             "remedy": "install it"},
            {"id": "tools.ssh", "section": "tools", "status": "ok", "found": "/usr/bin/ssh",
             "remedy": null}]})"));
}

TEST(DoctorReport, TextNamesSectionsOnceAndPutsRemediesBelow) {
    Diagnosis diagnosis;
    diagnosis.cpu = true;
    diagnosis.checks = {{"gpu.driver", CheckStatus::kMissing, "none", "install it"},
                        {"gpu.open_files", CheckStatus::kOk, "many", ""}};
    EXPECT_EQ(doctorText(diagnosis),
              "GPU\n"
              "  missing  driver      none\n"
              "                       -> install it\n"
              "  ok       open files  many\n"
              "Training on the CPU works, on a GPU it does not work.\n");
}

class Doctor : public CliTest {
protected:
    /// A rank program that is a shell script.
    void useRank(const std::string& script) {
        const std::string file = path("rank");
        std::ofstream(file) << "#!/bin/sh\n" << script;
        ::chmod(file.c_str(), 0700);
        environment["SHARDSCOPE_RANK_PROGRAM"] = file;
    }
    static std::string tell(const std::string& line) { return "echo '" + line + "'\n"; }
    void write(const std::string& name, const std::string& text) {
        const std::filesystem::path file = path(name);
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    json report(const std::vector<std::string>& more, int status) {
        std::vector<std::string> arguments = {"doctor", "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto program = start(arguments);
        EXPECT_EQ(program->wait(), status) << program->err();
        EXPECT_EQ(program->err(), "");
        return json::parse(program->out());
    }
    static json checkIn(const json& report, const std::string& id) {
        for (const json& check : report.at("checks"))
            if (check.at("id") == id) return check;
        ADD_FAILURE() << "no check " << id;
        return {};
    }
};

TEST_F(Doctor, ABuildWithoutEngineCannotTrain) {
    environment["SHARDSCOPE_RANK_PROGRAM"] = path("no-rank");
    const json found = report({}, 1);
    EXPECT_EQ(found.at("works").at("cpu"), false);
    EXPECT_EQ(checkIn(found, "engine.program").at("status"), "missing");
    EXPECT_THAT(checkIn(found, "engine.program").at("remedy").get<std::string>(),
                HasSubstr("packaging/quickstart"));
}

TEST_F(Doctor, AnEngineWhoseLibraryIsMissingSaysWhich) {
    useRank("echo 'rank: error while loading shared libraries: libtorch_cpu.so' >&2\nexit 127\n");
    const json found = report({}, 1);
    EXPECT_EQ(checkIn(found, "engine.libtorch").at("status"), "problem");
    EXPECT_THAT(checkIn(found, "engine.libtorch").at("found").get<std::string>(),
                AllOf(HasSubstr("status 127"), HasSubstr("libtorch_cpu.so")));
}

TEST_F(Doctor, AnEngineThatComputesWrongCannotTrain) {
    useRank(tell(R"({"part":"engine","libtorch":"2.11.0","computes":false})") +
            tell(R"({"part":"end"})"));
    EXPECT_EQ(checkIn(report({}, 1), "engine.libtorch").at("status"), "problem");
}

TEST_F(Doctor, TheAbsenceOfAGpuIsAFailureOnlyWhenOneIsWanted) {
    useRank(tell(kEngine) +
            tell(R"({"part":"driver","problem":"none","version":null,"devices":[]})") +
            tell(R"({"part":"cuda","loaded":false,"problem":"no GPU part","remedy":"build it"})") +
            tell(R"({"part":"end"})"));
    EXPECT_EQ(report({}, 0).at("works"),
              json({{"cpu", true}, {"cuda", false}, {"tracing", false}}));
    const json wanted = report({"--device", "cuda"}, 4);
    EXPECT_EQ(wanted.at("exit_code"), 4);
    EXPECT_EQ(checkIn(wanted, "gpu.module").at("status"), "missing");
}

TEST_F(Doctor, AUsableGpuSatisfies) {
    std::string script;
    for (const ProbePart& part : healthy().parts) script += tell(encodePart(part));
    useRank(script);
    write("libshardscope_cuda.so", "");
    EXPECT_EQ(report({"--device", "cuda"}, 0).at("works"),
              json({{"cpu", true}, {"cuda", true}, {"tracing", true}}));
}

TEST_F(Doctor, ACrashInTheGpuPartLeavesTheCpuUsable) {
    useRank(tell(kEngine) + tell(R"({"part":"driver","version":"580.1","devices":[]})") +
            "kill -SEGV $$\n");
    const json found = report({}, 0);
    EXPECT_EQ(found.at("works").at("cpu"), true);
    EXPECT_THAT(checkIn(found, "gpu.probe").at("found").get<std::string>(),
                AllOf(HasSubstr("signal 11"), HasSubstr("while loading the GPU part")));
}

TEST_F(Doctor, AHangingProbeIsKilledWithItsChildren) {
    useRank(tell(kEngine) + "sleep 600 & echo $! > " + path("child") + "\nwait\n");
    const ProbeOutcome outcome =
        runProbe(environment["SHARDSCOPE_RANK_PROGRAM"], std::chrono::milliseconds(700));
    EXPECT_NE(outcome.part<EnginePart>(), nullptr);
    EXPECT_EQ(outcome.part<DriverPart>(), nullptr);
    EXPECT_THAT(outcome.problem,
                AllOf(HasSubstr("did not answer within"), HasSubstr("asking the NVIDIA driver"),
                      HasSubstr("was killed (pid ")));
    pid_t child = 0;
    std::ifstream(path("child")) >> child;
    ASSERT_GT(child, 0);
    EXPECT_TRUE(eventually([&] { return !isAlive(child); }));
}

TEST_F(Doctor, AHangBehindTheLastWordIsNone) {
    useRank(tell(kEngine) + tell(R"({"part":"end"})") + "sleep 600\n");
    EXPECT_EQ(
        runProbe(environment["SHARDSCOPE_RANK_PROGRAM"], std::chrono::milliseconds(700)).problem,
        "");
}

TEST_F(Doctor, NoiseOfAProbeIsPassedOver) {
    useRank("echo warning: noise\necho '[1]'\necho '{\"part\": 3}'\n" + tell(kEngine) +
            tell(R"({"part":"end"})"));
    const ProbeOutcome outcome =
        runProbe(environment["SHARDSCOPE_RANK_PROGRAM"], std::chrono::seconds(10));
    EXPECT_EQ(outcome.problem, "");
    EXPECT_EQ(outcome.parts.size(), 2u);
}

TEST_F(Doctor, MalformedPartsAreNotKnownAndHideNothing) {
    useRank(
        tell(R"({"part":"engine","libtorch":2,"computes":true})") +
        tell(R"({"part":"driver","problem":null,"version":"580.1","devices":[7,{"name":[]}]})") +
        tell(R"({"part":"cuda","loaded":"yes","devices":3,"loaded_from":[]})") +
        tell(R"({"part":"tracing","started":null,"message":4})") + tell(R"({"part":"end"})"));
    write("libshardscope_cuda.so", "");
    const json found = report({}, 0);
    EXPECT_EQ(found.at("works"), json({{"cpu", true}, {"cuda", false}, {"tracing", false}}));
    EXPECT_THAT(checkIn(found, "engine.libtorch").at("found").get<std::string>(),
                HasSubstr("LibTorch ?, oneDNN ?"));
    EXPECT_EQ(checkIn(found, "gpu.driver").at("status"), "ok");
    EXPECT_EQ(checkIn(found, "gpu.device_1").at("status"), "note");
    EXPECT_NE(checkIn(found, "gpu.module").at("status"), "ok");
    EXPECT_EQ(checkIn(found, "tracing.cupti").at("status"), "problem");
}

TEST_F(Doctor, ARemedyComesThroughTheProbeAsItWasGiven) {
    CudaPart cuda;
    cuda.problem = {"module-not-loadable", "/opt/a; b/x.so cannot be loaded", "fetch it; link it"};
    useRank(tell(kEngine) + tell(encodePart(cuda)) + tell(encodePart(EndPart{})));
    write("libshardscope_cuda.so", "");
    const json module = checkIn(report({"--device", "cuda"}, 4), "gpu.module");
    EXPECT_EQ(module.at("found"), cuda.problem.found);
    EXPECT_EQ(module.at("remedy"), cuda.problem.remedy);
}

TEST_F(Doctor, AProgramThatIsNoneIsSaidToBe) {
    write("rank", "not a program");
    std::filesystem::permissions(path("rank"), std::filesystem::perms::owner_all);
    EXPECT_THAT(runProbe(path("rank"), std::chrono::seconds(10)).problem,
                HasSubstr("cannot be started"));
}

TEST_F(Doctor, UnknownDevicesAreUsage) {
    const auto program = start({"doctor", "--device", "tpu"});
    EXPECT_EQ(program->wait(), 2);
    EXPECT_THAT(program->err(), HasSubstr("tpu"));
}

TEST_F(Doctor, ReadsProcessorAndLimitsOfTheHost) {
    write("host/proc/cpuinfo", "processor : 0\nflags\t\t: fpu sse avx2 fma avx512f amx_bf16\n");
    write("host/sys/fs/cgroup/cpu.max", "50000 100000\n");
    write("host/sys/fs/cgroup/memory.max", "1048576\n");
    Diagnosis diagnosis;
    diagnosis.checks = hostChecks(path("host"));
    EXPECT_THAT(checkOf(diagnosis, "host.processor").found,
                testing::EndsWith(", avx2 fma avx512f amx_bf16"));
    EXPECT_THAT(checkOf(diagnosis, "host.cores"),
                says(CheckStatus::kNote, HasSubstr("time of 0.5 of them"), HasSubstr("quota")));
    EXPECT_THAT(checkOf(diagnosis, "host.memory"),
                says(CheckStatus::kNote, HasSubstr("1.0 MiB of "), IsEmpty()));
    EXPECT_THAT(checkOf(diagnosis, "host.shared_memory"),
                says(CheckStatus::kNote, HasSubstr("no /dev/shm"), HasSubstr("mount")));
}

TEST_F(Doctor, AProcessorWithoutFmaIsSlowAndNoLimitIsNoNote) {
    write("host/proc/cpuinfo", "flags : fpu sse\n");
    write("host/sys/fs/cgroup/cpu.max", "max 100000\n");
    write("host/sys/fs/cgroup/memory.max", "max\n");
    Diagnosis diagnosis;
    diagnosis.checks = hostChecks(path("host"));
    EXPECT_THAT(checkOf(diagnosis, "host.processor"),
                says(CheckStatus::kNote, HasSubstr("no AVX2"), HasSubstr("slow")));
    EXPECT_EQ(checkOf(diagnosis, "host.cores").status, CheckStatus::kOk);
    EXPECT_EQ(checkOf(diagnosis, "host.memory").status, CheckStatus::kOk);
}

TEST_F(Doctor, FindsGpusOnTheBus) {
    const auto device = [&](const std::string& bus, const char* vendor, const char* kind) {
        write("host/sys/bus/pci/devices/" + bus + "/vendor", vendor);
        write("host/sys/bus/pci/devices/" + bus + "/class", kind);
    };
    device("0000:3b:00.0", "0x10de\n", "0x030200\n");
    device("0000:1b:00.0", "0x10de\n", "0x030000\n");
    device("0000:1b:00.1", "0x10de\n", "0x040300\n");  // its sound
    device("0000:00:02.0", "0x8086\n", "0x030000\n");
    EXPECT_THAT(pciGpus(path("host")), ElementsAre("NVIDIA 0000:1b:00.0", "NVIDIA 0000:3b:00.0"));
    EXPECT_THAT(pciGpus(path("nowhere")), IsEmpty());
}

TEST_F(Doctor, ReadsTheToolkitsVersionFromItsHeader) {
    write("cuda-13.0/bin/nvcc", "");
    write("cuda-13.0/include/cuda_runtime_api.h",
          "/* text */\n#define CUDART_VERSION  13000\n#define OTHER 1\n");
    EXPECT_EQ(toolkitVersion(path("cuda-13.0/bin/nvcc")), 13000);
    std::filesystem::create_directory_symlink(path("cuda-13.0"), path("cuda"));
    std::filesystem::create_symlink(path("cuda/bin/nvcc"), path("nvcc"));
    EXPECT_EQ(toolkitVersion(path("nvcc")), 13000);
    EXPECT_EQ(toolkitVersion(path("text.txt")), 0);
    EXPECT_EQ(toolkitVersion(""), 0);
}

TEST_F(Doctor, LooksForToolsBesideTheProgramAndInThePath) {
    write("bin/shardscope-desktop", "");
    std::filesystem::permissions(path("bin/shardscope-desktop"), std::filesystem::perms::owner_all);
    Diagnosis diagnosis;
    diagnosis.checks = toolChecks(path("bin"));
    EXPECT_EQ(checkOf(diagnosis, "tools.desktop").status, CheckStatus::kOk);
    diagnosis.checks = toolChecks(path("nowhere"));
    EXPECT_THAT(checkOf(diagnosis, "tools.desktop"),
                says(CheckStatus::kMissing, HasSubstr("nowhere"), HasSubstr("qt6-base-dev")));
    EXPECT_EQ(inPath("sh").substr(inPath("sh").rfind('/')), "/sh");
    EXPECT_EQ(inPath("no-such-program"), "");
}

}  // namespace
}  // namespace shardscope::cli
