// Our own recordings as Kineto traces: what HTA, Perfetto and TraceLens ask of them.
#include "storage/interchange/export.h"
#include "tests/storage/interchange_formats/drawn_recording.h"
#include "tests/support/formats.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <regex>
#include <set>

namespace shardscope::interchange {
namespace {

using Json = nlohmann::json;
using test::contentOf;
using test::DrawnEvents;
using test::drawnSpan;
using test::FailsWith;
using test::IsOk;

class KinetoOut : public testing::Test {
protected:
    Json sample(bool gpu, ExportOptions options = {}) {
        const std::string path = m_folder.file(gpu ? "gpu.sscope" : "cpu.sscope");
        EXPECT_THAT(test::writeSampleRecording(path, {.steps = 3, .gpu = gpu}), IsOk());
        options.ranks = {RankId{1}};
        return exported(path, std::move(options));
    }
    Json exported(const std::string& path, ExportOptions options = {}) {
        options.output = m_folder.file("out.json");
        options.overwrite = true;
        auto reader = storage::openRecording(path);
        EXPECT_THAT(reader, IsOk());
        EXPECT_THAT(exportAs("kineto", **reader, options), IsOk());
        m_text = contentOf(options.output);
        return Json::parse(m_text);
    }
    test::TemporaryFolder m_folder;
    std::string m_text;
};

bool isDevice(const Json& event) {
    return event["ph"] == "X" && event["args"].contains("stream");
}

TEST_F(KinetoOut, SaysWhatHtaReads) {
    for (const bool gpu : {false, true}) {
        const Json trace = sample(gpu);
        std::smatch match;
        ASSERT_TRUE(std::regex_search(m_text, match, std::regex(R"("rank":\s+(\d+))")));
        EXPECT_EQ(match[1], "1");
        std::set<std::string> steps;
        std::set<std::int64_t> launches;
        std::size_t kernels = 0, collectives = 0;
        for (const Json& event : trace["traceEvents"]) {
            if (event["ph"] != "X") continue;
            EXPECT_TRUE(event["ts"].is_number() && event["dur"].is_number());
            EXPECT_TRUE(event["cat"].is_string() && event["args"].is_object());
            if (event["name"].get<std::string>().starts_with("ProfilerStep#"))
                steps.insert(event["name"]);
            if (!isDevice(event) && event["args"].contains("correlation"))
                launches.insert(event["args"]["correlation"].get<std::int64_t>());
        }
        for (const Json& event : trace["traceEvents"]) {
            if (!isDevice(event)) continue;
            ++kernels;
            EXPECT_GE(event["args"]["stream"], 0);
            ASSERT_TRUE(event["args"].contains("correlation")) << event;
            EXPECT_TRUE(launches.contains(event["args"]["correlation"].get<std::int64_t>()));
            if (!event["name"].get<std::string>().starts_with("nccl")) continue;
            ++collectives;
            EXPECT_TRUE(event["args"].contains("Collective name")) << event;
            EXPECT_EQ(event["args"]["Group size"], 2);
            EXPECT_EQ(event["args"]["Process Group Ranks"], "[0, 1]");
            EXPECT_EQ(event["args"]["dtype"], gpu ? "BFloat16" : "Float");
        }
        // The last one holds what comes behind the steps, because HTA leaves it out.
        EXPECT_EQ(steps, (std::set<std::string>{"ProfilerStep#0", "ProfilerStep#1",
                                                "ProfilerStep#2", "ProfilerStep#3"}));
        EXPECT_GT(collectives, 20u);
        EXPECT_GT(kernels, collectives + 20);
    }
}

TEST_F(KinetoOut, RowsNestAndArrowsHaveTwoEnds) {
    const Json trace = sample(true);
    std::map<std::pair<std::string, std::string>, std::vector<std::pair<double, double>>> rows;
    std::map<std::int64_t, int> ends;
    std::set<std::pair<std::string, double>> starts;
    for (const Json& event : trace["traceEvents"]) {
        const std::string phase = event["ph"];
        const auto row = std::pair(event["pid"].dump(), event["tid"].dump());
        if (phase == "X") {
            const double start = event["ts"], duration = event["dur"];
            rows[row].emplace_back(start, start + duration);
            starts.insert({row.first + " " + row.second, start});
        }
        if (phase != "s" && phase != "f") continue;
        ends[event["id"].get<std::int64_t>()] |= phase == "s" ? 1 : 2;
        EXPECT_TRUE(starts.contains({row.first + " " + row.second, event["ts"].get<double>()}));
        EXPECT_EQ(event.contains("bp"), phase == "f");
    }
    EXPECT_GT(ends.size(), 100u);
    for (const auto& [id, both] : ends) EXPECT_EQ(both, 3) << id;
    constexpr double kRounding = 1e-6;
    for (auto& [row, spans] : rows) {
        std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first < b.first : a.second > b.second;
        });
        std::vector<double> open;
        for (const auto& [start, end] : spans) {
            while (!open.empty() && open.back() <= start + kRounding) open.pop_back();
            if (!open.empty()) {
                EXPECT_LE(end, open.back() + kRounding) << row.first << row.second;
            }
            open.push_back(end);
        }
    }
}

