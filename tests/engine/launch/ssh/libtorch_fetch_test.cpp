// LibTorch fetched on a host by packaging/fetch-libtorch itself, from small wheels in a folder that
// pip's own configuration there names: no network.
#include "engine/launch/ssh/libtorch_fetch.h"

#include "engine/launch/ssh/host_look.h"
#include "tests/engine/launch/ssh/ssh_fixture.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace shardscope::launch {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Writes wheels with these files, and prints the sum of each: name version file...
constexpr const char* kMakeWheel = R"(import hashlib, sys, zipfile
folder, name, version, *files = sys.argv[1:]
stem = name.replace('-', '_') + '-' + version
path = f'{folder}/{stem}-py3-none-any.whl'
with zipfile.ZipFile(path, 'w') as wheel:
    for file in files: wheel.writestr(file, file)
    info = stem + '.dist-info/'
    wheel.writestr(info + 'METADATA', f'Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    wheel.writestr(info + 'RECORD', '')
print(hashlib.sha256(open(path, 'rb').read()).hexdigest(), end='')
)";

class FetchingLibTorch : public SshTest {
protected:
    void SetUp() override {
        SshTest::SetUp();
        if (IsSkipped()) return;
        const auto pip = outputOf({"python3", "-m", "pip", "--version"});
        if (!pip || findProgram("unzip").empty()) GTEST_SKIP() << "there is no pip, or no unzip";
        for (const char* each : {"wheels", "bin"}) fs::create_directory(m_files.file(each));
        useIndex("PIP_NO_INDEX=1 PIP_FIND_LINKS=" + m_files.file("wheels"));
    }

    /// pip's configuration there; programs in bin/ come before all others.
    void useIndex(const std::string& variables, const std::string& path = "$PATH") const {
        m_server->setLogin(
            fmt::format("export PIP_CONFIG_FILE=/dev/null {} PATH={}:{}; exec /bin/sh -c "
                        "\"$SSH_ORIGINAL_COMMAND\"",
                        variables, m_files.file("bin"), path));
    }
    void addProgram(const std::string& name, const std::string& script) const {
        const std::string path = m_files.file("bin/" + name);
        std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
        fs::permissions(path, fs::perms::owner_all);
    }
    /// A python3 whose pip runs this before it downloads torch.
    void slowPip(const std::string& script) const {
        addProgram("python3",
                   fmt::format("case \"$*\" in *download*torch==*) {};; esac\nexec {} \"$@\"",
                               script, findProgram("python3")));
    }

