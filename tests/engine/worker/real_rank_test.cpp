// `shardscope record`, `report` and `verify` with the real shardscope-rank.
#include "engine/run/config/run_config.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"
#include "tests/app/cli/program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/mount.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>

namespace shardscope::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

class RealRank : public CliTest {
protected:
    RealRank() { environment["SHARDSCOPE_RANK_PROGRAM"] = SHARDSCOPE_RANK; }

    std::unique_ptr<Program> record(std::vector<std::string> more, bool withInput = false) {
        const std::vector<std::string> small = {
            "--layers",  "3",  "--heads",          "2", "--hidden",      "32",
            "--context", "32", "--batch",          "2", "--threads",     "1",
            "--steps",   "6",  "--evaluate-every", "3", "--no-calibrate"};
        more.insert(more.begin(), small.begin(), small.end());
        return startRecord(more, withInput);
    }
    json report() {
        const auto program = start({"report", output(), "--json"});
        EXPECT_EQ(program->wait(), 0) << program->err();
        return json::parse(program->out());
    }
    std::unique_ptr<storage::RecordingReader> reader() {
        auto opened = storage::openRecording(output());
        EXPECT_TRUE(opened) << opened.error().message;
        return opened ? std::move(*opened) : nullptr;
    }
};

TEST_F(RealRank, RecordsARunThatTheReportExplains) {
    const auto program = record({"--accumulate", "2"});
    ASSERT_EQ(program->wait(), 0) << program->err();
    const json r = report();
    EXPECT_EQ(r.at("schema"), "shardscope.report/1");
    EXPECT_EQ(r.at("run").at("world_size"), 2);
    EXPECT_EQ(r.at("run").at("strategy"), "zero3");
    EXPECT_LT(r.at("loss").at("last"), r.at("loss").at("first"));
    EXPECT_GT(r.at("throughput").at("tokens_per_s"), 0);
    EXPECT_TRUE(r.at("completeness").at("complete")) << r.at("completeness");
    EXPECT_EQ(r.at("completeness").at("missing"), json::array());
    EXPECT_EQ(r.at("dropped"), 0);
    EXPECT_TRUE(r.at("mfu").at("value").is_null());
    EXPECT_THAT(r.at("mfu").at("reason").get<std::string>(), HasSubstr("calibration"));
    EXPECT_EQ(r.at("ledger").size(), 12u);
    for (const json& row : r.at("ledger")) {
        std::int64_t sum = 0;
        for (const auto& part : row.at("parts")) sum += part.get<std::int64_t>();
        EXPECT_EQ(sum, row.at("wall_ns").get<std::int64_t>());
    }
    const json& overlap = r.at("overlap");
    EXPECT_GT(overlap.at("communication_ns"), 0);
    EXPECT_EQ(
        overlap.at("hidden_ns").get<std::int64_t>() + overlap.at("exposed_ns").get<std::int64_t>(),
        overlap.at("communication_ns").get<std::int64_t>());
}

TEST_F(RealRank, HoldsTheStateTheoryPromisesAndFreesWhatItGathers) {
    const auto program = record({});
    ASSERT_EQ(program->wait(), 0) << program->err();
    const auto recording = reader();
    ASSERT_TRUE(recording);
    const auto summary = recording->summary();
    ASSERT_TRUE(summary);
    const double theory =
        16.0 * static_cast<double>(summary->run.parameters) / summary->run.worldSize;
    for (const RankFacts& rank : summary->ranks) {
        const auto events = recording->memoryEvents(rank.rank, summary->bounds);
        ASSERT_TRUE(events);
        std::array<std::int64_t, kMemoryCategoryCount> alive{}, most{};
        int gatheredFreed = 0;
        for (const MemoryEvent& event : *events) {
            const auto category = static_cast<std::size_t>(event.category);
            const bool allocates = event.action == MemoryAction::kAllocate;
            alive[category] += allocates ? event.size.count : -event.size.count;
            most[category] = std::max(most[category], alive[category]);
            gatheredFreed += !allocates && event.category == MemoryCategory::kGatheredParameter;
        }
        const auto peak = [&](MemoryCategory c) { return most[static_cast<std::size_t>(c)]; };
        const auto state = static_cast<double>(peak(MemoryCategory::kParameterShard) +
                                               peak(MemoryCategory::kGradientShard) +
                                               peak(MemoryCategory::kOptimizerState));
        EXPECT_LE(state, 1.02 * theory);
        EXPECT_GE(state, theory);
        // Three blocks and the root are never whole at the same time, and nothing stays.
        EXPECT_EQ(alive[static_cast<std::size_t>(MemoryCategory::kGatheredParameter)], 0);
        EXPECT_LT(peak(MemoryCategory::kGatheredParameter), 4 * summary->run.parameters);
        EXPECT_GE(gatheredFreed, 6 * 7);
    }
}

