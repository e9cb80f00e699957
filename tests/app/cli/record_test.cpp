// `shardscope record` from the outside, with a fake rank.
#include "engine/launch/host_facts.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace shardscope::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class Record : public CliTest {
protected:
    static std::vector<json> lines(const std::string& text) {
        std::vector<json> all;
        std::istringstream stream(text);
        for (std::string line; std::getline(stream, line);) {
            // The last line may still be being written.
            if (!stream.eof()) all.push_back(json::parse(line, nullptr, false));
        }
        return all;
    }
    static std::vector<json> events(const Program& program, const std::string& kind) {
        std::vector<json> all;
        for (const json& line : lines(program.out())) {
            if (line.is_object() && line.at("event") == kind) all.push_back(line);
        }
        return all;
    }
    bool hasSteps(Program& program, std::size_t count) {
        const auto enough = [&] { return events(program, "step").size() >= count; };
        return eventually([&] { return enough() || program.ended(); }) && enough();
    }
    /// A run that goes on until it is asked to end.
    std::unique_ptr<Program> startLong() {
        environment["FAKE_RANK_STEP_MS"] = "5";
        return startRecord({"--control", "stdio", "--steps", "1000000"}, true);
    }
};

TEST_F(Record, StoresTheWholeRun) {
    const auto program = startRecord();
    EXPECT_EQ(program->wait(), 0) << program->err();
    const RecordingSummary summary = recorded();
    EXPECT_TRUE(summary.complete);
    EXPECT_EQ(summary.run.status, RunStatus::kFinished);
    EXPECT_EQ(summary.run.parameters, 10'774'272);
    EXPECT_EQ(summary.run.strategy, "zero3");
    EXPECT_THAT(summary.run.configJson, HasSubstr("text.txt"));
    EXPECT_THAT(summary.run.librariesJson, HasSubstr("torch"));
    EXPECT_THAT(summary.run.product, HasSubstr("shardscope 0."));
    EXPECT_THAT(summary.run.commandLine, HasSubstr("shardscope record --model shakespeare"));
    EXPECT_EQ(summary.hosts.size(), 1u);
    ASSERT_EQ(summary.ranks.size(), 2u);
    EXPECT_EQ(summary.ranks[0].exitCode, 0);
    EXPECT_EQ(summary.ranks[0].device, "cpu (fake)");
    EXPECT_EQ(summary.ranks[0].peakFlops, 1e9);
    EXPECT_EQ(summary.ranks[1].emitted, 25u);
    EXPECT_EQ(summary.steps.size(), 10u);
    EXPECT_EQ(summary.events.spans, 40u);
    EXPECT_EQ(summary.events.collectives, 10u);
    EXPECT_EQ(summary.memoryTheory.size(), 2u);
    // That two ranks share a core is said.
    EXPECT_EQ(summary.diagnostics.size(), launch::usableCores() < 2 ? 1u : 0u);
}

TEST_F(Record, NobodySpeaksForAnotherRank) {
    environment["FAKE_RANK_MODE"] = "impostor";
    const auto run = startRecord();
    ASSERT_EQ(run->wait(), 0) << run->err();
    const RecordingSummary summary = recorded();
    const auto said = std::find_if(summary.diagnostics.begin(), summary.diagnostics.end(),
                                   [](const auto& each) { return each.code == "chunk-damaged"; });
    ASSERT_NE(said, summary.diagnostics.end());
    EXPECT_THAT(said->message, HasSubstr("they claim to be of rank 0"));
    for (const StepFacts& step : summary.steps)
        EXPECT_TRUE(step.step.value != 77 || step.rank == RankId{1});
}

/// F14 of the faults review. What is run leaves a file.
class RunFileCommands : public Record {
protected:
    std::string evil(const std::string& more = {}) const {
        std::ofstream(path("evil.toml"))
            << "hosts = \"localhost:1,x:1\"\nssh_command = \"" << command() << "\"\n"
            << more;
        return path("evil.toml");
    }
    std::string command() const { return "sh -c 'touch " + marker() + "'"; }
    std::string marker() const { return path("PWNED"); }
    bool hasRun() const { return std::filesystem::exists(marker()); }
};

