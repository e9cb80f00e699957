// `record --device cuda` and `doctor` where no GPU can be used: a sentence, the right exit
// status, and a recording that is there and readable. With the real shardscope-rank, and beside
// it the real libshardscope_cuda.so, a fake one, or none.
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace shardscope::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class GpuWeather : public CliTest {
protected:
    GpuWeather() {
        // A machine that has a GPU hides it.
        environment["CUDA_VISIBLE_DEVICES"] = "";
        environment["SHARDSCOPE_RANK_PROGRAM"] = SHARDSCOPE_RANK;
    }
    /// A rank program with this fake module beside it; "" for none.
    void useModule(const std::string& variant) {
        const fs::path folder = path("bin");
        fs::create_directories(folder);
        fs::copy_file(SHARDSCOPE_RANK, folder / "shardscope-rank", fs::copy_options::skip_existing);
        if (!variant.empty())
            fs::copy_file(fs::path(SHARDSCOPE_FAKE_MODULES) / variant / "libshardscope_cuda.so",
                          folder / "libshardscope_cuda.so", fs::copy_options::overwrite_existing);
        environment["SHARDSCOPE_RANK_PROGRAM"] = (folder / "shardscope-rank").string();
    }
    std::unique_ptr<Program> record(std::vector<std::string> more) {
        const std::vector<std::string> small = {
            "--device", "cuda",      "--layers", "1",         "--heads", "2",      "--hidden",
            "32",       "--context", "32",       "--threads", "1",       "--force"};
        more.insert(more.begin(), small.begin(), small.end());
        return startRecord(more);
    }
    /// Records, which fails to launch with this sentence, and looks at what was left.
    void expectLaunchFails(const std::vector<std::string>& more,
                           const testing::Matcher<std::string>& sentence) {
        const auto program = record(more);
        EXPECT_EQ(program->wait(), 4);
        EXPECT_THAT(program->err(), sentence);
        m_said = program->err();
        expectKept(sentence);
    }
    /// The recording is finalised, says what happened, and `info` reads it.
    void expectKept(const testing::Matcher<std::string>& sentence) {
        ASSERT_TRUE(fs::exists(output()));
        const RecordingSummary summary = recorded();
        EXPECT_TRUE(summary.complete);
        EXPECT_EQ(summary.run.status, RunStatus::kFailed);
        EXPECT_THAT(summary.diagnostics,
                    testing::Contains(testing::Field(&Diagnostic::message, sentence)));
        const auto info = start({"info", output(), "--json"});
        EXPECT_EQ(info->wait(), 0) << info->err();
        EXPECT_EQ(json::parse(info->out()).at("run").at("status"), "failed");
    }
    json doctor(int status) {
        const auto program = start({"doctor", "--device", "cuda", "--json"});
        EXPECT_EQ(program->wait(), status) << program->err();
        return json::parse(program->out());
    }
    static std::string found(const json& report, const std::string& id) {
        for (const json& check : report.at("checks"))
            if (check.at("id") == id) return check.at("found");
        ADD_FAILURE() << "no check " << id << " in " << report.dump(1);
        return {};
    }

    std::string m_said;  ///< by the last record
};

/// Whatever the machine lacks: the module, its libraries, the driver or the device.
const auto kNoGpu = AnyOf(HasSubstr("this build has no GPU part"), HasSubstr("cannot be loaded"),
                          HasSubstr("there is no NVIDIA driver"), HasSubstr("which is too old"),
                          HasSubstr("the NVIDIA driver shows no GPU"));

TEST_F(GpuWeather, ThisBuildOnThisMachine) {
    expectLaunchFails({"--ranks", "1"}, kNoGpu);
    const json report = doctor(4);
    EXPECT_EQ(report.at("works").at("cpu"), true);
    EXPECT_EQ(report.at("works").at("cuda"), false);
}

TEST_F(GpuWeather, TwoRanksThatShareADeviceThatIsNotThere) {
    expectLaunchFails({"--ranks", "2", "--share-device"}, kNoGpu);
}

TEST_F(GpuWeather, TheRealModuleWithAllItsLibraries) {
    environment["LD_LIBRARY_PATH"] = SHARDSCOPE_CUDA_FOLDERS;
    const bool runs = fs::exists(SHARDSCOPE_CUDA_MODULE) && *SHARDSCOPE_CUDA_FOLDERS != '\0';
    if (!runs) {
        // No module was built, or nowhere on this machine are all the libraries it needs.
        expectLaunchFails({"--ranks", "1"}, fs::exists(SHARDSCOPE_CUDA_MODULE)
                                                ? HasSubstr("cannot be loaded")
                                                : HasSubstr("this build has no GPU part"));
        return;
    }
    expectLaunchFails({"--ranks", "1"},
                      AnyOf(HasSubstr("there is no NVIDIA driver"), HasSubstr("is too old"),
                            HasSubstr("the NVIDIA driver shows no GPU")));
    const json report = doctor(4);
    EXPECT_EQ(found(report, "gpu.runtime"), "CUDA runtime 13.0");
    EXPECT_EQ(found(report, "gpu.cupti"), "CUPTI 130001");
    EXPECT_EQ(found(report, "gpu.nccl"), "NCCL 2.28.9");
}