/// In processes of their own, at five sizes: a narrow one, one with wide blocks, one with a
/// vocabulary that is gathered in pieces, one where that is all there is, one smaller than a chunk
/// of logits.
TEST_F(RealRank, HoldsWhatTheoryPredictsWithinThreePercent) {
    const std::vector<std::vector<std::string>> sizes = {
        {"--hidden", "64", "--heads", "4", "--layers", "4", "--context", "64"},
        {"--hidden", "256", "--heads", "4", "--layers", "2", "--context", "32"},
        {"--hidden", "128", "--heads", "4", "--layers", "2", "--context", "64", "--vocabulary",
         "8000", "--data", "synthetic"},
        {"--hidden", "64", "--heads", "4", "--layers", "2", "--context", "32", "--batch", "1",
         "--vocabulary", "8000", "--data", "synthetic"},
        {"--hidden", "128", "--heads", "4", "--layers", "2", "--context", "64", "--batch", "4"}};
    for (const char* strategy : {"zero3", "zero2", "zero1", "ddp-bucket"}) {
        for (const auto& size : sizes) {
            std::vector<std::string> flags{"--strategy",       strategy, "--steps", "3",
                                           "--evaluate-every", "0",      "--force"};
            flags.insert(flags.end(), size.begin(), size.end());
            const auto program = record(flags);
            ASSERT_EQ(program->wait(), 0) << program->err();
            const json r = report();
            ASSERT_EQ(r.at("memory").size(), 2u);
            for (const json& rank : r.at("memory")) {
                const double ratio = rank.at("peak_managed_bytes").get<double>() /
                                     rank.at("theory_bytes").get<double>();
                EXPECT_LE(ratio, 1.03) << strategy << " " << testing::PrintToString(size);
                EXPECT_GE(ratio, 0.97) << strategy << " " << testing::PrintToString(size);
            }
        }
    }
}

TEST_F(RealRank, OverARingHoldsTheBuffersOfTheory) {
    for (const char* strategy : {"zero3", "ddp-bucket"}) {
        const auto program =
            record({"--transport", "gloo", "--strategy", strategy, "--steps", "3", "--force"});
        if (program->wait() != 0 && program->err().find("has no Gloo") != std::string::npos)
            GTEST_SKIP() << program->err();
        ASSERT_EQ(program->wait(), 0) << program->err();
        for (const json& rank : report().at("memory")) {
            const json& theory = rank.at("theory_by_category").at("communication buffers");
            EXPECT_GT(theory, 0);
            EXPECT_EQ(rank.at("by_category").at("communication buffers"), theory) << strategy;
        }
    }
}

TEST_F(RealRank, LinksForwardOperatorsToBackwardOnes) {
    ASSERT_EQ(record({})->wait(), 0);
    const auto recording = reader();
    ASSERT_TRUE(recording);
    const auto pairs = recording->query(
        "SELECT count(*) FROM operators f JOIN operators b ON f.correlation = b.correlation "
        "AND f.rank = b.rank WHERE f.name = 'linear' AND b.name = 'linear_backward'");
    ASSERT_TRUE(pairs) << pairs.error().message;
    EXPECT_GE(std::stoll(*pairs->rows.at(0).at(0)), 2 * 6 * 3 * 4);
}

TEST_F(RealRank, CaptureLevelsTakeWhatTheySay) {
    for (const std::string level : {"off", "steps", "light"}) {
        const auto program = record({"--capture", level, "--force"});
        ASSERT_EQ(program->wait(), 0) << program->err();
        const RecordingSummary summary = recorded();
        EXPECT_EQ(summary.events.memory, 0u) << level;
        EXPECT_EQ(summary.steps.empty(), level == "off");
        EXPECT_EQ(summary.events.collectives > 0, level == "light");
        EXPECT_EQ(summary.events.spans > 0, level == "light");
    }
}