TEST_F(RunFileCommands, RunOnlyWhereTheCommandLineAllowsIt) {
    const auto refused = startRecord({evil(), "--strategy", "ddp-bucket"});
    EXPECT_EQ(refused->wait(), 2);
    EXPECT_THAT(refused->err(), HasSubstr("evil.toml:2:1: ssh_command runs a program"));
    EXPECT_FALSE(hasRun());
    const auto tuned = start({"tune", evil(), "--over", "batch=1", "-o", path("tuned")});
    EXPECT_EQ(tuned->wait(), 2);
    EXPECT_THAT(tuned->err(), HasSubstr("add --allow-commands"));
    EXPECT_FALSE(hasRun());
    const auto allowed = startRecord({evil(), "--allow-commands", "--strategy", "ddp-bucket"});
    EXPECT_EQ(allowed->wait(), 4) << allowed->err();
    EXPECT_TRUE(hasRun());
}

TEST_F(RunFileCommands, CountLessThanTheCommandLines) {
    const auto own = startRecord({evil(), "--ssh-command", "false", "--strategy", "ddp-bucket"});
    EXPECT_EQ(own->wait(), 4) << own->err();
    EXPECT_FALSE(hasRun());
}

TEST_F(RunFileCommands, AreNotHiddenInAHostFile) {
    std::ofstream(path("hosts")) << "localhost slots=1\nx slots=1 NCCL_NET_PLUGIN=evil.so\n";
    std::ofstream(path("run.toml")) << "hosts = \"" << path("hosts") << "\"\n";
    for (const std::vector<std::string>& verb :
         {recordArguments({path("run.toml"), "--dry-run"}),
          {"tune", path("run.toml"), "--over", "batch=1", "-o", path("tuned")}}) {
        const auto refused = start(verb);
        EXPECT_EQ(refused->wait(), 2) << verb[0];
        EXPECT_THAT(refused->err(),
                    HasSubstr("run.toml: its host file " + path("hosts") +
                              ":2: NCCL_NET_PLUGIN of host x says what ranks load or write "
                              "(evil.so)"));
    }
    EXPECT_EQ(startRecord({"--hosts", path("hosts"), "--dry-run"})->wait(), 0);
}

TEST_F(RunFileCommands, AreListedByADryRun) {
    std::ofstream(path("hosts")) << "localhost slots=1\n"
                                    "x slots=1 folder=/evil NCCL_NET_PLUGIN=evil.so\n";
    std::ofstream(path("run.toml"))
        << "hosts = \"" << path("hosts") << "\"\nssh_command = \"" << command() << "\"\n";
    const std::vector<std::string> words{path("run.toml"), "--allow-commands", "--strategy",
                                         "ddp-bucket", "--dry-run"};
    const auto text = startRecord(words);
    EXPECT_EQ(text->wait(), 0) << text->err();
    for (const std::string& line :
         {"ssh_command runs a program: " + command(),
          std::string("folder of host x holds the programs that run there: /evil"),
          std::string("NCCL_NET_PLUGIN of host x says what ranks load or write: evil.so")})
        EXPECT_THAT(text->out(), HasSubstr(line));
    std::vector<std::string> more = words;
    more.emplace_back("--json");
    const auto document = startRecord(more);
    EXPECT_EQ(document->wait(), 0) << document->err();
    const auto commands = lines(document->out()).at(0).at("commands");
    ASSERT_EQ(commands.size(), 3u);
    EXPECT_EQ(commands[0].at("option"), "ssh_command");
    EXPECT_EQ(commands[0].at("value"), command());
    EXPECT_EQ(commands[1].at("value"), "/evil");
    EXPECT_EQ(commands[2].at("value"), "evil.so");
    EXPECT_FALSE(hasRun());
    const auto plain = startRecord({"--dry-run"});
    EXPECT_EQ(plain->wait(), 0);
    EXPECT_THAT(plain->out(), Not(HasSubstr("Other programs")));
}

