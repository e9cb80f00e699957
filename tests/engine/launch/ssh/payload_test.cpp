#include "engine/launch/ssh/payload.h"

#include "engine/launch/process.h"
#include "engine/launch/ssh/child_process.h"
#include "engine/launch/ssh/content_sums.h"
#include "engine/launch/ssh/deployment.h"
#include "engine/launch/ssh/needed_libraries.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace shardscope::launch {
namespace {

using testing::ElementsAre;

std::string readAll(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

class PayloadTest : public testing::Test {
protected:
    [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(m_folder.file(name), std::ios::binary) << text;
        return m_folder.file(name);
    }
    [[nodiscard]] std::string memory() const { return m_folder.file("deep/memory"); }

    test::TemporaryFolder m_folder;
};

TEST_F(PayloadTest, SumsAreThoseOfTheContents) {
    const auto sums = contentSums({write("a", "abc"), write("b b", "")}, memory());
    ASSERT_THAT(sums, test::IsOk());
    // FIPS 180-2, appendix B.1, and the sum of nothing.
    EXPECT_THAT(*sums,
                ElementsAre("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
    EXPECT_THAT(contentSums({m_folder.file("none")}, memory()), test::FailsWith("cannot be read"));
    EXPECT_THAT(contentSums({write("c\\d", "abc")}, memory()), test::FailsWith("a backslash"));
    EXPECT_THAT(contentSums({write("c\nd", "abc")}, memory()), test::FailsWith("a line break"));
}

TEST_F(PayloadTest, SumsAreRememberedUntilAFileChanges) {
    const std::string path = write("a", "abc");
    const auto first = contentSums({path}, memory());
    ASSERT_THAT(first, test::IsOk());
    // What is remembered is what is answered.
    std::string text = readAll(memory());
    text.replace(0, 4, "0000");
    std::ofstream(memory()) << text;
    EXPECT_THAT(contentSums({path}, memory())->front(), testing::StartsWith("0000"));
    EXPECT_EQ(contentSums({path}, "")->front(), first->front());
    EXPECT_NE(contentSums({write("a", "abcd")}, memory())->front(), first->front());
    // The old one was forgotten.
    EXPECT_EQ(readAll(memory()).find("0000"), std::string::npos);
}

TEST_F(PayloadTest, IsNamedForItsContentsAlone) {
    const auto one = packageOf({{write("a", "abc"), "bin/x"}}, "");
    const auto same = packageOf({{write("b", "abc"), "bin/x"}}, "");
    const auto other = packageOf({{write("c", "abd"), "bin/x"}}, "");
    const auto moved = packageOf({{write("a", "abc"), "bin/y"}}, "");
    ASSERT_TRUE(one && same && other && moved);
    EXPECT_EQ(one->folder.size(), 16u);
    EXPECT_EQ(one->folder, same->folder);
    EXPECT_NE(one->folder, other->folder);
    EXPECT_NE(one->folder, moved->folder);
    EXPECT_EQ(one->size(), Bytes{3});
}

TEST_F(PayloadTest, OfProgramsHoldsWhatIsPutIntoThemAndNothingThatPythonMade) {
    namespace fs = std::filesystem;
    const std::string bin = m_folder.file("bin");
    fs::create_directories(bin + "/inject");
    fs::copy_file("/bin/true", bin + "/shardscope");
    fs::copy_file("/bin/true", bin + "/inject/libshardscope_inject.so");
    // In a build the modules lie behind a link.
    fs::create_directories(m_folder.file("source/shardscope/__pycache__"));
    for (const char* each :
         {"sitecustomize.py", "shardscope/__init__.py", "shardscope/__pycache__/x.pyc"})
        std::ofstream(m_folder.file("source/") + each) << "pass";
    fs::create_directory_symlink(m_folder.file("source"), bin + "/inject/python");
    const auto payload = findProgramPayload(bin);
    ASSERT_THAT(payload, test::IsOk());
    EXPECT_EQ(payload->verb, "agent");
    EXPECT_FALSE(payload->hasRank());
    std::vector<std::string> names;
    for (const PackageFile& each : payload->program.files)
        if (!each.name.starts_with("lib/")) names.push_back(each.name);
    EXPECT_THAT(names, ElementsAre("bin/shardscope", "bin/inject/libshardscope_inject.so",
                                   "bin/inject/python/shardscope/__init__.py",
                                   "bin/inject/python/sitecustomize.py"));
    fs::remove_all(bin + "/inject");
    EXPECT_THAT(findProgramPayload(bin), test::FailsWith("install Shardscope again"));
}

TEST_F(PayloadTest, ArchiveIsUnpackedByTar) {
    const std::string large(300'000, 'L');
    const auto package = packageOf({{write("a", "abc"), "bin/x"},
                                    {write("b", ""), "lib/empty"},
                                    {write("c", large), "lib/large"},
                                    {write("d", std::string(1024, 'b')), "lib/blocks"}},
                                   "");
    ASSERT_THAT(package, test::IsOk());
    TarStream stream(*package);
    std::string archive;
    for (;;) {
        const auto piece = stream.next();
        ASSERT_THAT(piece, test::IsOk());
        if (piece->empty()) break;
        archive += *piece;
    }
    EXPECT_EQ(Bytes{static_cast<std::int64_t>(archive.size())}, stream.size());
    const std::string there = m_folder.file("there");
    std::filesystem::create_directory(there);
    ASSERT_THAT(outputOf({"tar", "-xf", "-", "-C", there}, archive), test::IsOk());
    EXPECT_EQ(readAll(there + "/lib/large"), large);
    EXPECT_EQ(std::filesystem::file_size(there + "/lib/empty"), 0u);
    EXPECT_THAT(outputOf({"sh", "-c", "cd " + there + " && sha256sum -c " + kSumsFile}),
                test::IsOk());
    EXPECT_NE(std::filesystem::status(there + "/bin/x").permissions() &
                  std::filesystem::perms::owner_exec,
              std::filesystem::perms::none);
}

TEST_F(PayloadTest, ArchiveOfAFileThatShrankIsNotFinished) {
    const auto package = packageOf({{write("a", std::string(1000, 'a')), "bin/x"}}, "");
    ASSERT_THAT(package, test::IsOk());
    const std::string shorter = write("a", "a");
    TarStream stream(*package);
    Result<std::string_view> piece = stream.next();
    for (int i = 0; i < 10 && piece && !piece->empty(); ++i) piece = stream.next();
    EXPECT_THAT(piece, test::FailsWith(shorter + " changed while it was sent"));
}

TEST_F(PayloadTest, HoldsTheCudaPartOfLibTorchOnlyWhereItIsWhole) {
    const auto add = [this](const std::string& name) {
        std::filesystem::create_directories(
            std::filesystem::path(m_folder.file(name)).parent_path());
        return write(name, name);
    };
    SharedLibraries found;
    found.libTorchRoot = m_folder.path();
    found.libTorch = {add("torch/lib/libc10.so"), add("torch/lib/libtorch_cpu.so")};
    add("torch/lib/libtorch_cuda.so");
    add("torch/include/torch.h");
    add("nvidia/cudnn/lib/libcudnn_ops.so.9");
    const auto names = [&](LibTorchPart part, Payload& payload) {
        EXPECT_THAT(addLibTorch(found, part, "", payload), test::IsOk());
        std::vector<std::string> all;
        if (payload.libTorch)
            for (const PackageFile& file : payload.libTorch->files) all.push_back(file.name);
        return all;
    };
    Payload none;
    EXPECT_THAT(names(LibTorchPart::kNone, none), testing::IsEmpty());
    Payload half;
    EXPECT_THAT(names(LibTorchPart::kCuda, half),
                ElementsAre("torch/lib/libtorch_cpu.so", "torch/lib/libc10.so"));
    EXPECT_FALSE(half.libTorchCuda);
    add("nvidia/nvshmem/lib/libnvshmem_host.so.3");
    Payload whole;
    EXPECT_THAT(names(LibTorchPart::kCuda, whole),
                testing::UnorderedElementsAre("torch/lib/libtorch_cpu.so", "torch/lib/libc10.so",
                                              "torch/lib/libtorch_cuda.so",
                                              "nvidia/cudnn/lib/libcudnn_ops.so.9",
                                              "nvidia/nvshmem/lib/libnvshmem_host.so.3"));
    EXPECT_TRUE(whole.libTorchCuda);
    EXPECT_EQ(whole.libTorch->folder, half.libTorch->folder + "-cuda");
    Payload cpu;
    EXPECT_EQ(names(LibTorchPart::kCpu, cpu).size(), 2u);
}

TEST(SharedLibraries, AreThoseThatNoSystemBrings) {
    const SharedLibraries found = parseLdd(
        "\tlinux-vdso.so.1 (0x00007f64)\n"
        "\tlibfmt.so.9 => /lib/libfmt.so.9 (0x00007f64)\n"
        "\tlibtorch_cpu.so => /c/libtorch-2.11.0/torch/lib/libtorch_cpu.so (0x00007f64)\n"
        "\tlibcupti.so.13 => /c/libtorch-2.11.0/torch/lib/../../nvidia/cu13/lib/libcupti.so.13 "
        "(0x00007f64)\n"
        "\tlibfmt.so.9 => /lib/libfmt.so.9 (0x00007f64)\n"
        "\tlibstdc++.so.6 => /lib/libstdc++.so.6 (0x00007f64)\n"
        "\tlibc.so.6 => /lib/libc.so.6 (0x00007f64)\n"
        "\t/lib64/ld-linux-x86-64.so.2 (0x00007f64)\n");
    EXPECT_THAT(found.own, ElementsAre("/lib/libfmt.so.9", "/lib/libstdc++.so.6"));
    EXPECT_EQ(found.libTorchRoot, "/c/libtorch-2.11.0");
    EXPECT_THAT(found.libTorch, ElementsAre("/c/libtorch-2.11.0/torch/lib/libtorch_cpu.so",
                                            "/c/libtorch-2.11.0/nvidia/cu13/lib/libcupti.so.13"));
}

TEST(SharedLibraries, OfThisProgramAreFound) {
    const auto found = sharedLibraries({ownProgram()});
    ASSERT_THAT(found, test::IsOk());
    EXPECT_THAT(found->own, testing::Contains(testing::HasSubstr("/libfmt.so")));
    EXPECT_THAT(found->own, testing::Not(testing::Contains(testing::HasSubstr("/libc.so"))));
}

}  // namespace
}  // namespace shardscope::launch