/// Of rank 1, as numbers with blanks between.
std::string stepsWithOperators(storage::RecordingReader& reader) {
    const auto steps = reader.query(
        "SELECT DISTINCT step FROM operators WHERE rank=1 AND step >= 0 ORDER BY step");
    std::string text;
    if (steps)
        for (const auto& row : steps->rows) text += (text.empty() ? "" : " ") + row.at(0).value();
    return text;
}

TEST_F(RealRank, ScheduledStepsAloneHaveDetail) {
    const auto whole = record({"--steps", "8"});
    ASSERT_EQ(whole->wait(), 0) << whole->err();
    const json everything = report();
    const auto program = record({"--steps", "8", "--capture-steps", "2-3,7", "--force"});
    ASSERT_EQ(program->wait(), 0) << program->err();
    const auto recording = reader();
    ASSERT_TRUE(recording);
    EXPECT_EQ(stepsWithOperators(*recording), "2 3 7");
    const RecordingSummary summary = recorded();
    EXPECT_EQ(summary.steps.size(), 16u);
    const StepDetail detail(summary.detail);
    for (std::int32_t step = 0; step < 8; ++step)
        EXPECT_EQ(detail.of({1}, {step}) == CaptureLevel::kFull,
                  step == 2 || step == 3 || step == 7)
            << step;
    const json r = report();
    EXPECT_TRUE(r.at("completeness").at("complete")) << r.at("completeness");
    EXPECT_EQ(r.at("ledger").size(), 6u);
    EXPECT_EQ(r.at("detail").at("detailed_steps"), 3);
    EXPECT_EQ(
        r.at("detail").at("left_out"),
        json::array({"detail of 5 of steps 0 to 6 not recorded, only level steps: the capture "
                     "schedule"}));
    // What was allocated before the first step, and in it, is known all the same.
    EXPECT_EQ(r.at("memory").at(0).at("peak_bytes"),
              everything.at("memory").at(0).at("peak_bytes"));
    const auto verified = start({"info", "--verify", output()});
    EXPECT_EQ(verified->wait(), 0) << verified->out();
}

TEST_F(RealRank, OnlySlowStepsKeepDetail) {
    // None takes a thousand times the median.
    const auto program = record({"--steps", "20", "--capture-slow", "1000"});
    ASSERT_EQ(program->wait(), 0) << program->err();
    const auto recording = reader();
    ASSERT_TRUE(recording);
    EXPECT_EQ(stepsWithOperators(*recording), "");
    const RecordingSummary summary = recorded();
    EXPECT_EQ(summary.steps.size(), 40u);
    ASSERT_FALSE(summary.detail.empty());
    EXPECT_EQ(summary.detail.front().reason, DetailReason::kNotSlow);
    const auto verified = start({"info", "--verify", output()});
    EXPECT_EQ(verified->wait(), 0) << verified->out();
}

TEST_F(RealRank, CaptureChangesBetweenTheSameStepsOnAllRanks) {
    const auto program =
        record({"--steps", "1000000", "--evaluate-every", "0", "--control", "stdio"}, true);
    const auto passed = [&](int step) {
        return eventually([&] {
            return program->out().find("\"step\":" + std::to_string(step) + ",") !=
                       std::string::npos ||
                   program->ended();
        });
    };
    ASSERT_TRUE(passed(10)) << program->err();
    program->type("{\"command\":\"capture\",\"level\":\"much\"}\n");
    program->type("{\"command\":\"capture\",\"level\":\"steps\"}\n");
    ASSERT_TRUE(eventually([&] {
        return program->out().find("not to 'much'") != std::string::npos || program->ended();
    })) << program->out();
    ASSERT_TRUE(passed(200));
    program->type("{\"command\":\"capture\"}\n");
    ASSERT_TRUE(passed(400));
    program->type("{\"command\":\"stop\"}\n");
    EXPECT_EQ(program->wait(), 130);
    const RecordingSummary summary = recorded();
    ASSERT_EQ(summary.detail.size(), 2u);
    EXPECT_EQ(summary.detail[0].reason, DetailReason::kRequest);
    EXPECT_EQ(summary.detail[0].level, CaptureLevel::kSteps);
    EXPECT_EQ(summary.detail[0].first, summary.detail[1].first);
    EXPECT_EQ(summary.detail[0].last, summary.detail[1].last);
    EXPECT_GT(summary.detail[0].first.value, 9);
    EXPECT_LT(summary.detail[0].last.value, summary.steps.back().step.value);
    EXPECT_TRUE(report().at("completeness").at("complete")) << report().at("completeness");
}