TEST_F(RunFileCommands, HostsAreNoOptionsOfSsh) {
    for (const char* host : {"-oProxyCommand=touch", "me@-F", "-l"}) {
        EXPECT_EQ(startRecord({std::string("--hosts=") + host + ",localhost"})->wait(), 2) << host;
        std::ofstream(path("run.toml")) << "hosts = \"" << host << ",localhost\"\n";
        EXPECT_EQ(startRecord({path("run.toml")})->wait(), 2) << host;
        EXPECT_EQ(start({"info", std::string("ssh://") + host + "/run.sscope"})->wait(), 2) << host;
    }
}

TEST_F(Record, PrintsOneJsonObjectAtTheEnd) {
    const auto program = startRecord({"--json", "--quiet"});
    EXPECT_EQ(program->wait(), 0);
    const auto all = lines(program->out());
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].at("schema"), "shardscope.record/1");
    EXPECT_EQ(all[0].at("status"), "finished");
    EXPECT_EQ(all[0].at("steps_done"), 5);
    EXPECT_EQ(all[0].at("loss_first"), 5.0);
    EXPECT_EQ(all[0].at("events"), 50);
    if (launch::usableCores() > 1) {
        EXPECT_EQ(program->err(), "");
    }
}

TEST_F(Record, ASecondRunDoesNotReplaceOneThatIsBeingWritten) {
    const auto first = startLong();
    ASSERT_TRUE(hasSteps(*first, 3));
    std::filesystem::create_directory(path("second"));
    const auto second =
        std::make_unique<Program>(recordArguments({"--force"}), environment, path("second"), false);
    EXPECT_EQ(second->wait(), 2);
    EXPECT_THAT(second->err(),
                HasSubstr("is being written by process " + std::to_string(first->pid())));
    first->type("{\"command\":\"stop\"}\n");
    EXPECT_EQ(first->wait(), 130);
    EXPECT_TRUE(recorded().complete);
}

TEST_F(Record, AnOutputThatIsDeletedEndsTheRunAndIsSaid) {
    const auto program = startLong();
    ASSERT_TRUE(hasSteps(*program, 3));
    std::filesystem::remove(output());
    EXPECT_EQ(program->wait(), 1);
    const auto end = events(*program, "finished");
    ASSERT_EQ(end.size(), 1u);
    EXPECT_THAT(end[0].at("message"), HasSubstr("was deleted, moved or replaced"));
    EXPECT_FALSE(std::filesystem::exists(output() + "-wal"));
}

TEST_F(Record, KeepsPathsThatAreNoUtf8) {
    const std::string data = path("d\xe9p\xf4t.txt");
    std::filesystem::copy_file(path("text.txt"), data);
    const auto program = start({"record", "--data", data, "--output", path("r\xff.sscope"),
                                "--ranks", "2", "--steps", "3"});
    EXPECT_EQ(program->wait(), 0) << program->err();
    EXPECT_TRUE(std::filesystem::exists(path("r\xff.sscope")));
    EXPECT_THAT(program->err(), HasSubstr("rank 0: the data is there")) << "as a rank hears it";
}

TEST_F(Record, StoresVariablesByNameAndNoOthers) {
    environment["OMP_NUM_THREADS"] = "3";
    environment["TORCH_API_KEY"] = "secret-1";
    environment["SHARDSCOPE_API_KEY"] = "secret-2";
    environment["NCCL_TOKEN"] = "secret-3";
    const auto program = startRecord();
    EXPECT_EQ(program->wait(), 0) << program->err();
    const std::string stored = recorded().run.environmentJson;
    EXPECT_THAT(stored, HasSubstr("\"OMP_NUM_THREADS\":\"3\""));
    EXPECT_THAT(stored, testing::Not(HasSubstr("secret")));
}

