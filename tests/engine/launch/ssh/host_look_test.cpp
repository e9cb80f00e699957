// What is asked of a host, answered by this one.
#include "engine/launch/ssh/host_look.h"

#include "engine/launch/process.h"
#include "engine/launch/ssh/child_process.h"
#include "engine/launch/ssh/host_checks.h"
#include "engine/launch/ssh/login_shell.h"
#include "engine/launch/ssh/needed_libraries.h"
#include "engine/launch/ssh/payload.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gnu/libc-version.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace shardscope::launch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class HostLookTest : public testing::Test {
protected:
    HostLookTest() { std::filesystem::create_directory(home()); }

    [[nodiscard]] std::string home() const { return m_folder.file("home"); }

    /// A program that comes before all others of its name there.
    void addProgram(const std::string& name, const std::string& script) const {
        std::filesystem::create_directory(m_folder.file("bin"));
        const std::string path = m_folder.file("bin/" + name);
        std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }

    void addFile(const std::string& path) const {
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        std::ofstream(path) << "x";
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }

    [[nodiscard]] HostLook look(const SshHost& host = {},
                                const std::string& program = "0123456789abcdef") const {
        const Token token;
        const auto answer = outputOf({"env", "-u", "XDG_CACHE_HOME", "HOME=" + home(),
                                      "SSH_CONNECTION=10.0.0.9 50 10.0.0.1 22",
                                      "PATH=" + m_folder.file("bin") + ":" + std::getenv("PATH"),
                                      "/bin/sh", "-c", lookLine(host, token, program)});
        EXPECT_THAT(answer, test::IsOk());
        return parseLook(answer.value_or(""));
    }

    test::TemporaryFolder m_folder;
};

TEST_F(HostLookTest, TellsSystemAndRoom) {
    const HostLook found = look();
    EXPECT_TRUE(found.whole);
    EXPECT_EQ(found.system, ownSystem());
    EXPECT_GE(found.glibc, (GlibcVersion{2, 2}));
    EXPECT_GE(found.cores, 1);
    EXPECT_GT(found.freeMemory.value_or(Bytes{}), Bytes{1 << 20});
    const auto space = std::filesystem::space(home());
    ASSERT_TRUE(found.freeDisk.has_value());
    EXPECT_LE(static_cast<std::uintmax_t>(found.freeDisk->count), space.capacity);
    EXPECT_EQ(found.folder, home() + "/.cache");
    EXPECT_TRUE(found.writable);
    EXPECT_FALSE(found.programThere);
    EXPECT_EQ(found.reachedAt, "10.0.0.1");
}

TEST_F(HostLookTest, TakesTheFolderOfTheUser) {
    EXPECT_EQ(look({"h", "/a b/it's"}).folder, "/a b/it's");
    EXPECT_EQ(look({"h", "~/x"}).folder, home() + "/x");
    EXPECT_EQ(look({"h", "~"}).folder, home() + "/");
    EXPECT_EQ(look({"h", "x/y"}).folder, home() + "/x/y");
}

TEST_F(HostLookTest, TriesWhetherTheFolderMayBeWritten) {
    EXPECT_FALSE(look({"h", "/proc/nothing"}).writable);  // whatever root's rights say
    EXPECT_EQ(look({"h", "/proc/nothing"}).inTheWay, "");
    addFile(home() + "/file");
    std::filesystem::create_symlink("nowhere", home() + "/link");
    EXPECT_EQ(look({"h", "~/file/below"}).inTheWay, home() + "/file");
    EXPECT_EQ(look({"h", "~/link"}).inTheWay, home() + "/link");
    EXPECT_EQ(look({"h", "~/new"}).inTheWay, "");
    EXPECT_TRUE(look({"h", "~/new"}).writable);
    const auto begin = std::filesystem::directory_iterator(home());
    EXPECT_EQ(std::distance(begin, {}), 2) << "nothing was left there";
}