TEST_F(RealRank, SingleTrainsOnOneRank) {
    const auto program = record({"--strategy", "single", "--ranks", "1"});
    ASSERT_EQ(program->wait(), 0) << program->err();
    EXPECT_TRUE(report().at("completeness").at("complete"));
}

TEST_F(RealRank, TokenFilesTrainLikeTheTextTheyWereMadeOf) {
    const auto succeed = [&](const std::vector<std::string>& arguments) {
        const auto program = start(arguments);
        EXPECT_EQ(program->wait(), 0) << program->err();
    };
    succeed({"tokenize", "--train", "--vocabulary", "280", "-o", path("t.json"), path("text.txt")});
    succeed({"tokenize", "--tokenizer", path("t.json"), "-o", path("tokens"), path("text.txt")});
    const auto losses = [&](std::vector<std::string> data) {
        const std::vector<std::string> rest = {
            "--vocabulary", "280", "--model",  "tiny",   "--context",      "16",
            "--steps",      "4",   "--output", output(), "--no-calibrate", "--force"};
        data.insert(data.begin(), "record");
        data.insert(data.end(), rest.begin(), rest.end());
        succeed(data);
        const json loss = report().at("loss");
        return std::pair(loss.at("first").get<double>(), loss.at("last").get<double>());
    };
    const auto tokens = losses({"--data", path("tokens")});
    EXPECT_EQ(losses({"--data", path("text.txt"), "--tokenizer", path("t.json")}), tokens);
    EXPECT_NE(losses({"--data", path("text.txt")}), tokens);
    // Nothing can be learnt of random tokens.
    EXPECT_NEAR(losses({"--data", "synthetic"}).second, std::log(280), 0.3);
}

TEST_F(RealRank, NonFiniteLossEndsTheRunInWordsAndKeepsTheRecording) {
    const auto program = record({"--lr", "1000", "--clip", "0", "--warmup", "0", "--steps", "50"});
    EXPECT_EQ(program->wait(), 5);
    // Which of the two comes first goes by how the CPU's products are rounded.
    EXPECT_THAT(program->err(),
                AllOf(HasSubstr("lower the learning rate"),
                      AnyOf(HasSubstr("all outputs are finite, but not its gradients"),
                            HasSubstr("the first output that is not finite is that of"))));
    const RecordingSummary summary = recorded();
    EXPECT_EQ(summary.run.status, RunStatus::kFailed);
    EXPECT_TRUE(summary.complete);
    EXPECT_FALSE(summary.steps.empty());
    ASSERT_FALSE(summary.diagnostics.empty());
    // The failing step's own loss and norm are there, and are a finding.
    const auto found = report().at("findings");
    const auto notFinite = std::find_if(found.begin(), found.end(), [](const json& each) {
        return each.at("code") == "not-finite";
    });
    ASSERT_NE(notFinite, found.end());
    EXPECT_EQ(notFinite->at("severity"), "problem");
}

/// What ranks compute with is chosen by options, and is in the recording either way.
TEST_F(RealRank, SaysWhatItComputesWith) {
    ASSERT_EQ(record({"--products", "mkl", "--attention", "blocked"})->wait(), 0);
    const RecordingSummary summary = recorded();
    EXPECT_EQ(factText(summary.facts, Fact::kProducts), "MKL");
    EXPECT_EQ(factText(summary.facts, Fact::kAttention), "blocked");
    EXPECT_FALSE(factText(summary.facts, Fact::kInstructionSet).empty());
    EXPECT_FALSE(factText(summary.facts, Fact::kLoad).empty());
    EXPECT_FALSE(factText(summary.facts, Fact::kOnlineCores).empty());
    for (const StepFacts& step : summary.steps) EXPECT_GE(step.busyNs, 0);
    EXPECT_GT(report().at("cores").at("own_share"), 0);
}

