// `shardscope record --resume` before any rank starts.
#include "app/cli/record/record_modes.h"
#include "engine/checkpoint/checkpoint.h"
#include "tests/app/cli/program.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <sys/inotify.h>

#include <array>
#include <fstream>

namespace shardscope::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// How often a file is opened for reading from now on.
class Openings {
public:
    explicit Openings(const std::string& file) : m_inotify(::inotify_init1(IN_NONBLOCK)) {
        // With the closing between them two openings are never told as one.
        if (::inotify_add_watch(m_inotify.get(), file.c_str(), IN_OPEN | IN_CLOSE_NOWRITE) < 0)
            ADD_FAILURE() << "cannot watch " << file;
    }
    int count() {
        alignas(inotify_event) std::array<std::byte, 4096> buffer{};
        int opened = 0;
        for (;;) {
            const ssize_t bytes = ::read(m_inotify.get(), buffer.data(), buffer.size());
            if (bytes <= 0) return opened;
            for (ssize_t at = 0; at < bytes;) {
                const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
                opened += (event->mask & IN_OPEN) != 0 ? 1 : 0;
                at += static_cast<ssize_t>(sizeof *event + event->len);
            }
        }
    }

private:
    FileDescriptor m_inotify;
};

class Resume : public CliTest {
protected:
    Resume() {
        run::RunConfig config;
        config.seed = 77;
        m_checkpoint = written("ckpt", config);
    }
    /// Its checkpoint after three steps.
    [[nodiscard]] std::string written(const std::string& name, const run::RunConfig& config) const {
        checkpoint::Manifest manifest;
        manifest.nextStep = 3;
        manifest.config = config;
        auto partial = checkpoint::prepare(path(name), 3);
        EXPECT_TRUE(partial);
        EXPECT_TRUE(checkpoint::writeRank(path(name), 3, 0, {}));
        auto whole = checkpoint::commit(std::move(*partial), manifest, 1);
        EXPECT_TRUE(whole) << whole.error().message;
        return *whole;
    }
    [[nodiscard]] std::string runFile(const std::string& text) const {
        std::ofstream(path("run.toml")) << text;
        return path("run.toml");
    }

    std::string m_checkpoint;
};

TEST_F(Resume, TheCheckpointIsOpenedOnceAndItsRunGoesOn) {
    Openings openings(m_checkpoint + "/manifest.json");
    const auto program = startRecord({"--resume", path("ckpt")});
    EXPECT_EQ(program->wait(), 0) << program->err();
    EXPECT_EQ(openings.count(), 1);
    EXPECT_THAT(recorded().run.configJson,
                AllOf(HasSubstr("77"), HasSubstr(m_checkpoint), HasSubstr("\"steps\":5")));
}

TEST_F(Resume, ARunFileMayNameTheCheckpoint) {
    Openings openings(m_checkpoint + "/manifest.json");
    const auto program = startRecord({runFile("resume = \"" + path("ckpt") + "\"\n")});
    EXPECT_EQ(program->wait(), 0) << program->err();
    EXPECT_EQ(openings.count(), 1);
    EXPECT_THAT(recorded().run.configJson, HasSubstr(m_checkpoint));
}

TEST_F(Resume, TheFlagsCheckpointCountsNotTheRunFiles) {
    const auto program = startRecord({runFile("resume = \"nowhere\"\n"), "--resume", path("ckpt")});
    EXPECT_EQ(program->wait(), 0) << program->err();
    EXPECT_THAT(recorded().run.configJson, HasSubstr(m_checkpoint));
}

TEST_F(Resume, ACheckpointNamesNoProgram) {
    run::RunConfig config;
    config.hosts = "localhost slots=1; x slots=1";
    config.ranks = 2;
    config.strategy = run::Strategy::kDdpBucket;
    config.sshCommand = "sh -c 'touch " + path("PWNED") + "'";
    const std::string evil = written("evil", config);
    const auto refused = startRecord({"--resume", evil});
    EXPECT_EQ(refused->wait(), 2);
    EXPECT_THAT(refused->err(),
                AllOf(HasSubstr(evil + ": ssh_command runs a program (sh -c 'touch "),
                      HasSubstr(", and a checkpoint may only name one"),
                      HasSubstr("add --allow-commands")));
    EXPECT_FALSE(std::filesystem::exists(path("PWNED")));
    const auto own = startRecord({"--resume", evil, "--ssh-command", "false"});
    EXPECT_EQ(own->wait(), 4) << own->err();
    EXPECT_FALSE(std::filesystem::exists(path("PWNED")));
    const auto allowed = startRecord({"--resume", evil, "--allow-commands"});
    EXPECT_EQ(allowed->wait(), 4) << allowed->err();
    EXPECT_TRUE(std::filesystem::exists(path("PWNED")));
}