TEST_F(HostLookTest, FindsTheVeryProgram) {
    addFile(m_folder.file("program"));
    const auto package = packageOf({{m_folder.file("program"), "bin/shardscope"}}, "");
    ASSERT_THAT(package, test::IsOk());
    const std::string place = home() + "/.cache/shardscope/" + package->folder;
    EXPECT_FALSE(look({}, package->folder).programDamaged) << "there is none";
    addFile(place + "/bin/shardscope");
    EXPECT_TRUE(look({}, package->folder).programDamaged) << "it has no sums";
    std::ofstream(place + "/SHA256SUMS") << package->sums();
    const HostLook found = look({}, package->folder);
    EXPECT_TRUE(found.programThere);
    EXPECT_FALSE(found.programDamaged);
    EXPECT_FALSE(look({"h", "elsewhere"}, package->folder).programThere);
    // The sums are right, but not those of the name.
    std::filesystem::rename(place, home() + "/.cache/shardscope/0123456789abcdef");
    EXPECT_FALSE(look().programThere);
    EXPECT_TRUE(look().programDamaged);
}

TEST_F(HostLookTest, FindsWhatFetchLibTorchHasPutThere) {
    const std::string root = home() + "/.cache/shardscope/libtorch-" + libTorchVersion();
    addFile(root + "/torch/lib/libtorch_cpu.so");
    addFile(root + "/nvidia/cu13/lib/libcupti.so.13");
    EXPECT_EQ(look().libTorch, root + "/torch/lib:" + root + "/nvidia/cu13/lib");
    EXPECT_FALSE(look().torchCuda);
    // As it is sent with its CUDA part.
    addFile(root + kCudaFolder + "/torch/lib/libtorch_cpu.so");
    addFile(root + kCudaFolder + "/torch/lib/libtorch_cuda.so");
    EXPECT_EQ(look().libTorch, root + kCudaFolder + "/torch/lib");
    EXPECT_TRUE(look().torchCuda);
}

TEST_F(HostLookTest, FindsTheTorchOfPython) {
    addProgram("python3",
               "echo \"$0 was asked\" >&2; echo torch_lib=/site/torch/lib; "
               "echo torch_lib=/site/nvidia/cu13/lib");
    const HostLook found = look();
    EXPECT_EQ(found.libTorch, "/site/torch/lib:/site/nvidia/cu13/lib");
    EXPECT_EQ(found.python, m_folder.file("bin/python3"));
}

/// A package as pip installs it, for the python3 of this machine.
void installTorch(const std::string& site, const std::string& version) {
    std::filesystem::create_directories(site + "/torch/lib");
    std::filesystem::create_directories(site + "/nvidia/cu13/lib");
    std::filesystem::create_directories(site + "/torch-" + version + ".dist-info");
    std::ofstream(site + "/torch/__init__.py") << "raise ImportError('must not be imported')\n";
    std::ofstream(site + "/torch-" + version + ".dist-info/METADATA")
        << "Metadata-Version: 2.1\nName: torch\nVersion: " << version << "\n";
}

TEST_F(HostLookTest, AsksPythonWithoutImportingTorch) {
    const std::string python = findProgram("python3");
    if (python.empty()) GTEST_SKIP() << "there is no python3";
    const std::string site = m_folder.file("site");
    installTorch(site, std::string(libTorchVersion()) + "+cu130");
    addProgram("python3", "PYTHONPATH=" + site + " exec " + python + " \"$@\"");
    EXPECT_EQ(look().libTorch, site + "/torch/lib:" + site + "/nvidia/cu13/lib");
}

TEST_F(HostLookTest, TellsOfAnotherTorch) {
    const std::string python = findProgram("python3");
    if (python.empty()) GTEST_SKIP() << "there is no python3";
    installTorch(m_folder.file("site"), "2.4.0");
    addProgram("python3", "PYTHONPATH=" + m_folder.file("site") + " exec " + python + " \"$@\"");
    const HostLook found = look();
    EXPECT_EQ(found.libTorch, "");
    EXPECT_EQ(found.otherTorch, "2.4.0");
    EXPECT_THAT(noLibTorch({}, {"gpu7", ""}, found, {}).message,
                AllOf(HasSubstr("gpu7"), HasSubstr("has torch 2.4.0"), HasSubstr("fetch-libtorch"),
                      HasSubstr("pip install torch=="), HasSubstr("--deploy-libtorch")));
}