/// Every strategy's recording says of itself that nothing is missing, and hides what it may.
TEST_F(RealRank, EveryStrategyRecordsAllOfIt) {
    for (const run::Strategy strategy : kAll<run::Strategy>) {
        if (strategy == run::Strategy::kSingle) continue;
        const std::string word = toWord(strategy);
        std::vector<std::string> more = {"--strategy", word, "--accumulate", "2", "--force"};
        if (strategy == run::Strategy::kHsdp)
            more.insert(more.end(), {"--ranks", "4", "--shard-ranks", "2"});
        if (strategy == run::Strategy::kDdpBucket) more.insert(more.end(), {"--bucket-mb", "0.02"});
        const auto program = record(more);
        ASSERT_EQ(program->wait(), 0) << word << ": " << program->err();
        const json r = report();
        EXPECT_TRUE(r.at("completeness").at("complete")) << word << r.at("completeness");
        const json overlap = r.at("overlap").at("ratio");
        const bool after = word == "ddp-naive" || word == "ddp-flat";
        if (after) {
            EXPECT_EQ(overlap, 0.0) << word;
        } else {
            EXPECT_GT(overlap, 0.0) << word;
        }
    }
}

/// Two replicas of two ranks that share layers, in every way that gradients may go between them.
TEST_F(RealRank, RanksThatShareLayersRecordAllOfIt) {
    for (const char* strategy : {"zero3", "zero1", "ddp-bucket"}) {
        const auto program =
            record({"--strategy", strategy, "--ranks", "4", "--tensor", "2", "--sequence",
                    "--accumulate", "2", "--recompute-every", "2", "--force"});
        ASSERT_EQ(program->wait(), 0) << strategy << ": " << program->err();
        const json r = report();
        EXPECT_TRUE(r.at("completeness").at("complete")) << strategy << r.at("completeness");
        EXPECT_LT(r.at("loss").at("last"), r.at("loss").at("first"));
        for (const json& rank : r.at("memory")) {
            const double ratio =
                rank.at("peak_managed_bytes").get<double>() / rank.at("theory_bytes").get<double>();
            EXPECT_NEAR(ratio, 1, 0.03) << strategy;
        }
        const RecordingSummary summary = recorded();
        std::int64_t tokens = 0;
        for (const StepFacts& step : summary.steps)
            if (step.step == StepIndex{0}) tokens += step.tokens;
        EXPECT_EQ(tokens, 2 * 2 * 2 * 32) << "of two replicas";
    }
    const auto asked = start({"analyze", output(), "collectives", "--json"});
    ASSERT_EQ(asked->wait(), 0) << asked->err();
    for (const char* kind : {"\"tensor\"", "\"data\"", "\"all\""})
        EXPECT_THAT(asked->out(), HasSubstr(kind));
}

TEST_F(RealRank, RanksThatShareLayersFollowTheLossesOfWholeOnes) {
    const auto losses = [&](const std::vector<std::string>& more) {
        const auto program = record(more);
        EXPECT_EQ(program->wait(), 0) << program->err();
        const auto read = start({"query", output(), "--json",
                                 "SELECT value FROM metrics WHERE name IN ('loss',"
                                 " 'validation_loss') ORDER BY time_ns"});
        EXPECT_EQ(read->wait(), 0) << read->err();
        return json::parse(read->out()).at("rows");
    };
    const json whole = losses({"--ranks", "2"});
    for (const bool sequence : {false, true}) {
        std::vector<std::string> shared{"--ranks", "4", "--tensor", "2", "--force"};
        if (sequence) shared.emplace_back("--sequence");
        const json found = losses(shared);
        ASSERT_EQ(found.size(), whole.size());
        for (std::size_t i = 0; i < whole.size(); ++i)
            EXPECT_NEAR(found[i][0].get<double>(), whole[i][0].get<double>(), 1e-5) << i;
    }
}