TEST_F(Record, WhatCannotBePrintedIsAFailure) {
    ASSERT_EQ(startRecord()->wait(), 0);
    const auto intoFullDisk = [&](const std::string& arguments) {
        return std::system(("SHARDSCOPE_RANK_PROGRAM=" SHARDSCOPE_FAKE_RANK " " SHARDSCOPE_PROGRAM
                            " " +
                            arguments + " >/dev/full 2>" + path("said"))
                               .c_str());
    };
    const std::string recording = " '" + output() + "'";
    for (const std::string& arguments :
         {"report" + recording, "report --json" + recording, "info" + recording,
          "info --verify" + recording, "query" + recording + " 'SELECT 1'",
          "query --json" + recording + " 'SELECT 1'", std::string("--help"),
          std::string("record --help"), std::string("--version"), std::string("doctor"),
          "record --json --quiet --steps 2 --data '" + path("text.txt") + "' --output '" +
              path("other.sscope") + "'"}) {
        const int status = intoFullDisk(arguments);
        ASSERT_TRUE(WIFEXITED(status)) << arguments;
        EXPECT_EQ(WEXITSTATUS(status), 1) << arguments;
        std::ifstream said(path("said"));
        const std::string words{std::istreambuf_iterator<char>(said), {}};
        EXPECT_THAT(words, HasSubstr("cannot write to standard output")) << arguments;
    }
}

TEST_F(Record, SaysInWordsThatItTrainsOnItsOwnSources) {
    const auto program = start({"record", "--output", output(), "--steps", "2"});
    EXPECT_EQ(program->wait(), 0);
    EXPECT_THAT(program->err(), HasSubstr("own source tree"));
    EXPECT_THAT(program->err(), HasSubstr("--data"));
}

TEST_F(Record, TheSmallestModelNeedsNoOtherOption) {
    const auto program = start({"record", "--model", "tiny", "--output", output(), "--steps", "2"});
    EXPECT_EQ(program->wait(), 0) << program->err();
    EXPECT_THAT(program->err(), HasSubstr("tokens drawn at random: a vocabulary of 64"));
    EXPECT_EQ(recorded().run.model, "tiny");
}

TEST_F(Record, NamesAChangedPresetSo) {
    const auto program = startRecord({"--layers", "1"});
    EXPECT_EQ(program->wait(), 0) << program->err();
    EXPECT_EQ(recorded().run.model, "changed shakespeare");
}

TEST_F(Record, SingleTakesOneRankByItself) {
    const auto program = startRecord({"--strategy", "single"});
    EXPECT_EQ(program->wait(), 0) << program->err();
    EXPECT_EQ(recorded().run.worldSize, 1);
}

TEST_F(Record, TellsThreadLimitsToTheRanks) {
    const auto program = startRecord({"--threads", "3"});
    EXPECT_EQ(program->wait(), 0);
    EXPECT_THAT(program->err(), HasSubstr("rank 1: OMP_NUM_THREADS=3"));
}

