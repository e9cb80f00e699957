#include "engine/run/protocol/messages.h"

#include "engine/run/protocol/progress.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace shardscope::run {
namespace {

using testing::HasSubstr;

/// One of each message, no field at its default.
std::vector<Message> everyMessage() {
    RunConfig config;
    config.model.name = "mine";
    config.steps = 7;
    HostFacts host{1, "box", "a cpu", 4, Bytes{1 << 30}, "boot", -5, 3};
    LaneFacts lane{RankId{2}, LaneId{9}, LaneRole::kCounter, "memory", "bytes", 4};
    StepFacts step{RankId{1},
                   StepIndex{3},
                   Timestamp{10},
                   Timestamp{20},
                   128,
                   5,
                   6,
                   7,
                   100,
                   2,
                   33,
                   Bytes{4096},
                   55,
                   66,
                   77};
    MetricPoint point{"loss", StepIndex{3}, Timestamp{20}, 2.5};
    Diagnostic diagnostic{Severity::kProblem, "code",       "message", "remedy",
                          RankId{1},          Timestamp{5}, 3};
    ProcessFacts process;
    process.host = 1;
    process.pid = 77;
    process.command = "train.py";
    process.exitCode = 3;
    DeviceFacts device;
    device.rank = RankId{1};
    device.name = "NVIDIA H200";
    device.sharedBy = 2;
    device.vendorPeak = 989e12;
    device.measuredPeakSource = "not measured";
    device.clockErrorNs = 4000;
    return {AgentHello{1, "shardscope 1", 42, host, 99, "10.0.0.1"},
            PrepareRequest{1, "eth0", "10.0.0.2", "token", 1 << 20},
            HostPrepared{"10.0.0.1", 4001, 4002, "no such interface", 1 << 21},
            DataRequest{"/data"},
            DataChecked{"cafe", 77, "cannot be read"},
            PeersRequest{{{"b", "10.0.0.2", 4003}}},
            PeersChecked{{"b was not reached"}},
            ClockAsked{5},
            ClockAnswer{5, 6, 7},
            ClockCorrection{8, 9, -10},
            Backlog{30, 20, 10},
            Taken{40},
            LaunchRequest{config,
                          12,
                          "/bin/rank",
                          4096,
                          {{"OMP_NUM_THREADS", "1"}},
                          {{2, 2}},
                          1,
                          {"10.0.0.1", 4001, "key"}},
            ProgramLaunch{12,
                          1,
                          {"torchrun", "train.py"},
                          "/home",
                          {{"OMP_NUM_THREADS", "1"}},
                          {CaptureLevel::kLight, "3-4", 5},
                          "step.*"},
            TaskTerms{"cafe", "babe", "/bin/rank", config, "no data"},
            RankStart{config, 1, 12, 4, 4096, {{2, 2}}, {"10.0.0.1", 4001, "key"}, 5, "10.0.0.2"},
            Command{"capture", {"light", "10-20", 3}},
            Heartbeat{},
            RankStarted{1, 77},
            RankExited{1, std::nullopt, 9, "last \"words\"", ProcessHold::kFrozen, "cause"},
            RankLooked{77, ProcessHold::kDisk, Duration{5}, Duration{6}},
            AgentDone{},
            LogLine{"warning", "text"},
            RankHello{1, "shardscope 1", 77, "cpu", {{"torch", "2.11.0"}}},
            PeakMeasured{1.5e10, "measured"},
            DeviceReported{device},
            LaneDeclared{lane},
            StringsDeclared{3, {"a", "b"}},
            StepDone{step, Bytes{5}, Duration{6}},
            RankActivity{StepIndex{3}, Phase::kWaitGather, LayerIndex{2}, Duration{9}, true,
                         Bytes{10}, Bytes{11}},
            MetricReported{point},
            SampleWritten{StepIndex{3}, Timestamp{20}, "text"},
            TheoryReported{{MemoryTheory{RankId{1}, MemoryCategory::kGradient, Bytes{8}}}},
            FactsReported{{FactRow{"products", 1, 2, "MKL"}}},
            DiagnosticRaised{diagnostic},
            RankFinished{10, 1, true},
            RankFailed{"loss is nan", "non-finite-loss", 4, "head", 2, 1},
            VerifyResult{1e-7, 2e-6, 3e-6, "wte.weight", 20, 100, 99},
            ProcessesSeen{{process}},
            CollectiveOpen{"default", 8, 7, "all_reduce", 9},
            ProgramEnded{1, 2, 3, {{"torch", "2.11.0"}}, 4, "why"}};
}

TEST(Messages, AllComeBackFromJsonUnchanged) {
    const auto all = everyMessage();
    ASSERT_EQ(all.size(), std::variant_size_v<Message>) << "a message is not tried";
    for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(all[i].index(), i);
        const std::string text = encode(all[i]);
        const auto back = decode(text);
        ASSERT_TRUE(back.has_value()) << text << "\n" << back.error().message;
        EXPECT_EQ(back->index(), i);
        EXPECT_EQ(encode(*back), text);
    }
}