TEST_F(GpuWeather, ABuildWithoutModule) {
    useModule("");
    expectLaunchFails({"--ranks", "1"}, AllOf(HasSubstr("this build has no GPU part"),
                                              HasSubstr(path("bin")), HasSubstr("--device cpu")));
    EXPECT_THAT(found(doctor(4), "gpu.module"), HasSubstr("not beside shardscope-rank"));
}

TEST_F(GpuWeather, AModuleWithoutItsLibraries) {
    useModule("incomplete");
    expectLaunchFails({"--ranks", "1"},
                      AllOf(HasSubstr("libshardscope_gone.so"), HasSubstr("fetch-libtorch")));
    EXPECT_THAT(found(doctor(4), "gpu.module"), HasSubstr("libshardscope_gone.so"));
}

TEST_F(GpuWeather, AModuleOfAnotherBuild) {
    useModule("other_version");
    expectLaunchFails({"--ranks", "1"},
                      AllOf(HasSubstr("of another build"), HasSubstr("build both again")));
    EXPECT_THAT(found(doctor(4), "gpu.module"), HasSubstr("of another build"));
}

TEST_F(GpuWeather, EveryStateOfTheDriver) {
    useModule("right");
    const std::pair<const char*, const char*> states[] = {
        {"35 0 0", "there is no NVIDIA driver on this host"},
        {"35 12040 0", "the NVIDIA driver knows CUDA up to 12.4, which is too old"},
        {"100 13000 0", "the NVIDIA driver shows no GPU"},
        {"802 13000 0", "CUDA cannot be used: words of the driver (error 802)"},
    };
    for (const auto& [state, sentence] : states) {
        environment["FAKE_PROBE"] = state;
        expectLaunchFails({"--ranks", "1"}, HasSubstr(sentence));
    }
    // The last one as doctor tells it: the same words.
    EXPECT_THAT(m_said, HasSubstr(found(doctor(4), "gpu.usable")));
}

TEST_F(GpuWeather, FewerDevicesThanRanks) {
    useModule("right");
    environment["FAKE_PROBE"] = "0 13000 1";
    expectLaunchFails({"--ranks", "2"}, AllOf(HasSubstr("2 ranks need 2 GPUs, this host has 1"),
                                              HasSubstr("--share-device")));
}

TEST_F(GpuWeather, ADeviceThatCannotBeOpenedAndATracerThatIsBusy) {
    useModule("right");
    environment["FAKE_PROBE"] = "0 13000 1";
    expectLaunchFails({"--ranks", "1"},
                      AllOf(HasSubstr("NVIDIA H100 (0000:1b:00.0) cannot be opened"),
                            HasSubstr("out of memory")));
    EXPECT_THAT(
        recorded().diagnostics,
        testing::Contains(AllOf(testing::Field(&Diagnostic::code, "cupti-busy"),
                                testing::Field(&Diagnostic::message, HasSubstr("Another Tool")))));
    const json report = doctor(0);
    EXPECT_EQ(report.at("works"), json({{"cpu", true}, {"cuda", true}, {"tracing", false}}));
    EXPECT_THAT(found(report, "tracing.cupti"), HasSubstr("Another Tool"));
}

TEST_F(GpuWeather, ADriverThatBringsTheRankDown) {
    useModule("right");
    environment["FAKE_PROBE"] = "crash";
    const auto program = record({"--ranks", "2"});
    EXPECT_EQ(program->wait(), 5);
    EXPECT_THAT(program->err(), HasSubstr("signal 11"));
    expectKept(HasSubstr("signal 11"));
    const json report = doctor(4);
    EXPECT_EQ(report.at("works").at("cpu"), true);
    EXPECT_THAT(found(report, "gpu.probe"),
                AllOf(HasSubstr("signal 11"), HasSubstr("loading the GPU part")));
}

TEST_F(GpuWeather, GpuOnlySettingsOnACpuAreUsage) {
    const auto program = startRecord({"--precision", "tf32"});
    EXPECT_EQ(program->wait(), 2);
    EXPECT_THAT(program->err(), AllOf(HasSubstr("tf32"), HasSubstr("--device cuda")));
    EXPECT_FALSE(fs::exists(output()));
}

TEST_F(GpuWeather, DoctorFindsTheRealEngine) {
    const auto program = start({"doctor", "--json"});
    EXPECT_EQ(program->wait(), 0) << program->err();
    const json report = json::parse(program->out());
    EXPECT_EQ(report.at("schema"), "shardscope.doctor/1");
    EXPECT_EQ(report.at("works").at("cpu"), true);
    EXPECT_THAT(found(report, "engine.libtorch"), HasSubstr("LibTorch 2.11.0"));
}

}  // namespace
}  // namespace shardscope::cli
