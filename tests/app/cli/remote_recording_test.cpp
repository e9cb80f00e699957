// Recordings that are read where they lie: a real ssh server on loopback, files of its home.
#include "tests/app/cli/program.h"
#include "tests/engine/launch/ssh/ssh_server.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"

#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string bytesOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Processes whose command line holds `text`.
std::vector<pid_t> processesWith(const std::string& text) {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const auto pid = static_cast<pid_t>(std::stol(name));
        if (commandOf(pid).find(text) != std::string::npos) found.push_back(pid);
    }
    return found;
}

class RemoteRecording : public CliTest {
protected:
    void SetUp() override {
        if (const std::string missing = launch::SshServer::missing(); !missing.empty())
            GTEST_SKIP() << missing;
        m_server.emplace();
        environment["XDG_CACHE_HOME"] = path("cache");
        environment["XDG_RUNTIME_DIR"] = path("runtime");
        fs::create_directories(path("runtime"));
        fs::permissions(path("runtime"), fs::perms::owner_all);
        m_file = m_server->home() + "/run of mine.sscope";
        ASSERT_THAT(test::writeSampleRecording(m_file, {.steps = 4}), test::IsOk());
    }
    [[nodiscard]] std::vector<std::string> withSsh(std::vector<std::string> arguments) const {
        arguments.insert(arguments.end(),
                         {"--ssh-command", "ssh -F " + m_server->clientConfiguration()});
        return arguments;
    }
    struct Ended {
        int status;
        std::string out, err;
    };
    /// One at a time: they print into the same files.
    Ended ran(const std::vector<std::string>& arguments) {
        const auto program = start(arguments);
        const int status = program->wait();
        return {status, program->out(), program->err()};
    }
    /// What a verb prints of the file, and of the same read through ssh.
    void expectSame(const std::string& verb, const std::vector<std::string>& more) {
        std::vector<std::string> here = {verb, m_file};
        std::vector<std::string> there = {verb, "ssh://node1" + m_file};
        here.insert(here.end(), more.begin(), more.end());
        there.insert(there.end(), more.begin(), more.end());
        const Ended local = ran(here);
        const Ended remote = ran(withSsh(there));
        EXPECT_EQ(local.status, 0) << local.err;
        EXPECT_EQ(remote.status, 0) << remote.err;
        // Where the recording is named, it is named as it was given.
        std::string text = remote.out;
        for (std::size_t at = 0; (at = text.find("ssh://node1")) != std::string::npos;)
            text.erase(at, std::string("ssh://node1").size());
        EXPECT_EQ(local.out, text);
        EXPECT_THAT(local.out, Not(IsEmpty()));
    }

    std::optional<launch::SshServer> m_server;
    std::string m_file;
};

TEST_F(RemoteRecording, ReportsAreTheSame) {
    expectSame("report", {"--json"});
    expectSame("report", {});
    expectSame("report", {"--all", "--hta"});
}

TEST_F(RemoteRecording, InfoAndQueriesAreTheSame) {
    expectSame("info", {"--json"});
    expectSame("info", {});
    expectSame("query", {"SELECT name, count(*) FROM events GROUP BY name ORDER BY name"});
    expectSame("query", {"SELECT * FROM collectives ORDER BY 1, 2, 3", "--json"});
}

TEST_F(RemoteRecording, ExportsAreTheSame) {
    for (const char* format : {"perfetto", "speedscope", "csv", "sscope", "json"}) {
        const std::string here = path("here"), there = path("there");
        const std::vector<std::string> more = {"--format", format, "--view", "operators",
                                               "--force"};
        std::vector<std::string> local = {"export", m_file, "-o", here};
        std::vector<std::string> remote = {"export", "ssh://node1" + m_file, "-o", there};
        local.insert(local.end(), more.begin(), more.end());
        remote.insert(remote.end(), more.begin(), more.end());
        ASSERT_EQ(ran(local).status, 0) << format;
        const Ended far = ran(withSsh(remote));
        ASSERT_EQ(far.status, 0) << far.err;
        if (std::string(format) == "sscope") {  // a file of SQLite's, made at another time
            EXPECT_EQ(fs::file_size(here), fs::file_size(there));
            const Ended a = ran({"report", here, "--json"}), b = ran({"report", there, "--json"});
            ASSERT_EQ(a.status, 0);
            ASSERT_EQ(b.status, 0);
            EXPECT_EQ(a.out, b.out);
        } else {
            EXPECT_TRUE(bytesOf(here) == bytesOf(there)) << format;
        }
        fs::remove_all(here);
        fs::remove_all(there);
    }
}