TEST_F(HostLookTest, ListsGpusByName) {
    addProgram("nvidia-smi", "echo NVIDIA H100; echo 'NVIDIA H200 NVL'");
    EXPECT_THAT(look().gpus, ElementsAre("NVIDIA H100", "NVIDIA H200 NVL"));
    EXPECT_EQ(look().driver, "");
    addProgram("nvidia-smi", "echo 'NVIDIA H100, 550.54.15'; echo 'NVIDIA H200 NVL, 550.54.15'");
    EXPECT_THAT(look().gpus, ElementsAre("NVIDIA H100", "NVIDIA H200 NVL"));
    EXPECT_EQ(look().driver, "550.54.15");
    addProgram("nvidia-smi", "echo 'NVIDIA-SMI has failed' >&2; exit 9");
    EXPECT_THAT(look().gpus, ElementsAre());
}

TEST(HostLookAnswer, IsReadThoughNamesHoldBlanks) {
    const HostLook found =
        parseLook("disk=/dev/a disk 1000 400 600 40% /mnt/a disk\nend=yes\nmemory_kb=\n");
    EXPECT_EQ(found.freeDisk, Bytes{600 * 1024});
    EXPECT_FALSE(found.freeMemory.has_value());
}

class HostChecks : public testing::Test {
protected:
    HostChecks() {
        m_look.system = ownSystem();
        m_look.glibc = {2, 36};
        m_look.folder = "/there";
        m_look.writable = true;
        m_payload.glibc = {2, 34};
        m_payload.program.files = {{"/x", "bin/shardscope", "", Bytes{20'000'000}}};
    }
    [[nodiscard]] Result<void> check() const {
        return checkHost(m_options, {"gpu7", ""}, m_look, m_payload);
    }

    SshOptions m_options;
    HostLook m_look;
    Payload m_payload;
};

TEST_F(HostChecks, LetAHostThatCanTakeItPass) {
    EXPECT_THAT(check(), test::IsOk());
}

TEST_F(HostChecks, TellHowLibTorchComesThere) {
    const auto way = [this] { return libTorchWay(m_options, m_look, m_payload); };
    EXPECT_EQ(way(), LibTorchWay::kThere) << "no rank needs one";
    m_payload.program.files.push_back({"/y", "bin/shardscope-rank", "", Bytes{}});
    EXPECT_EQ(way(), LibTorchWay::kNone);
    m_payload.fetch = FetchRoom{Bytes{1'300'000'000}, Bytes{4'600'000'000}};
    EXPECT_EQ(way(), LibTorchWay::kFetched);
    m_look.fetchLacks = {"unzip"};
    EXPECT_EQ(way(), LibTorchWay::kNone);
    m_options.deployLibTorch = true;
    EXPECT_EQ(way(), LibTorchWay::kNone) << "there is none here";
    m_payload.libTorch.emplace();
    EXPECT_EQ(way(), LibTorchWay::kSent);
    m_look.gpus = {"NVIDIA H100"};
    m_options.wantsGpus = true;
    EXPECT_EQ(way(), LibTorchWay::kNone) << "it would be without its CUDA part";
    EXPECT_THAT(noLibTorch(m_options, {"gpu7", ""}, m_look, m_payload).message,
                AllOf(HasSubstr("no whole CUDA part to send"), HasSubstr("fetch-libtorch --cuda")));
    m_payload.libTorchCuda = true;
    EXPECT_EQ(way(), LibTorchWay::kSent);
    m_look.libTorch = "/there/torch/lib";
    EXPECT_EQ(way(), LibTorchWay::kSent) << "for its CUDA part";
    EXPECT_THAT(noLibTorch(m_options, {"gpu7", ""}, m_look, m_payload).message,
                HasSubstr("without its CUDA part"));
    m_look.torchCuda = true;
    EXPECT_EQ(way(), LibTorchWay::kThere);
}