TEST_F(RealRank, AResumedRunFollowsTheUnbrokenOne) {
    const auto losses = [&] {
        const auto program =
            start({"query", output(), "--json",
                   "SELECT step, value FROM metrics WHERE name = 'loss' ORDER BY step"});
        EXPECT_EQ(program->wait(), 0) << program->err();
        return json::parse(program->out()).at("rows");
    };
    ASSERT_EQ(record({"--steps", "8"})->wait(), 0);
    const json unbroken = losses();
    // The schedule is that of the whole run; it is told to stop by --steps of the second part.
    const auto first = record({"--steps", "8", "--checkpoint", path("ckpt"), "--checkpoint-every",
                               "4", "--keep-checkpoints", "9", "--force"});
    ASSERT_EQ(first->wait(), 0) << first->err();
    const auto second = start({"record", "--resume", path("ckpt") + "/step-0000000004", "--output",
                               output(), "--force", "--data", path("text.txt")});
    ASSERT_EQ(second->wait(), 0) << second->err();
    const json resumed = losses();
    ASSERT_EQ(resumed.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(resumed[i], unbroken[i + 4]);
    const auto exported =
        start({"export", path("ckpt"), "--format", "safetensors", "-o", path("w.safetensors")});
    EXPECT_EQ(exported->wait(), 0) << exported->err();
    // From weights alone: no moments, but the same model.
    const auto third = record({"--weights", path("w.safetensors"), "--steps", "2", "--force"});
    EXPECT_EQ(third->wait(), 0) << third->err();
    const auto other = start({"record", "--resume", path("ckpt"), "--hidden", "64", "--steps", "20",
                              "--output", output(), "--force", "--data", path("text.txt")});
    EXPECT_EQ(other->wait(), 2);
    EXPECT_THAT(other->err(), HasSubstr("of another model: hidden 32 there, 64 here"));
}

/// A rank that may have 6 GB of address space is asked for a batch whose activations take more.
TEST_F(RealRank, MemoryThatCannotBeHadIsNamedWithTheTheory) {
    const std::string script = path("rank.sh");
    std::ofstream(script) << "#!/bin/sh\nulimit -v 6000000\nexec " << SHARDSCOPE_RANK
                          << " \"$@\"\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    environment["SHARDSCOPE_RANK_PROGRAM"] = script;
    const auto program = record({"--ranks", "1", "--strategy", "single", "--hidden", "512",
                                 "--heads", "4", "--layers", "1", "--context", "128", "--batch",
                                 "32768", "--steps", "1", "--evaluate-every", "0"});
    EXPECT_EQ(program->wait(), 5);
    EXPECT_THAT(
        program->err(),
        AllOf(
            HasSubstr("out of memory: 8589934592 bytes for activations (forward of the embedding)"),
            HasSubstr("By theory a rank needs at its peak"), HasSubstr("together")));
    EXPECT_TRUE(recorded().complete);
}

TEST_F(RealRank, AFullDiskEndsACheckpointInWordsAndLeavesTheOneBefore) {
    const std::string disk = path("disk");
    std::filesystem::create_directory(disk);
    if (::mount("none", disk.c_str(), "tmpfs", 0, "size=1300k") != 0)
        GTEST_SKIP() << "no small file system to fill: this needs root";
    // Three of half a megabyte do not fit.
    const auto program = record({"--steps", "6", "--checkpoint", disk + "/ckpt",
                                 "--checkpoint-every", "1", "--keep-checkpoints", "9"});
    EXPECT_EQ(program->wait(), 5);
    EXPECT_THAT(program->err(), HasSubstr("free some room"));
    const auto exported =
        start({"export", disk + "/ckpt", "--format", "safetensors", "-o", path("w.safetensors")});
    EXPECT_EQ(exported->wait(), 0) << exported->err();
    const RecordingSummary summary = recorded();
    EXPECT_EQ(summary.run.status, RunStatus::kFailed);
    EXPECT_TRUE(summary.complete);
    ::umount(disk.c_str());
}

TEST_F(RealRank, WritesTextAndSaysWhichTypesTensorsHad) {
    const auto program = record({"--sample", "12", "--prompt", "line", "--precision-report"});
    ASSERT_EQ(program->wait(), 0) << program->err();
    int samples = 0;
    bool types = false;
    for (const Diagnostic& diagnostic : recorded().diagnostics) {
        if (diagnostic.code == "sample") ++samples;
        if (diagnostic.code != "precision-report") continue;
        types = true;
        EXPECT_THAT(diagnostic.message, HasSubstr("logits"));
        EXPECT_THAT(diagnostic.message, HasSubstr("fp32"));
    }
    EXPECT_EQ(samples, 2);
    EXPECT_TRUE(types);
}

TEST_F(RealRank, AModelledLinkIsLabelledAndGlooIsARing) {
    ASSERT_EQ(record({"--link-latency-us", "5", "--link-gb-per-s", "1"})->wait(), 0);
    const auto words = [&] {
        const auto program = start({"query", output(), "--json",
                                    "SELECT DISTINCT s.text FROM collectives c JOIN strings s ON "
                                    "s.rank = c.rank AND s.id = c.algorithm_id"});
        EXPECT_EQ(program->wait(), 0) << program->err();
        return program->out();
    };
    EXPECT_THAT(words(), HasSubstr("modelled"));
    const auto gloo = record({"--transport", "gloo", "--force"});
    ASSERT_EQ(gloo->wait(), 0) << gloo->err();
    EXPECT_THAT(words(), HasSubstr("ring"));
    EXPECT_TRUE(report().at("completeness").at("complete"));
}

TEST_F(RealRank, WhatARingSumsInIsCommunicationMemory) {
    // Over a modelled link as well, whose collectives somebody else reports.
    for (const char* link : {"0", "1"}) {
        const auto program = record({"--transport", "gloo", "--link-gb-per-s", link, "--force"});
        ASSERT_EQ(program->wait(), 0) << program->err();
        const auto recording = reader();
        ASSERT_TRUE(recording);
        const auto summary = recording->summary().value();
        for (const RankFacts& rank : summary.ranks) {
            const auto memory = recording->memoryEvents(rank.rank, summary.bounds).value();
            const auto events = recording->rankEvents(rank.rank, summary.bounds).value();
            std::int64_t held = 0, most = 0, largest = 0;
            for (const MemoryEvent& event : memory) {
                if (event.category != MemoryCategory::kCommunication) continue;
                const bool allocates = event.action == MemoryAction::kAllocate;
                held += allocates ? event.size.count : -event.size.count;
                most = std::max(most, held);
            }
            for (const CollectiveEvent& event : events.collectives) {
                if (event.operation == CollectiveOp::kReduceScatter)
                    largest = std::max(largest, event.size.count);
            }
            EXPECT_GT(largest, 0);
            EXPECT_EQ(most, largest / 2);  // what comes of a row that two ranks share
        }
    }
}

TEST_F(RealRank, AKilledRankEndsTheRunAndLeavesNoProcess) {
    const auto program = record({"--steps", "1000000", "--control", "stdio"}, true);
    std::vector<pid_t> ranks;
    ASSERT_TRUE(eventually([&] {
        const auto agents = childrenOf(program->pid());
        if (agents.size() == 1) ranks = childrenOf(agents[0]);
        return program->out().find("\"step\":20") != std::string::npos || program->ended();
    })) << program->err();
    ASSERT_EQ(ranks.size(), 2u);
    for (const pid_t rank : ranks) ASSERT_TRUE(isAlive(rank));
    ::kill(ranks[1], SIGKILL);
    EXPECT_EQ(program->wait(), 5);
    EXPECT_TRUE(eventually([&] { return !isAlive(ranks[0]) && !isAlive(ranks[1]); }));
    EXPECT_EQ(recorded().run.status, RunStatus::kFailed);
    EXPECT_GE(recorded().steps.size(), 20u);
}

TEST_F(RealRank, InterruptStopsAfterTheStepOnAllRanks) {
    const auto program = record({"--steps", "1000000", "--control", "stdio"}, true);
    ASSERT_TRUE(eventually([&] {
        return program->out().find("\"step\":5") != std::string::npos || program->ended();
    })) << program->err();
    program->signal(SIGINT);
    EXPECT_EQ(program->wait(), 130);
    const RecordingSummary summary = recorded();
    EXPECT_EQ(summary.run.status, RunStatus::kStopped);
    EXPECT_TRUE(summary.complete);
    EXPECT_EQ(summary.steps.size() % 2, 0u);
}

class RealVerify : public RealRank, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, RealVerify, testing::Values(1, 2, 3, 4));

TEST_P(RealVerify, FollowsTheReferenceFolder) {
    const std::string folder = SHARDSCOPE_REFERENCE_FOLDER;
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no reference folder at " << folder;
    const auto program =
        start({"verify", folder, "--strategy", "zero3", "--ranks", std::to_string(GetParam())});
    EXPECT_EQ(program->wait(), 0) << program->out() << program->err();
    EXPECT_THAT(program->out(), HasSubstr("PASS"));
}

}  // namespace
}  // namespace shardscope::cli
