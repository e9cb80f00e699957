// Putting the program on a host: whole or not at all, once, and beside others.
#include "engine/launch/ssh/deployment.h"

#include "tests/engine/launch/ssh/ssh_fixture.h"
#include "tests/support/result_matchers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace shardscope::launch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class DeploymentTest : public SshTest {
protected:
    std::string sentenceFor(const Payload& what) {
        const auto failed = connect(what).failure;
        EXPECT_TRUE(failed.has_value());
        return failed ? failed->message : "";
    }
    /// A payload of its own whose program is this script.
    [[nodiscard]] Payload scripted(const std::string& script) const {
        const std::string path = m_files.file("script");
        std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
        Payload made;
        auto program = packageOf({{path, "bin/shardscope"}}, "");
        EXPECT_TRUE(program.has_value());
        if (program) made.program = *program;
        return made;
    }
    /// Logins see the folder as a small file system of its own with these options.
    void mountThere(const std::string& with) const {
        m_server->setLogin(fmt::format(
            "exec unshare -m /bin/sh -c 'mkdir -p {0} && mount -t tmpfs -o {1} none {0} && {2} "
            "exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"'",
            folder(), with, ""));
    }
    static bool canMount() { return outputOf({"unshare", "-m", "true"}).has_value(); }
};

TEST_F(DeploymentTest, LeavesTheFilesReadableByTheUserOnly) {
    const Payload what = payload();
    ASSERT_TRUE(connect(what).agent.has_value());
    EXPECT_THAT(packagesThere(), ElementsAre(what.program.folder));
    const std::string program = folder() + "/shardscope/" + what.program.folder;
    for (const char* each : {"", "/bin", "/bin/shardscope", "/lib/libnothing.so.1"}) {
        const auto bits = std::filesystem::status(program + each).permissions();
        EXPECT_EQ(bits & (std::filesystem::perms::group_all | std::filesystem::perms::others_all),
                  std::filesystem::perms::none)
            << each;
    }
}

TEST_F(DeploymentTest, GivesTheAgentItsLibraries) {
    const Payload what = payload();
    HostConnection connection = connect(what);
    ASSERT_TRUE(connection.agent.has_value());
    EXPECT_EQ(helloOf(*connection.agent).host.name,
              folder() + "/shardscope/" + what.program.folder + "/lib");
}

TEST_F(DeploymentTest, IsNotDoneTwice) {
    ASSERT_TRUE(connect().agent.has_value());
    m_observer.notes.clear();
    EXPECT_TRUE(connect().agent.has_value());
    EXPECT_FALSE(m_observer.saw(0, ConnectState::kSending));
}

/// A way in which files of a program's folder change there; `path` is that folder.
struct Damage {
    const char* name;
    void (*inflict)(const std::string& path);
};
std::ostream& operator<<(std::ostream& out, const Damage& damage) {
    return out << damage.name;
}

class DamagedDeployment : public DeploymentTest, public testing::WithParamInterface<Damage> {};

TEST_P(DamagedDeployment, IsSentAgain) {
    const Payload what = payload();
    ASSERT_TRUE(connect(what).agent.has_value());
    const std::string program = folder() + "/shardscope/" + what.program.folder;
    GetParam().inflict(program);
    const auto looked = lookAtHosts(nodes(1), options(), what, m_observer);
    EXPECT_FALSE(looked.front().look.programThere);
    EXPECT_TRUE(looked.front().look.programDamaged);
    m_observer.notes.clear();
    const HostConnection again = connect(what);
    EXPECT_TRUE(again.agent.has_value()) << again.failure->message;
    EXPECT_TRUE(m_observer.saw(0, ConnectState::kSending));
    // The other one stays for a day: a run may be using it.
    EXPECT_THAT(packagesThere(),
                UnorderedElementsAre(
                    what.program.folder,
                    testing::MatchesRegex("\\.new-" + what.program.folder + "-.*\\.damaged")));
    m_observer.notes.clear();
    EXPECT_TRUE(connect(what).agent.has_value());
    EXPECT_FALSE(m_observer.saw(0, ConnectState::kSending)) << "it is whole again";
}