TEST_F(Resume, ACheckpointNamesNoLibrary) {
    run::RunConfig config;
    config.hosts = "localhost slots=1 folder=/evil";
    const auto folder = startRecord({"--resume", written("folder", config), "--dry-run"});
    EXPECT_EQ(folder->wait(), 2);
    EXPECT_THAT(folder->err(), HasSubstr("folder of host localhost holds the programs"));
    config.hosts = "localhost slots=1 NCCL_NET_PLUGIN=evil.so";
    const auto text = startRecord({"--resume", written("text", config), "--dry-run"});
    EXPECT_EQ(text->wait(), 2);
    EXPECT_THAT(text->err(), HasSubstr("NCCL_NET_PLUGIN of host localhost"));
    std::ofstream(path("hosts")) << config.hosts << '\n';
    config.hosts = path("hosts");
    const auto file = startRecord({"--resume", written("file", config), "--dry-run"});
    EXPECT_EQ(file->wait(), 2);
    EXPECT_THAT(file->err(), HasSubstr("NCCL_NET_PLUGIN of host localhost"));
}

TEST_F(Resume, AnotherModelOrNoStepLeftIsUsage) {
    const auto other = startRecord({"--resume", path("ckpt"), "--hidden", "192"});
    EXPECT_EQ(other->wait(), 2);
    EXPECT_THAT(other->err(), HasSubstr("the checkpoint is of another model: hidden 384 there"));
    const auto done = startRecord({"--resume", path("ckpt"), "--steps", "3"});
    EXPECT_EQ(done->wait(), 2);
    EXPECT_THAT(done->err(), HasSubstr("has done all of its 3 steps; give more with --steps"));
    const auto both = startRecord({"--resume", path("ckpt"), "--weights", "w.safetensors"});
    EXPECT_EQ(both->wait(), 2);
    EXPECT_THAT(both->err(), HasSubstr("--resume brings its own weights"));
}

using testing::EndsWith;

class RunRestart : public testing::Test {
protected:
    RunRestart() {
        m_config.checkpoint = m_folder.file("checkpoints");
        m_config.output = m_folder.file("run.sscope");
    }
    void hosts(const std::string& list, std::int32_t ranks) {
        m_config.hosts = list;
        m_config.ranks = ranks;
        ASSERT_THAT(run::validate(m_config), test::IsOk());
    }
    run::RunConfig without(std::int32_t host) {
        const auto next = withoutHost(m_config, host);
        EXPECT_THAT(next, test::IsOk());
        return next.value_or(run::RunConfig());
    }
    test::TemporaryFolder m_folder;
    run::RunConfig m_config;
};

TEST_F(RunRestart, TakesTheOtherHostsAndTheirRanks) {
    hosts("node-a,node-b,node-c", 6);
    const run::RunConfig next = without(1);
    EXPECT_EQ(next.ranks, 4);
    EXPECT_EQ(next.hosts, "node-a; node-c");
    EXPECT_EQ(next.resume, "");
    EXPECT_THAT(restartText(m_config, next, 1),
                HasSubstr("node-b was lost: the run goes on without it, on 4 of 6 ranks (each step "
                          "has so many fewer sequences), from where this run began, since it had "
                          "written no checkpoint, into "));
}

TEST_F(RunRestart, FillsSlotsThatWereFree) {
    hosts("node-a:2,node-b:2,node-c:4", 4);
    const run::RunConfig next = without(0);
    EXPECT_EQ(next.ranks, 4);
    EXPECT_EQ(run::placesOf(next).perHost, (std::vector<std::int32_t>{2, 2}));
}

TEST_F(RunRestart, WritesARecordingOfItsOwnEachTime) {
    hosts("node-a,node-b,node-c", 3);
    run::RunConfig next = without(2);
    EXPECT_THAT(next.output, EndsWith("/run-restart1.sscope"));
    std::ofstream(next.output) << "the first restart's";
    next = withoutHost(next, 0).value_or(run::RunConfig());
    EXPECT_THAT(next.output, EndsWith("/run-restart2.sscope"));
    EXPECT_EQ(next.hosts, "node-b");
}

TEST_F(RunRestart, OfTheLastHostIsNone) {
    hosts("node-a:2", 2);
    EXPECT_THAT(withoutHost(m_config, 0),
                test::FailsWith("without node-a there is no host to go on with"));
}

TEST_F(RunRestart, ThatTheRulesOfRunsForbidSaysSo) {
    hosts("node-a:2,node-b:2,node-c:2", 6);
    m_config.strategy = run::Strategy::kHsdp;
    m_config.shardRanks = 3;
    ASSERT_THAT(run::validate(m_config), test::IsOk());
    EXPECT_THAT(withoutHost(m_config, 2), test::FailsWith("the run cannot go on without node-c"));
}

}  // namespace
}  // namespace shardscope::cli