    [[nodiscard]] std::string wheel(const std::string& name, const std::string& version,
                                    const std::vector<std::string>& files) const {
        std::vector<std::string> words = {"python3", "-c",   kMakeWheel, m_files.file("wheels"),
                                          name,      version};
        words.insert(words.end(), files.begin(), files.end());
        return outputOf(words).value_or("no wheel");
    }
    [[nodiscard]] std::string list() const {
        const std::string version = libTorchVersion();
        const std::string torch =
            wheel("torch", version, {"torch/lib/libtorch_cpu.so", "torch/lib/libtorch_cuda.so"});
        return fmt::format(
            "LIBTORCH_VERSION={0}\nLIBTORCH_PYTHON=3.11\nLIBTORCH_PLATFORMS=any\n"
            "LIBTORCH_DISK_MB=1\nLIBTORCH_CUDA_DISK_MB=2\nLIBTORCH_NCCL_VERSION=1\n"
            "LIBTORCH_WHEELS=\"\nsmall-part==1 {1} nvidia/small.h\n"
            "torch=={0} {2} torch/lib/libtorch_cpu.so\"\n"
            "LIBTORCH_LINK_WHEELS=\"\ntorch=={0} {2} torch/lib/libtorch_cuda.so\"\n"
            "LIBTORCH_NCCL_WHEELS=\nLIBTORCH_RUN_WHEELS=\n",
            version, wheel("small-part", "1", {"nvidia/small.h"}), torch);
    }
    /// With a rank that needs LibTorch, and what fetches it.
    [[nodiscard]] Payload fetching() {
        const std::string rank = m_files.file("rank");
        std::ofstream(rank) << "#!/bin/sh\nexit 2\n";
        std::ofstream(m_files.file("list")) << list();
        PackageNames names = {{rank, "bin/shardscope-rank"},
                              {SHARDSCOPE_FETCH_LIBTORCH, kFetchScript},
                              {m_files.file("list"), kFetchList}};
        for (const PackageFile& file : payload().program.files)
            names.insert(names.end() - 1, {file.path, file.name});
        Payload made;
        auto program = packageOf(names, "");
        EXPECT_TRUE(program.has_value());
        if (program) made.program = *program;
        made.fetch = fetchRoom(m_files.file("list"));
        return made;
    }
    [[nodiscard]] std::string torchThere() const {
        return folder() + "/shardscope/libtorch-" + libTorchVersion();
    }
    /// Folders of a fetch that is going on or was left.
    [[nodiscard]] std::vector<std::string> unfinished() const {
        std::vector<std::string> names = packagesThere();
        std::erase_if(names, [](const auto& name) { return name.find("fetch.") == name.npos; });
        return names;
    }
    [[nodiscard]] bool eventually(const std::function<bool()>& holds) const {
        for (int turn = 0; turn < 3000 && !holds(); ++turn) ::poll(nullptr, 0, 10);
        return holds();
    }
    [[nodiscard]] bool told(const std::string& words) const {
        return std::any_of(m_observer.notes.begin(), m_observer.notes.end(), [&](const auto& note) {
            return note.progress.detail.find(words) != std::string::npos;
        });
    }
};

TEST_F(FetchingLibTorch, IsDoneOnceWhereItLacks) {
    const Payload what = fetching();
    const HostConnection connection = connect(what);
    ASSERT_TRUE(connection.agent.has_value()) << connection.failure->message;
    EXPECT_EQ(connection.look.libTorch, torchThere() + "/torch/lib");
    EXPECT_FALSE(connection.look.torchCuda);
    EXPECT_TRUE(m_observer.saw(0, ConnectState::kFetching));
    EXPECT_THAT(unfinished(), IsEmpty());
    EXPECT_FALSE(fs::exists(folder() + "/pip")) << "pip's second copy";
    m_observer.notes.clear();
    EXPECT_TRUE(connect(what).agent.has_value());
    EXPECT_FALSE(m_observer.saw(0, ConnectState::kFetching));
}

TEST_F(FetchingLibTorch, BringsTheCudaPartWhereThereAreGpusForRanksOnThem) {
    addProgram("nvidia-smi", "echo 'NVIDIA H100, 550.54.15'");
    const Payload what = fetching();
    EXPECT_FALSE(connect(what).look.torchCuda);
    SshOptions onGpus = options();
    onGpus.wantsGpus = true;
    const auto found = connectHosts(nodes(1), onGpus, what, m_observer);
    ASSERT_TRUE(found.front().agent.has_value()) << found.front().failure->message;
    EXPECT_TRUE(found.front().look.torchCuda);
    EXPECT_TRUE(fs::exists(torchThere() + "/torch/lib/libtorch_cuda.so"));
}

TEST_F(FetchingLibTorch, IsNotBegunWhereTheIndexIsNotReached) {
    useIndex("PIP_INDEX_URL=http://127.0.0.1:9/simple");
    const auto failed = connect(fetching()).failure;
    ASSERT_TRUE(failed.has_value());
    EXPECT_THAT(failed->message,
                AllOf(HasSubstr("node1 has no LibTorch"),
                      HasSubstr("it cannot be fetched there: pip "
                                "does not get small-part==1"),
                      HasSubstr("Connection refused"), HasSubstr("packaging/fetch-libtorch"),
                      HasSubstr("--deploy-libtorch")));
    EXPECT_THAT(unfinished(), IsEmpty());
    EXPECT_FALSE(fs::exists(torchThere()));
}