TEST(Messages, EveryFieldIsCarried) {
    // A field that encode() forgets would come back as its default: none here is at it.
    for (const Message& message : everyMessage()) {
        const auto json = nlohmann::json::parse(encode(message));
        for (const auto& [key, value] : json.items()) {
            if (key == "type" || key == "code" || key == "config") continue;
            EXPECT_FALSE(value == 0 || value == "") << json["type"] << "." << key;
        }
    }
    const auto all = everyMessage();
    const auto sent = std::find_if(all.begin(), all.end(), [](const Message& message) {
        return std::holds_alternative<StepDone>(message);
    });
    const auto back = decode(encode(*sent));
    ASSERT_TRUE(back.has_value());
    const auto& step = std::get<StepDone>(*back);
    EXPECT_EQ(step.step.residentSet.count, 4096);
    EXPECT_EQ(step.step.expectedPhases, 7);
    EXPECT_EQ(step.step.coreWaitNs, 55);
    EXPECT_EQ(step.step.stolenNs, 66);
    EXPECT_EQ(step.step.busyNs, 77);
    EXPECT_EQ(step.exposedCommunication.ns, 6);
}

TEST(Messages, EveryFieldIsNeeded) {
    for (const Message& message : everyMessage()) {
        const auto whole = nlohmann::json::parse(encode(message));
        for (const auto& [key, value] : whole.items()) {
            auto without = whole;
            without.erase(key);
            const auto back = decode(without.dump());
            ASSERT_FALSE(back.has_value()) << whole["type"] << " without " << key;
            EXPECT_THAT(back.error().message, HasSubstr(key));
        }
    }
}

constexpr const char* kEvil = "\x1b]0;title\x07 \x1b[31m\r\n\x7f\xC2\x9B[2J";
constexpr const char* kTame = "\\x1b]0;title\\x07 \\x1b[31m  \\x7f\\xc2\\x9b[2J";
constexpr const char* kTameLines = "\\x1b]0;title\\x07 \\x1b[31m\\x0d\n\\x7f\\xc2\\x9b[2J";

/// Whatever message a rank may send: every text of it, at whatever depth.
void makeEvil(nlohmann::json& json) {
    for (auto& [key, value] : json.items()) {
        if (value.is_string() && key != "type") value = kEvil;
        if (value.is_structured()) makeEvil(value);
    }
}

bool holdsText(const nlohmann::json& json, const std::string& text) {
    if (json.is_string()) return json.get<std::string>().find(text) != std::string::npos;
    return json.is_structured() &&
           std::any_of(json.begin(), json.end(),
                       [&](const nlohmann::json& each) { return holdsText(each, text); });
}

TEST(Messages, NoTextOfAnAgentOrARankSteersATerminal) {
    const std::set<std::string> requests{"prepare_request", "data_request",   "peers_request",
                                         "launch_request",  "program_launch", "task_terms",
                                         "rank_start",      "command"};
    for (const Message& message : everyMessage()) {
        auto json = nlohmann::json::parse(encode(message));
        if (requests.contains(json["type"])) continue;
        makeEvil(json);
        const auto back = decode(json.dump());
        ASSERT_TRUE(back.has_value()) << json << back.error().message;
        const auto taken = nlohmann::json::parse(encode(*back));
        for (const char* control : {"\x1b", "\x07", "\r", "\x7f", "\xC2\x9B"})
            EXPECT_FALSE(holdsText(taken, control)) << taken;
    }
}