TEST_F(KinetoOut, WholeMicrosecondsAreWhole) {
    ExportOptions options;
    options.integerMicroseconds = true;
    const Json trace = sample(true, options);
    for (const Json& event : trace["traceEvents"]) {
        if (event["ph"] == "M") continue;
        EXPECT_TRUE(event["ts"].is_number_integer()) << event;
        EXPECT_GE(event.value("dur", 0), 0);
    }
}

TEST_F(KinetoOut, NamesAndMemoryAreKinetos) {
    const Json trace = sample(true);
    std::set<std::string> copies;
    std::int64_t total = 0;
    for (const Json& event : trace["traceEvents"]) {
        if (event.value("cat", "") == "gpu_memcpy") copies.insert(event["name"]);
        if (event["name"] != "[memory]") continue;
        total += event["args"]["Bytes"].get<std::int64_t>();
        EXPECT_EQ(event["args"]["Total Allocated"], total);
        EXPECT_EQ(event["args"]["Device Type"], 1);
    }
    EXPECT_EQ(copies, (std::set<std::string>{"Memcpy HtoD (Pinned -> Device)",
                                             "Memcpy DtoH (Device -> Pageable)"}));
    EXPECT_GT(total, 0);
}

/// Anything may stand in a recording; the trace is JSON.
TEST_F(KinetoOut, AnyBytesGiveJson) {
    DrawnEvents events;
    events.strings = {std::string("\xff\xfe \n\"\\"),
                      "{\"a\":NaN}",
                      "{\"a\": [1, {\"b\": 007}]}",
                      "{broken",
                      "[1]",
                      std::string(5000, '['),
                      "{\"stream\": 3, \"s\" : \"\xc3\x28\"}",
                      "{\"a\":\"\x01\"}",
                      "{\"stream\": 3}"};
    for (std::uint32_t id = 1; id <= events.strings.size(); ++id) {
        SpanEvent span = drawnSpan(id, 1000 + 10 * id, 5);
        span.arguments = {id};
        events.spans.push_back(span);
    }
    events.samples.push_back({{2000}, {}, std::numeric_limits<double>::infinity()});
    const std::size_t count = events.spans.size();
    const std::string path = m_folder.file("drawn.sscope");
    ASSERT_THAT(test::writeDrawn(path, events), IsOk());
    const Json trace = exported(path);
    std::size_t operators = 0;
    for (const Json& event : trace["traceEvents"])
        if (event.value("cat", "") == "cpu_op") {
            ++operators;
            EXPECT_FALSE(isDevice(event)) << "HTA would take it for a device's: " << event;
        }
    EXPECT_EQ(operators, count);
}