TEST_F(FetchingLibTorch, WithoutAProgramItNeedsIsASentenceBeforeAnythingIsSent) {
    for (const char* each :
         {"sh", "bash", "python3", "tar", "sha256sum", "mktemp", "mkdir", "rmdir", "dirname",
          "date", "uname", "head", "sed", "tail", "df", "find"})
        fs::create_symlink(findProgram(each), m_files.file("bin/") + each);
    useIndex("", "");
    const auto failed = connect(fetching()).failure;
    ASSERT_TRUE(failed.has_value());
    EXPECT_THAT(failed->message, HasSubstr("it cannot be fetched there: there is no unzip"));
    EXPECT_FALSE(m_observer.saw(0, ConnectState::kSending));
}

TEST_F(FetchingLibTorch, OfADownloadThatFailsIsItsLastWords) {
    slowPip("exit 3");
    const auto failed = connect(fetching()).failure;
    ASSERT_TRUE(failed.has_value());
    EXPECT_THAT(failed->message, HasSubstr("fetching it there failed: torch==2.11.0 could not be "
                                           "downloaded"));
    EXPECT_THAT(unfinished(), IsEmpty());
}

TEST_F(FetchingLibTorch, TellsThatItGoesOnWhileADownloadIsSilent) {
    const std::string told = m_files.file("told");
    slowPip("until [ -e " + told + " ]; do sleep 0.1; done");
    m_observer.wantsEnd = [&] {
        const auto& last = m_observer.notes.back().progress;
        if (last.state == ConnectState::kFetching && last.sent > Bytes{}) std::ofstream(told) << "";
        return false;
    };
    m_observer.notes.push_back({0, {}});
    const HostConnection connection = connect(fetching());
    EXPECT_TRUE(connection.agent.has_value()) << connection.failure->message;
    EXPECT_TRUE(this->told("LibTorch: downloading torch==2.11.0"));
    EXPECT_TRUE(this->told("LibTorch: unpacking torch/lib/libtorch_cpu.so"));
}

TEST_F(FetchingLibTorch, EndsWithTheRecorderAndLeavesNothingHalfThere) {
    const std::string note = m_files.file("pid");
    slowPip("echo $$ >" + note + ".new; mv " + note + ".new " + note + "; exec sleep 600");
    m_observer.wantsEnd = [&] { return fs::exists(note); };
    const Payload what = fetching();
    EXPECT_TRUE(connect(what).failure.has_value());
    std::int64_t pid = 0;
    std::ifstream(note) >> pid;
    EXPECT_TRUE(isGone(pid));
    EXPECT_TRUE(eventually([this] { return unfinished().empty(); }));
    EXPECT_FALSE(fs::exists(torchThere() + "/torch/lib/libtorch_cpu.so"));
    // What was begun is taken up.
    slowPip(":");
    m_observer.wantsEnd = {};
    EXPECT_TRUE(connect(what).agent.has_value());
}

TEST_F(FetchingLibTorch, OfSeveralHostsIntoOneFolderIsDoneByOne) {
    auto found = connectHosts(nodes(3), options(), fetching(), m_observer);
    for (HostConnection& each : found) ASSERT_TRUE(each.agent.has_value()) << each.failure->message;
    EXPECT_THAT(unfinished(), IsEmpty());
}

TEST_F(FetchingLibTorch, IsLeftAloneByWhoeverOnlyLooks) {
    const auto found = lookAtHosts(nodes(1), options(), fetching(), m_observer);
    EXPECT_THAT(found.front().look.fetchLacks, IsEmpty());
    EXPECT_FALSE(fs::exists(folder()));
}

}  // namespace
}  // namespace shardscope::launch