TEST_F(HostChecks, RefuseWhereThereIsNoRoomToFetchLibTorch) {
    m_payload.program.files.push_back({"/y", "bin/shardscope-rank", "", Bytes{}});
    m_payload.fetch = FetchRoom{Bytes{1'300'000'000}, Bytes{4'600'000'000}};
    m_look.freeDisk = Bytes{1'000'000'000};
    EXPECT_THAT(check(), test::FailsWith("has 1000 MB left where /there is, and 1320 MB are"));
    m_look.freeDisk = Bytes{2'000'000'000};
    EXPECT_THAT(check(), test::IsOk());
    m_look.gpus = {"NVIDIA H100"};
    m_options.wantsGpus = true;
    EXPECT_THAT(check(), test::FailsWith("4620 MB are"));
}

TEST_F(HostChecks, RefuseAnotherKindOfMachine) {
    m_look.system = "Linux riscv64";
    EXPECT_THAT(check(), test::FailsWith("gpu7 is a Linux riscv64"));
}

TEST_F(HostChecks, RefuseAFolderThatNoLoaderCanTake) {
    m_look.folder = "/a:b";
    EXPECT_THAT(check(), test::FailsWith("/a:b on gpu7 has a colon"));
}

TEST_F(HostChecks, RefuseAnOlderGlibcAndNone) {
    m_look.glibc = {2, 31};
    EXPECT_THAT(check(), test::FailsWith("gpu7 has glibc 2.31, and this program needs 2.34"));
    m_look.glibc = {};
    EXPECT_THAT(check(), test::FailsWith("no glibc"));
}

TEST_F(HostChecks, RefuseWhereNoFolderCanBeMade) {
    m_look.inTheWay = "/there";
    EXPECT_THAT(check(),
                test::FailsWith("nothing can be put into /there on gpu7: /there is no folder"));
    m_look.inTheWay.clear();
    m_look.writable = false;
    EXPECT_THAT(check(), test::FailsWith("it may not be written"));
}

TEST_F(HostChecks, RefuseWhereThereIsNoRoomUnlessAllIsThere) {
    m_look.freeDisk = Bytes{5'000'000};
    EXPECT_THAT(check(), test::FailsWith("has 5 MB left where /there is, and 20 MB are"));
    m_look.programThere = true;
    EXPECT_THAT(check(), test::IsOk());
    m_look.programThere = false;
    m_look.freeDisk.reset();
    EXPECT_THAT(check(), test::IsOk());
}

TEST(GlibcVersion, IsReadFromWhatHostsSay) {
    EXPECT_EQ(parseGlibc("glibc 2.36"), (GlibcVersion{2, 36}));
    EXPECT_EQ(parseGlibc("ldd (Debian GLIBC 2.36-9+deb12u9) 2.36"), (GlibcVersion{2, 36}));
    EXPECT_EQ(parseGlibc("ldd (GNU libc) 2.17"), (GlibcVersion{2, 17}));
    EXPECT_EQ(parseGlibc("musl libc (x86_64)"), GlibcVersion{});
    EXPECT_EQ(parseGlibc("sh: getconf: not found"), GlibcVersion{});
    EXPECT_EQ(parseGlibc(""), GlibcVersion{});
}

TEST(GlibcVersion, IsOrderedByNumbersNotByLetters) {
    EXPECT_LT((GlibcVersion{2, 9}), (GlibcVersion{2, 36}));
}

TEST(GlibcVersion, NeededByAProgramIsOneThatRunsIt) {
    const auto needed = neededGlibc(ownProgram());
    ASSERT_THAT(needed, test::IsOk());
    const auto ours = parseGlibc(std::string("glibc ") + gnu_get_libc_version());
    EXPECT_GE(*needed, (GlibcVersion{2, 2}));
    EXPECT_LE(*needed, ours);
}

TEST(GlibcVersion, OfAScriptIsNone) {
    const test::TemporaryFolder folder;
    std::ofstream(folder.file("script")) << "#!/bin/sh\n";
    const auto needed = neededGlibc(folder.file("script"));
    ASSERT_THAT(needed, test::IsOk());
    EXPECT_EQ(*needed, GlibcVersion{});
    EXPECT_THAT(neededGlibc(folder.file("none")), test::FailsWith("cannot be read"));
}

TEST(GlibcVersion, OfAProgramThatWasCutOffIsFoundOrNoneAndNoCrash) {
    std::ostringstream whole;
    whole << std::ifstream(ownProgram(), std::ios::binary).rdbuf();
    const test::TemporaryFolder folder;
    for (std::size_t part = 0; part < 20; ++part) {
        std::ofstream(folder.file("cut"), std::ios::binary)
            << whole.str().substr(0, part * whole.str().size() / 20);
        const auto needed = neededGlibc(folder.file("cut"));
        ASSERT_THAT(needed, test::IsOk());
        EXPECT_LE(*needed, *neededGlibc(ownProgram()));
    }
}

}  // namespace
}  // namespace shardscope::launch