/// A rank without device lanes: HTA takes its work for the device's, activation checkpointing's
/// second forward included.
TEST_F(KinetoOut, EveryPhaseOfWorkIsAKernel) {
    DrawnEvents events;
    events.laneName = "phases";
    events.role = LaneRole::kCompute;
    events.strings = {"phase"};
    std::size_t works = 0;
    for (const Phase phase : kAll<Phase>) {
        events.spans.push_back(drawnSpan(1, 1000 * static_cast<int>(phase), 500));
        events.spans.back().phase = phase;
        works += isWork(phase);
    }
    const std::string path = m_folder.file("drawn.sscope");
    ASSERT_THAT(test::writeDrawn(path, events), IsOk());
    const Json trace = exported(path);
    std::size_t kernels = 0;
    for (const Json& event : trace["traceEvents"]) kernels += event.value("cat", "") == "kernel";
    EXPECT_EQ(kernels, works);
    EXPECT_GE(works, 6u);
}

/// What an event says of its device counts, and stands there once.
TEST_F(KinetoOut, NoKeyTwice) {
    DrawnEvents events;
    events.laneName = "stream 9";
    events.role = LaneRole::kCompute;
    events.lane = {0x1003};
    events.strings = {
        "gemm",
        R"({"device":2,"context":3,"stream":11,"registers":40,"correlation":5,"grid":[1]})"};
    events.spans = {drawnSpan(1, 1000, 10), drawnSpan(1, 2000, 10)};
    events.spans[0].arguments = {2};
    const std::string path = m_folder.file("drawn.sscope");
    ASSERT_THAT(test::writeDrawn(path, events), IsOk());
    const Json trace = exported(path);
    std::vector<Json> kernels;
    for (const Json& event : trace["traceEvents"])
        if (event.value("cat", "") == "kernel") kernels.push_back(event["args"]);
    EXPECT_EQ(kernels, (std::vector<Json>{Json::parse(
                                              R"({"device":2,"context":3,"stream":11,
                                                  "registers per thread":40,"grid":[1]})"),
                                          Json::parse(R"({"device":0,"context":1,"stream":9})")}));
    for (std::size_t at = m_text.find("\"stream\":"); at != std::string::npos;) {
        const std::size_t next = m_text.find("\"stream\":", at + 1);
        EXPECT_LT(m_text.find('\n', at), next) << "two in one event";
        at = next;
    }
}

TEST_F(KinetoOut, SeveralRanksAreAFolder) {
    const std::string path = m_folder.file("cpu.sscope");
    ASSERT_THAT(test::writeSampleRecording(path, {.steps = 1}), IsOk());
    auto reader = storage::openRecording(path);
    ASSERT_THAT(reader, IsOk());
    ExportOptions options;
    options.output = m_folder.file("one.json.gz");
    EXPECT_THAT(exportAs("kineto", **reader, options), FailsWith("name a folder"));
    options.output = m_folder.file("traces");
    const auto account = exportAs("kineto", **reader, options);
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->files, (std::vector<std::string>{options.output + "/rank0.json.gz",
                                                        options.output + "/rank1.json.gz"}));
    EXPECT_THAT(exportAs("kineto", **reader, options), FailsWith("is not empty"));
    std::filesystem::copy_file(options.output + "/rank0.json.gz",
                               options.output + "/rank7.json.gz");  // of an earlier export
    std::ofstream(options.output + "/rank8.json.gz") << "no trace at all";
    std::ofstream(options.output + "/notes.txt") << "mine";
    options.overwrite = true;
    ASSERT_THAT(exportAs("kineto", **reader, options), IsOk());
    EXPECT_FALSE(std::filesystem::exists(options.output + "/rank7.json.gz"));
    EXPECT_TRUE(std::filesystem::exists(options.output + "/rank8.json.gz"));
    EXPECT_TRUE(std::filesystem::exists(options.output + "/notes.txt"));
    std::ofstream(options.output + "/rank1.json.gz") << "no trace at all";
    EXPECT_THAT(exportAs("kineto", **reader, options), FailsWith("is not a Kineto trace"));
    options.output = m_folder.file("stopped");
    options.progress = [](double) { return false; };
    EXPECT_FALSE(exportAs("kineto", **reader, options));
    EXPECT_FALSE(std::filesystem::exists(options.output));
    for (const auto& entry : std::filesystem::directory_iterator(m_folder.path()))
        EXPECT_EQ(entry.path().string().find(".part-"), std::string::npos) << entry.path();
}

}  // namespace
}  // namespace shardscope::interchange