TEST_F(Record, ADryRunSaysWhatARankNeedsAndStartsNothing) {
    const auto none = start({"record", "--hosts", "", "--dry-run"});
    EXPECT_EQ(none->wait(), 2);
    EXPECT_THAT(none->err(), HasSubstr("--hosts names no host"));
    std::ofstream(path("hosts.toml")) << "hosts = \"node-a:2,node-b:1\"\n";
    const auto file = start({"record", path("hosts.toml"), "--dry-run"});
    EXPECT_EQ(file->wait(), 0) << file->err();
    EXPECT_THAT(file->out(), HasSubstr("on 3 ranks")) << "all slots";
    const auto lost = start({"record", "--tokenizer", path("none.json"), "--dry-run"});
    EXPECT_EQ(lost->wait(), 3);
    EXPECT_THAT(lost->err(), HasSubstr("none.json does not exist"));
    const auto far = start({"record", "--hosts", "node-a:2,node-b:1", "--dry-run"});
    EXPECT_EQ(far->wait(), 0);
    EXPECT_THAT(far->out(), HasSubstr("the hosts' memory is checked when the run starts"));
    EXPECT_THAT(far->out(), HasSubstr("node-a: 2 ranks need"));
    EXPECT_THAT(far->out(), HasSubstr("node-b: 1 rank needs"));
    const auto text = start({"record", "--model", "ref", "--ranks", "8", "--dry-run"});
    EXPECT_EQ(text->wait(), 0) << text->err();
    EXPECT_THAT(text->out(), HasSubstr("203,033,600 parameters"));
    EXPECT_THAT(text->out(), HasSubstr("every rank 0 to 7 alike"));
    EXPECT_THAT(text->out(), HasSubstr("token table, head  in 4 pieces of 12608 rows"));
    const auto offloaded = start({"record", "--model", "ref", "--ranks", "8", "--device", "cuda",
                                  "--offload", "gradients", "--dry-run"});
    EXPECT_EQ(offloaded->wait(), 0) << offloaded->err();
    EXPECT_THAT(offloaded->out(), HasSubstr("of it on the host  406.1 MB"));
    const auto program =
        start({"record", "--model", "2.7B", "--ranks", "64", "--dry-run", "--json"});
    EXPECT_EQ(program->wait(), 0) << program->err();
    const auto told = nlohmann::json::parse(program->out());
    EXPECT_EQ(told.at("schema"), "shardscope.dry_run/1");
    EXPECT_EQ(told.at("ranks").size(), 64u);
    EXPECT_EQ(told.at("needed_bytes"),
              64 * told.at("ranks")[0].at("peak_bytes").get<std::int64_t>());
    EXPECT_EQ(told.at("moments_bytes").at("head").at("together").is_number(), true);
    // which kernel of attention is taken is known at the start only: both are told
    const auto& both = told.at("peak_bytes_by_attention");
    EXPECT_EQ(both.at("flash"), told.at("ranks")[0].at("peak_bytes"));
    EXPECT_LT(both.at("blocked").get<std::int64_t>(), both.at("flash").get<std::int64_t>());
    const auto blocked = start({"record", "--model", "2.7B", "--ranks", "64", "--attention",
                                "blocked", "--dry-run", "--json"});
    EXPECT_EQ(blocked->wait(), 0) << blocked->err();
    const auto chosen = nlohmann::json::parse(blocked->out());
    EXPECT_EQ(chosen.at("peak_bytes_by_attention").size(), 1U);
    EXPECT_EQ(chosen.at("ranks")[0].at("peak_bytes"), both.at("blocked"));
    EXPECT_FALSE(std::filesystem::exists(output()));
}

TEST_F(Record, SpeaksTheControlProtocol) {
    const auto program = startRecord({"--control", "stdio", "--sample", "4"}, true);
    EXPECT_EQ(program->wait(), 0) << program->err();
    const auto started = events(*program, "started");
    ASSERT_EQ(started.size(), 1u);
    EXPECT_EQ(started[0].at("output"), output());
    EXPECT_EQ(started[0].at("ranks"), 2);
    EXPECT_EQ(started[0].at("parameters"), 10'774'272);
    const auto steps = events(*program, "step");
    ASSERT_EQ(steps.size(), 5u);
    EXPECT_EQ(steps[4].at("step"), 4);
    EXPECT_EQ(steps[4].at("steps"), 5);
    EXPECT_EQ(steps[4].at("loss"), 5.0 - 0.01 * 4);
    EXPECT_EQ(steps[4].at("memory_bytes"), 1 << 20);
    EXPECT_EQ(steps[4].at("blocked_fraction"), 0.1);
    EXPECT_EQ(steps[4].at("eta_s"), 0.0);
    ASSERT_EQ(events(*program, "validation").size(), 1u);
    const auto ranks = events(*program, "rank");
    EXPECT_EQ(ranks.size(), 6u) << "starting, running, finished of two";
    const auto figures = events(*program, "rank_figures");
    ASSERT_EQ(figures.size(), 10u) << "one for each rank and step";
    EXPECT_EQ(figures.back().at("step"), 4);
    EXPECT_EQ(figures.back().at("phase"), "wait for reduction");
    EXPECT_EQ(figures.back().at("waits"), true);
    EXPECT_EQ(figures.back().at("tensor_bytes"), 1 << 19);
    EXPECT_DOUBLE_EQ(figures.back().at("tokens_per_s").get<double>(), 8 / 5e-6);
    EXPECT_EQ(figures.back().at("steps_counted"), 5);
    const auto samples = events(*program, "sample");
    ASSERT_EQ(samples.size(), 1u);
    EXPECT_EQ(samples[0].at("step"), 1);
    EXPECT_EQ(samples[0].at("text"), "to be");
    EXPECT_THAT(program->out(), HasSubstr("the model after step 1: to be")) << "in the log too";
    const auto finished = events(*program, "finished");
    ASSERT_EQ(finished.size(), 1u);
    EXPECT_EQ(finished[0].at("status"), "finished");
    EXPECT_EQ(finished[0].at("exit_code"), 0);
}