TEST(Messages, OnlyTextsOfSeveralLinesKeepThem) {
    const auto line = decode(encode(LogLine{"info", kEvil}));
    ASSERT_TRUE(line.has_value());
    EXPECT_EQ(std::get<LogLine>(*line).text, kTame);
    const auto failed = decode(encode(RankFailed{kEvil, "failure", -1, "", -1}));
    EXPECT_EQ(std::get<RankFailed>(*failed).message, kTame);
    const auto sample = decode(encode(SampleWritten{StepIndex{1}, Timestamp{2}, kEvil}));
    EXPECT_EQ(std::get<SampleWritten>(*sample).text, kTameLines);
    const auto strings = decode(encode(StringsDeclared{3, {"a\n\tb", kEvil}}));
    EXPECT_THAT(std::get<StringsDeclared>(*strings).texts,
                testing::ElementsAre("a\n\tb", kTameLines));
    const auto hello = decode(encode(RankHello{1, kEvil, 7, kEvil, {{kEvil, kEvil}}}));
    EXPECT_THAT(std::get<RankHello>(*hello).libraries,
                testing::ElementsAre(testing::Pair(kTame, kTame)));
}

TEST(Messages, WhatTheRecorderAsksForStaysAsItIs) {
    RankStart start;
    start.config.prompt = kEvil;
    const auto back = decode(encode(start));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(std::get<RankStart>(*back).config.prompt, kEvil);
}

TEST(Messages, AnUnknownMessageIsNamedWithoutItsControlCharacters) {
    const auto back = decode(nlohmann::json{{"type", kEvil}}.dump());
    ASSERT_FALSE(back.has_value());
    EXPECT_THAT(back.error().message, HasSubstr(kTame));
}

TEST(Messages, UnknownFieldsOfANewerPeerAreIgnored) {
    auto json = nlohmann::json::parse(encode(Command{"stop"}));
    json["urgency"] = 3;
    const auto back = decode(json.dump());
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(std::get<Command>(*back).verb, "stop");
}

TEST(Messages, ANonFiniteMetricArrivesAsNaN) {
    MetricReported report;
    report.point.value = std::numeric_limits<double>::infinity();
    const auto back = decode(encode(report));
    ASSERT_TRUE(back.has_value());
    EXPECT_TRUE(std::isnan(std::get<MetricReported>(*back).point.value));
}

TEST(Messages, GarbageIsRefusedInWords) {
    EXPECT_FALSE(decode("").has_value());
    EXPECT_FALSE(decode("[1]").has_value());
    EXPECT_FALSE(decode("{\"type\": 3}").has_value());
    const auto unknown = decode("{\"type\": \"dance\"}");
    ASSERT_FALSE(unknown.has_value());
    EXPECT_THAT(unknown.error().message, HasSubstr("dance"));
    const auto wrong = decode("{\"type\": \"rank_started\", \"rank\": \"one\", \"pid\": 1}");
    ASSERT_FALSE(wrong.has_value());
    EXPECT_THAT(wrong.error().message, HasSubstr("rank_started.rank"));
}

TEST(Messages, BytesThatAreNoTextStillTravel) {
    const auto back = decode(encode(LogLine{"info", "broken \xff utf-8"}));
    ASSERT_TRUE(back.has_value());
    EXPECT_THAT(std::get<LogLine>(*back).text, HasSubstr("utf-8"));
}

// What the recorder says, as the window hears it.

template <class Event>
Event backAgain(const Event& event) {
    const auto decoded = decodeProgress(encodeProgress(event));
    EXPECT_TRUE(decoded && decoded->has_value());
    return std::get<Event>(**decoded);
}