constexpr const char* kLibrary = "/lib/libnothing.so.1";

INSTANTIATE_TEST_SUITE_P(
    All, DamagedDeployment,
    testing::Values(
        Damage{"AByteChanged",
               [](const std::string& path) {
                   std::fstream file(path + kLibrary, std::ios::in | std::ios::out);
                   file.seekg(5000);
                   const char old = static_cast<char>(file.get());
                   file.seekp(5000);
                   file.put(static_cast<char>(old ^ 1));
               }},
        Damage{
            "CutOff",
            [](const std::string& path) { std::filesystem::resize_file(path + kLibrary, 5000); }},
        Damage{"AFileMissing",
               [](const std::string& path) { std::filesystem::remove(path + "/bin/shardscope"); }},
        Damage{"AFileAdded",
               [](const std::string& path) {
                   std::ofstream(path + "/lib/libc.so.6") << "not of ours";
               }},
        Damage{"TheSumsChangedToo",
               [](const std::string& path) {
                   std::ofstream(path + kLibrary) << "evil";
                   EXPECT_TRUE(outputOf(
                       {"sh", "-c", "cd '" + path + "' && sha256sum bin/* lib/* >SHA256SUMS"}));
               }},
        Damage{"NotExecutable",
               [](const std::string& path) {
                   std::filesystem::permissions(path + "/bin/shardscope",
                                                std::filesystem::perms::owner_read);
               }},
        Damage{"ALinkInPlaceOfAFile",
               [](const std::string& path) {
                   const std::string file = path + kLibrary;
                   std::filesystem::rename(file, path + "/.elsewhere");
                   std::filesystem::create_symlink("../.elsewhere", file);
               }}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST_F(DeploymentTest, IsNotStartedWhereADamagedOneStays) {
    const Payload what = payload();
    ASSERT_TRUE(connect(what).agent.has_value());
    std::filesystem::resize_file(folder() + "/shardscope/" + what.program.folder + kLibrary, 5000);
    std::filesystem::create_directory(m_files.file("bin"));
    const std::string mv = m_files.file("bin/mv");
    std::ofstream(mv) << "#!/bin/sh\ncase $2 in *.damaged) exit 1;; esac\nexec "
                      << findProgram("mv") << " \"$@\"\n";
    std::filesystem::permissions(mv, std::filesystem::perms::owner_all);
    m_server->setLogin("PATH=" + m_files.file("bin") + ":$PATH; eval \"$SSH_ORIGINAL_COMMAND\"");
    EXPECT_THAT(sentenceFor(what), HasSubstr("could not be stored in " + folder()));
}

TEST_F(DeploymentTest, OfManyHostsMendsADamagedOneOnce) {
    const Payload what = payload(3'000'000);
    ASSERT_TRUE(connect(what).agent.has_value());
    const std::string program = folder() + "/shardscope/" + what.program.folder;
    std::filesystem::resize_file(program + kLibrary, 5000);
    auto found = connectHosts(nodes(6), options(), what, m_observer);
    for (HostConnection& each : found) ASSERT_TRUE(each.agent.has_value()) << each.failure->message;
    EXPECT_THAT(outputOf({"sh", "-c", "cd " + program + " && sha256sum -c SHA256SUMS"}),
                test::IsOk());
}

TEST_F(DeploymentTest, TellsHowFarItIs) {
    const Payload what = payload(5'000'000);
    ASSERT_TRUE(connect(what).agent.has_value());
    Bytes last{};
    for (const auto& note : m_observer.notes) {
        if (note.progress.state != ConnectState::kSending) continue;
        EXPECT_GE(note.progress.sent, last);
        EXPECT_LE(note.progress.sent, note.progress.all);
        EXPECT_GT(note.progress.all, what.program.size());
        last = note.progress.sent;
    }
    EXPECT_GT(last, Bytes{});
}

TEST_F(DeploymentTest, OfManyHostsToOneFolderAtOnceLeavesOne) {
    const Payload what = payload(3'000'000);
    auto found = connectHosts(nodes(6), options(), what, m_observer);
    for (HostConnection& each : found) ASSERT_TRUE(each.agent.has_value()) << each.failure->message;
    EXPECT_THAT(packagesThere(), ElementsAre(what.program.folder));
    const std::string program = folder() + "/shardscope/" + what.program.folder;
    EXPECT_THAT(outputOf({"sh", "-c", "cd " + program + " && sha256sum -c SHA256SUMS"}),
                test::IsOk());
    std::vector<std::string> inside;
    for (const auto& each : std::filesystem::directory_iterator(program))
        inside.push_back(each.path().filename().string());
    EXPECT_THAT(inside, UnorderedElementsAre("bin", "lib", "SHA256SUMS", ".used"));
}

TEST_F(DeploymentTest, ThatIsGivenUpLeavesNothing) {
    const Payload what = payload(40'000'000);
    m_observer.wantsEnd = [this] {
        return !m_observer.notes.empty() && m_observer.notes.back().progress.sent > Bytes{1000};
    };
    const auto failed = connect(what).failure;
    ASSERT_TRUE(failed.has_value());
    EXPECT_EQ(failed->code, ErrorCode::kInterrupted);
    for (int turn = 0; turn < 1000 && !packagesThere().empty(); ++turn) ::usleep(10'000);
    EXPECT_THAT(packagesThere(), IsEmpty());
}

TEST_F(DeploymentTest, ThatFillsTheDiskIsASentenceAndLeavesNothing) {
    // Files there may hold a megabyte: as a full disk, for whoever writes.
    m_server->setLogin("ulimit -f 1000; eval \"$SSH_ORIGINAL_COMMAND\"");
    EXPECT_THAT(sentenceFor(payload(4'000'000)),
                AllOf(HasSubstr("could not be stored in " + folder()), HasSubstr("make room")));
    EXPECT_THAT(packagesThere(), IsEmpty());
}

TEST_F(DeploymentTest, WhoseFilesAreNotWhatWasSentIsASentenceAndLeavesNothing) {
    std::filesystem::create_directory(m_files.file("bin"));
    const std::string tar = m_files.file("bin/tar");
    std::ofstream(tar) << "#!/bin/sh\n"
                       << findProgram("tar") << " \"$@\" && echo x >>lib/libnothing.so.1\n";
    std::filesystem::permissions(tar, std::filesystem::perms::owner_all);
    m_server->setLogin("PATH=" + m_files.file("bin") + ":$PATH; eval \"$SSH_ORIGINAL_COMMAND\"");
    EXPECT_THAT(sentenceFor(payload()), HasSubstr("is not what was sent, and was removed"));
    EXPECT_THAT(packagesThere(), IsEmpty());
}

TEST_F(DeploymentTest, ToADiskThatIsTooSmallIsNotBegun) {
    if (!canMount()) GTEST_SKIP() << "no mount namespace may be made here";
    mountThere("size=1m");
    EXPECT_THAT(sentenceFor(payload(4'000'000)), HasSubstr("MB left where " + folder() + " is"));
    EXPECT_FALSE(m_observer.saw(0, ConnectState::kSending));
}

TEST_F(DeploymentTest, ToAFolderThatMayNotBeExecutedIsASentence) {
    if (!canMount()) GTEST_SKIP() << "no mount namespace may be made here";
    mountThere("noexec");
    EXPECT_THAT(sentenceFor(payload()),
                AllOf(HasSubstr(folder() + " on node1 may not be executed"), HasSubstr("noexec"),
                      HasSubstr("name another folder")));
}

TEST_F(DeploymentTest, ToAFolderThatMayNotBeWrittenIsASentence) {
    if (!canMount()) GTEST_SKIP() << "no mount namespace may be made here";
    mountThere("ro");
    EXPECT_THAT(sentenceFor(payload()), AllOf(HasSubstr("nothing can be put into " + folder()),
                                              HasSubstr("name another folder")));
}

TEST_F(DeploymentTest, OfAProgramThatDoesNotRunThereIsASentenceAndLeavesNothing) {
    EXPECT_THAT(sentenceFor(scripted("echo 'no libfoo here' >&2; exit 1")),
                AllOf(HasSubstr("does not run on node1"), HasSubstr("no libfoo here")));
    EXPECT_THAT(packagesThere(), IsEmpty());
}

TEST_F(DeploymentTest, KeepsThreeVersionsAndAllThatWereUsedWithinADay) {
    const std::string place = folder() + "/shardscope/";
    const auto age = [&](const std::string& name, int hours) {
        std::filesystem::create_directories(place + name);
        std::ofstream(place + name + "/.used") << "";
        const auto when = std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours);
        std::filesystem::last_write_time(place + name + "/.used", when);
        std::filesystem::last_write_time(place + name, when);
    };
    for (int i = 0; i < 4; ++i) age(fmt::format("000000000000000{}", i), 2 + i);
    for (int i = 4; i < 7; ++i) age(fmt::format("000000000000000{}", i), 60 + i);
    age(".new-cut-off", 60);
    age(".new-going-on", 1);
    age("libtorch-1.0", 600);
    const Payload what = payload();
    ASSERT_TRUE(connect(what).agent.has_value());
    EXPECT_THAT(packagesThere(),
                UnorderedElementsAre(what.program.folder, "0000000000000000", "0000000000000001",
                                     "0000000000000002", "0000000000000003", ".new-going-on",
                                     "libtorch-1.0"));
}

TEST_F(DeploymentTest, OldVersionsStayWhileThereAreFew) {
    const std::string old = folder() + "/shardscope/0000000000000001";
    std::filesystem::create_directories(old);
    std::ofstream(old + "/.used") << "";
    std::filesystem::last_write_time(
        old + "/.used", std::filesystem::file_time_type::clock::now() - std::chrono::hours(1000));
    ASSERT_TRUE(connect().agent.has_value());
    EXPECT_TRUE(std::filesystem::exists(old));
}

/// What is trained on, sent along.
class DataDeployment : public DeploymentTest {
protected:
    Payload withData() {
        std::ofstream(m_files.file("text")) << "to be, or not to be";
        std::ofstream(m_files.file("more")) << "that is the question";
        Payload made = payload();
        auto data = packageOf(
            {{m_files.file("text"), "data/text"}, {m_files.file("more"), "data/b/more"}}, "");
        EXPECT_TRUE(data.has_value());
        data->folder = "sent-" + data->folder;
        made.data = *data;
        return made;
    }
    [[nodiscard]] std::string place(const Payload& what, const std::string& more = {}) const {
        return folder() + "/shardscope/" + what.data->folder + more;
    }
    [[nodiscard]] static std::string textOf(const std::string& path) {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    /// Whether it was sent, and it is what it should be now.
    bool isSentTo(const Payload& what) {
        m_observer.notes.clear();
        const HostConnection connection = connect(what);
        EXPECT_TRUE(connection.agent.has_value()) << connection.failure->message;
        EXPECT_EQ(textOf(place(what, "/data/text")), "to be, or not to be");
        EXPECT_EQ(textOf(place(what, "/data/b/more")), "that is the question");
        return m_observer.saw(0, ConnectState::kSending);
    }
};

TEST_F(DataDeployment, IsDoneOnce) {
    const Payload what = withData();
    EXPECT_TRUE(isSentTo(what));
    EXPECT_FALSE(isSentTo(what));
}

TEST_F(DataDeployment, IsDoneAgainWhereSomebodyChangedIt) {
    const Payload what = withData();
    EXPECT_TRUE(isSentTo(what));
    std::ofstream(place(what, "/data/text")) << "to be, and not to be";
    std::filesystem::last_write_time(place(what, "/data/text"), std::filesystem::file_time_type{});
    EXPECT_TRUE(isSentTo(what));
    EXPECT_EQ(textOf(place(what, ".changed/data/text")), "to be, and not to be");
    EXPECT_FALSE(isSentTo(what));
    std::ofstream(place(what, "/data/another")) << "whether 'tis nobler";
    EXPECT_TRUE(isSentTo(what));
    EXPECT_FALSE(std::filesystem::exists(place(what, "/data/another")));
    std::filesystem::remove(place(what, "/data/b/more"));
    EXPECT_TRUE(isSentTo(what));
    std::filesystem::remove(place(what, "/SHA256SUMS"));
    EXPECT_TRUE(isSentTo(what));
    EXPECT_THAT(packagesThere(), UnorderedElementsAre(what.program.folder, what.data->folder,
                                                      what.data->folder + ".changed"));
}

TEST_F(DataDeployment, IsNotDoneAgainWhereAFileWasOnlyTouched) {
    const Payload what = withData();
    EXPECT_TRUE(isSentTo(what));
    std::filesystem::last_write_time(place(what, "/data/text"), std::filesystem::file_time_type{});
    EXPECT_FALSE(isSentTo(what));
    EXPECT_FALSE(isSentTo(what));
    EXPECT_THAT(packagesThere(), UnorderedElementsAre(what.program.folder, what.data->folder));
}

/// With a rank that can only be loaded where LibTorch is.
class RankDeployment : public DeploymentTest {
protected:
    Payload withRank() {
        const std::string rank = m_files.file("rank");
        std::ofstream(rank) << "#!/bin/sh\necho tried >>" << m_files.file("tried")
                            << "\ncase $LD_LIBRARY_PATH in */torch/lib*) exit 2;; esac\n"
                               "echo 'libc10.so: cannot open' >&2; exit 127\n";
        const Payload plain = payload();
        PackageNames names = {{rank, "bin/shardscope-rank"}};
        for (const PackageFile& file : plain.program.files)
            names.insert(names.end() - 1, {file.path, file.name});
        Payload made;
        auto program = packageOf(names, "");
        EXPECT_TRUE(program.has_value());
        if (program) made.program = *program;
        return made;
    }
    [[nodiscard]] Package libTorch() const {
        const std::string library = m_files.file("torch");
        std::ofstream(library) << "LibTorch";
        auto made = packageOf({{library, "torch/lib/libtorch_cpu.so"}}, "");
        EXPECT_TRUE(made.has_value());
        made->folder = std::string("libtorch-") + libTorchVersion();
        return *made;
    }
    [[nodiscard]] long tries() const {
        std::ifstream file(m_files.file("tried"));
        return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
    }
};

TEST_F(RankDeployment, WithoutLibTorchNamesTheWaysToGetIt) {
    m_server->setLogin("PATH=/usr/bin:/bin; eval \"$SSH_ORIGINAL_COMMAND\"");
    EXPECT_THAT(sentenceFor(withRank()),
                AllOf(HasSubstr("node1 has no LibTorch"), HasSubstr("fetch-libtorch")));
}

TEST_F(RankDeployment, SendsLibTorchOnce) {
    m_server->setLogin("PATH=/usr/bin:/bin; eval \"$SSH_ORIGINAL_COMMAND\"");
    Payload what = withRank();
    what.libTorch = libTorch();
    SshOptions sending = options();
    sending.deployLibTorch = true;
    const auto first = connectHosts(nodes(1), sending, what, m_observer);
    ASSERT_TRUE(first.front().agent.has_value()) << first.front().failure->message;
    EXPECT_EQ(first.front().look.libTorch,
              folder() + "/shardscope/" + what.libTorch->folder + "/torch/lib");
    m_observer.notes.clear();
    EXPECT_TRUE(connect(what).agent.has_value());
    EXPECT_FALSE(m_observer.saw(0, ConnectState::kSending));
    EXPECT_EQ(tries(), 1);  // that ranks can be loaded was remembered
}

TEST_F(RankDeployment, SaysThatARankCannotBeLoaded) {
    // What is found is not what is needed: another LibTorch in the place of ours.
    const std::string python = m_files.file("bin/python3");
    std::filesystem::create_directory(m_files.file("bin"));
    std::ofstream(python) << "#!/bin/sh\necho torch_lib=/nowhere\n";
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    m_server->setLogin("PATH=" + m_files.file("bin") +
                       ":/usr/bin:/bin; eval \"$SSH_ORIGINAL_COMMAND\"");
    EXPECT_THAT(sentenceFor(withRank()),
                AllOf(HasSubstr("ranks cannot be loaded"), HasSubstr("libc10.so: cannot open")));
}

}  // namespace
}  // namespace shardscope::launch