TEST_F(Record, TellsAFailureBeforeTheStartOverTheControlProtocol) {
    const auto program = startRecord({"--control", "stdio", "--heads", "5"}, true);
    EXPECT_EQ(program->wait(), 2);
    const auto finished = events(*program, "finished");
    ASSERT_EQ(finished.size(), 1u);
    EXPECT_EQ(finished[0].at("status"), "failed");
    EXPECT_EQ(finished[0].at("exit_code"), 2);
    EXPECT_THAT(finished[0].at("message").get<std::string>(), HasSubstr("not divisible"));
}

TEST_F(Record, StopsAfterTheStepWhenAskedOnStandardInput) {
    const auto program = startLong();
    ASSERT_TRUE(hasSteps(*program, 3));
    program->type("what?\n{\"command\":\"stop\"}\n");
    EXPECT_EQ(program->wait(), 130) << program->err();
    EXPECT_EQ(events(*program, "finished").at(0).at("status"), "stopped");
    EXPECT_THAT(program->out(), HasSubstr("not understood"));
    const RecordingSummary summary = recorded();
    EXPECT_TRUE(summary.complete);
    EXPECT_EQ(summary.run.status, RunStatus::kStopped);
    EXPECT_EQ(summary.ranks.at(1).exitCode, 0);
}

TEST_F(Record, StopsWhenStandardInputEnds) {
    const auto program = startLong();
    ASSERT_TRUE(hasSteps(*program, 1));
    program->closeInput();
    EXPECT_EQ(program->wait(), 130);
    EXPECT_EQ(recorded().run.status, RunStatus::kStopped);
}

TEST_F(Record, GoesOnWithoutItsInputOnceItIsDetached) {
    const auto program = startRecord({"--control", "stdio", "--steps", "40"}, true);
    ASSERT_TRUE(hasSteps(*program, 1));
    program->type("{\"command\":\"detach\"}\n");
    program->closeInput();
    EXPECT_EQ(program->wait(), 0) << program->err();
    EXPECT_EQ(recorded().run.status, RunStatus::kFinished);
    EXPECT_EQ(events(*program, "step").size(), 40u);
}

TEST_F(Record, KillsWhenAskedOnStandardInput) {
    environment["FAKE_RANK_MODE"] = "hang";
    const auto program = startLong();
    ASSERT_TRUE(hasSteps(*program, 2));
    program->type("{\"command\":\"kill\"}\n");
    EXPECT_EQ(program->wait(), 130);
    EXPECT_EQ(events(*program, "finished").at(0).at("status"), "killed");
    EXPECT_EQ(recorded().run.status, RunStatus::kKilled);
    EXPECT_TRUE(recorded().complete);
}

TEST_F(Record, FirstInterruptStopsAndFinalises) {
    const auto program = startLong();
    ASSERT_TRUE(hasSteps(*program, 2));
    program->signal(SIGINT);
    EXPECT_EQ(program->wait(), 130);
    EXPECT_EQ(recorded().run.status, RunStatus::kStopped);
    EXPECT_TRUE(recorded().complete);
}

TEST_F(Record, SecondInterruptKillsAHungRun) {
    environment["FAKE_RANK_MODE"] = "hang";
    const auto program = startLong();
    const auto says = [&](const char* text) {
        return eventually([&] { return program->out().find(text) != std::string::npos; });
    };
    ASSERT_TRUE(says("rank 1: hangs"));  // before that it would still obey the first
    program->signal(SIGINT);
    ASSERT_TRUE(says("once more"));
    program->signal(SIGINT);
    EXPECT_EQ(program->wait(), 130);
    EXPECT_EQ(recorded().run.status, RunStatus::kKilled);
    EXPECT_TRUE(recorded().complete);
}

}  // namespace
}  // namespace shardscope::cli