TEST(Progress, ComesBackAsItWasSaid) {
    EXPECT_EQ(backAgain(RunStarted{"run.sscope", "ref", "zero3", 4, 20, 7}).parameters, 7);
    EXPECT_EQ(backAgain(RunStarted{"a", "", "", 0, 0, 0, "python 'a b.py'"}).command,
              "python 'a b.py'");
    const ProgramFigures program = backAgain(ProgramFigures{3, Bytes{4096}, 1.5});
    EXPECT_EQ(program.processes, 3);
    EXPECT_EQ(program.residentSet->count, 4096);
    EXPECT_EQ(program.cores, 1.5);
    StepProgress step;
    step.step = 4;
    step.loss = 2.5;
    step.memory = Bytes{1 << 30};
    step.timeSeconds = 0.25;
    const StepProgress heard = backAgain(step);
    EXPECT_EQ(heard.loss, 2.5);
    EXPECT_EQ(heard.memory->count, 1 << 30);
    EXPECT_FALSE(heard.secondsLeft);
    EXPECT_EQ(heard.timeSeconds, 0.25);
    EXPECT_EQ(backAgain(ValidationDone{3, 1.5}).loss, 1.5);
    EXPECT_EQ(backAgain(RankChanged{1, "running", 77}).state, "running");
    EXPECT_EQ(backAgain(SampleText{3, "to\nbe"}).text, "to\nbe");
    const HostChanged host =
        backAgain(HostChanged{1, "node-b", "sending", "the program", Bytes{5}, Bytes{20}});
    EXPECT_EQ(host.name, "node-b");
    EXPECT_EQ(host.all.count, 20);
    EXPECT_EQ(backAgain(RecorderLog{"info", "two\nlines"}).text, "two\nlines");
    EXPECT_EQ(backAgain(RunFinished{"failed", "a", 5, "why"}).exitCode, 5);
}

TEST(Progress, FiguresOfARankComeBackAsTheyWereSaid) {
    RankFigures figures;
    figures.rank = 2;
    figures.step = 7;
    figures.phase = "wait for gather";
    figures.layer = 3;
    figures.phaseSeconds = 1.5;
    figures.waits = true;
    figures.queues = true;
    figures.tensors = Bytes{1 << 20};
    figures.residentSet = Bytes{1 << 21};
    figures.tokensPerSecond = 99.5;
    figures.stepsCounted = 4;
    figures.stepSeconds = 0.25;
    figures.cores = 1.5;
    EXPECT_EQ(encodeProgress(backAgain(figures)), encodeProgress(figures));
    EXPECT_EQ(encodeProgress(figures),
              R"({"event":"rank_figures","rank":2,"step":7,"phase":"wait for gather","layer":3,)"
              R"("phase_s":1.5,"waits":true,"queues":true,"tensor_bytes":1048576,)"
              R"("resident_bytes":2097152,"tokens_per_s":99.5,"steps_counted":4,)"
              R"("step_s":0.25,"cores":1.5})");
}

TEST(Progress, WhatIsNotKnownOfARankIsNullAndStaysUnknown) {
    EXPECT_EQ(encodeProgress(RankFigures{}),
              R"({"event":"rank_figures","rank":0,"step":null,"phase":"","layer":null,)"
              R"("phase_s":null,"waits":false,"queues":false,"tensor_bytes":null,)"
              R"("resident_bytes":null,"tokens_per_s":null,"steps_counted":0,)"
              R"("step_s":null,"cores":null})");
    const auto event = decodeProgress(R"({"event":"rank_figures","rank":1})");
    ASSERT_TRUE(event && event->has_value());
    const auto& figures = std::get<RankFigures>(**event);
    EXPECT_EQ(figures.rank, 1);
    EXPECT_FALSE(figures.step || figures.tensors || figures.residentSet || figures.tokensPerSecond);
}

TEST(Progress, IsOneLine) {
    EXPECT_EQ(encodeProgress(RecorderLog{"info", "a\nb"}),
              R"({"event":"log","level":"info","text":"a\nb"})");
}

TEST(Progress, EventsOfANewerRecorderAreIgnored) {
    const auto event = decodeProgress(R"({"event":"weather","sun":true})");
    ASSERT_TRUE(event);
    EXPECT_FALSE(event->has_value());
    EXPECT_FALSE(decodeProgress("[1,2]"));
    EXPECT_FALSE(decodeProgress("{"));
    EXPECT_FALSE(decodeProgress(R"({"event":"log","level":3})"));
}

TEST(Progress, MissingNumbersStayUnknown) {
    const auto event = decodeProgress(R"({"event":"step","step":4,"steps":9,"loss":null})");
    ASSERT_TRUE(event && event->has_value());
    const auto& step = std::get<StepProgress>(**event);
    EXPECT_EQ(step.step, 4);
    EXPECT_FALSE(step.loss.has_value());
    EXPECT_FALSE(step.memory.has_value());
}

}  // namespace
}  // namespace shardscope::run