TEST_F(RemoteRecording, BelowTheHomeThereAndByPort) {
    fs::rename(m_file, m_server->home() + "/run.sscope");
    const Ended home = ran(withSsh({"info", "ssh://node1/~/run.sscope", "--json"}));
    EXPECT_EQ(home.status, 0) << home.err;
    const Ended port = ran(withSsh(
        {"info", "ssh://node1:" + std::to_string(m_server->port()) + "/~/run.sscope", "--json"}));
    EXPECT_EQ(port.status, 0) << port.err;
    EXPECT_EQ(home.out, port.out);
}

TEST_F(RemoteRecording, NothingIsLeftButTheProgram) {
    ASSERT_EQ(ran(withSsh({"info", "ssh://node1" + m_file})).status, 0);
    const std::string there = m_server->home() + "/.cache/shardscope";
    ASSERT_TRUE(fs::exists(there));
    EXPECT_TRUE(eventually([&] { return processesWith(there).empty(); }));
    EXPECT_TRUE(fs::is_empty(path("runtime")) || fs::is_empty(path("runtime/shardscope")))
        << "no socket of a master";
}

TEST_F(RemoteRecording, AKilledReaderLeavesNothingThere) {
    const std::string there = m_server->home() + "/.cache/shardscope";
    const auto endless = start(withSsh({"query", "ssh://node1" + m_file,
                                        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 "
                                        "FROM n) SELECT max(i) FROM n"}));
    ASSERT_TRUE(eventually([&] { return !processesWith(there + "/").empty(); }));
    ASSERT_TRUE(
        eventually([&] { return !processesWith(std::string("serve\0--stdio", 13)).empty(); }));
    endless->signal(SIGKILL);
    endless->wait();
    EXPECT_TRUE(eventually([&] { return processesWith(there + "/").empty(); }));
}

TEST_F(RemoteRecording, IsReachedBySshItselfWhereNothingElseIsSaid) {
    // The ssh that PATH finds, with the test's own configuration.
    fs::create_directories(path("path"));
    std::ofstream(path("path/ssh"))
        << "#!/bin/sh\nexec /usr/bin/ssh -F " << m_server->clientConfiguration() << " \"$@\"\n";
    fs::permissions(path("path/ssh"), fs::perms::owner_all);
    environment["PATH"] = path("path") + ":" + std::getenv("PATH");
    const Ended far = ran({"info", "ssh://node1" + m_file});
    EXPECT_EQ(far.status, 0) << far.err;
}

TEST_F(RemoteRecording, WhatCannotBeHadIsASentence) {
    const Ended none = ran(withSsh({"report", "ssh://node1/none.sscope"}));
    EXPECT_EQ(none.status, 3);
    EXPECT_THAT(none.err, HasSubstr("shardscope: node1: "));
    EXPECT_THAT(none.err, HasSubstr("/none.sscope"));
    const Ended table = ran(withSsh({"query", "ssh://node1" + m_file, "SELECT * FROM nowhere"}));
    EXPECT_THAT(table.err, HasSubstr("shardscope: node1: "));
    const Ended unknown = ran(withSsh({"report", "ssh://unknown" + m_file}));
    EXPECT_EQ(unknown.status, 4);
    EXPECT_THAT(unknown.err, HasSubstr(m_server->fingerprint()));
    const Ended wrong = ran(withSsh({"report", "ssh://wrong" + m_file}));
    EXPECT_EQ(wrong.status, 4);
    EXPECT_THAT(wrong.err, StartsWith("shardscope: "));
    const Ended address = ran(withSsh({"report", "ssh://-oProxyCommand=x/run.sscope"}));
    EXPECT_EQ(address.status, 2);
    EXPECT_THAT(address.err, HasSubstr("names no host"));
    const Ended verify = ran(withSsh({"info", "--verify", "ssh://node1" + m_file}));
    EXPECT_EQ(verify.status, 2);
    EXPECT_THAT(verify.err, HasSubstr("needs the file itself, which is on node1"));
    EXPECT_THAT(verify.err, HasSubstr("&& shardscope info --verify 'run of mine.sscope'"));
    const Ended repair = ran({"repair", "ssh://node1" + m_file, "-o", path("saved.sscope")});
    EXPECT_EQ(repair.status, 2);
    EXPECT_THAT(repair.err, HasSubstr("&& shardscope repair 'run of mine.sscope' --output "));
}

TEST_F(RemoteRecording, WhatIsAdvisedWorksFromHere) {
    for (const std::string& place : {m_file, std::string("/~/run of mine.sscope")}) {
        const std::string said = ran(withSsh({"info", "--verify", "ssh://node1" + place})).err;
        const std::size_t begin = said.find("here: ") + 6, end = said.find(" && shardscope ");
        ASSERT_LT(begin, end) << said;
        fs::create_directories(path("fetched"));
        Program shell({"-c", "cd '" + path("fetched") + "' && " + said.substr(begin, end - begin)},
                      environment, path("fetched"), false, "/bin/sh");
        ASSERT_EQ(shell.wait(), 0) << shell.err();
        EXPECT_TRUE(bytesOf(path("fetched/run of mine.sscope")) == bytesOf(m_file));
    }
}

TEST_F(RemoteRecording, ADamagedOneIsToBeFetchedForItsRepair) {
    fs::resize_file(m_file, fs::file_size(m_file) - 4096);
    const Ended info = ran(withSsh({"info", "ssh://node1" + m_file}));
    EXPECT_EQ(info.status, 3);
    EXPECT_THAT(info.err, HasSubstr("shardscope: node1: "));
    EXPECT_THAT(info.err, HasSubstr("a copy of the file here: `ssh -F "));
    EXPECT_THAT(info.err, HasSubstr(" && shardscope repair 'run of mine.sscope' --output "
                                    "'run of mine-repaired.sscope'`"));
}

TEST_F(RemoteRecording, OneWhoseWriterLivesIsRunning) {
    environment["FAKE_RANK_STEP_MS"] = "5";
    const auto recorder = startRecord({"--steps", "1000000"});
    ASSERT_TRUE(eventually([&] {
        return recorder->err().find(" steps  ") != std::string::npos || recorder->ended();
    })) << recorder->err();
    fs::create_directories(path("reader"));
    const auto said = [&](const std::vector<std::string>& arguments) {
        Program reader(withSsh(arguments), environment, path("reader"), false);
        EXPECT_EQ(reader.wait(), 0) << reader.err();
        return reader.out();
    };
    const std::string there = "ssh://node1" + output();
    EXPECT_THAT(said({"info", there}), HasSubstr("running, "));
    EXPECT_THAT(said({"info", there, "--json"}), HasSubstr("\"running\": true"));
    EXPECT_THAT(said({"report", there}), HasSubstr("the run is being recorded"));
    recorder->signal(SIGKILL);
    recorder->wait();
    EXPECT_THAT(said({"info", there}), HasSubstr("not finalised, "));
    EXPECT_THAT(said({"info", there, "--json"}), HasSubstr("\"running\": false"));
}

TEST_F(RemoteRecording, NoisyLoginShellsDoNotMatter) {
    m_server->setLogin("echo hello; echo noise >&2; eval \"$SSH_ORIGINAL_COMMAND\"");
    const Ended info = ran(withSsh({"info", "ssh://node1" + m_file, "--json"}));
    EXPECT_EQ(info.status, 0) << info.err;
}

TEST_F(RemoteRecording, ServeAloneSaysWhatPeopleWant) {
    const Ended alone = ran({"serve"});
    EXPECT_EQ(alone.status, 2);
    EXPECT_THAT(alone.err, HasSubstr("people open ssh://HOST/PATH"));
    const Ended nobody = ran({"serve", "--stdio"});  // its input is empty
    EXPECT_EQ(nobody.status, 0) << nobody.err;
}

}  // namespace
}  // namespace shardscope::cli
