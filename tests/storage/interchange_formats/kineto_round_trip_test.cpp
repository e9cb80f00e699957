// Kineto in, out, and in again: every event and argument is there.
#include "storage/interchange/byte_source.h"
#include "storage/interchange/export.h"
#include "storage/interchange/import.h"
#include "tests/storage/interchange_formats/drawn_recording.h"
#include "tests/storage/interchange_formats/random_kineto.h"
#include "tests/support/formats.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace shardscope::interchange {
namespace {

using test::canonicalEvents;
using test::contentOf;
using test::IsOk;
using test::TemporaryFolder;

class KinetoRoundTrip : public testing::Test {
protected:
    /// The trace written again from a recording of it.
    std::string again(const std::string& trace, bool wholeMicroseconds = false) {
        ImportOptions in;
        in.output = m_folder.file("run.sscope");
        in.overwrite = in.strict = true;
        const auto imported = importTraces({trace}, in);
        EXPECT_THAT(imported, IsOk());
        ExportOptions out;
        out.output = m_folder.file("again.json");
        out.overwrite = true;
        out.integerMicroseconds = wholeMicroseconds;
        auto reader = storage::openRecording(in.output);
        EXPECT_THAT(reader, IsOk());
        EXPECT_THAT(exportAs("kineto", **reader, out), IsOk());
        return contentOf(out.output);
    }
    std::string put(const std::string& text) {
        const std::string path = m_folder.file("trace.json");
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }
    static void expectEqual(std::vector<std::string> a, std::vector<std::string> b) {
        std::sort(a.begin(), a.end());
        std::sort(b.begin(), b.end());
        std::vector<std::string> onlyA, onlyB;
        std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(onlyA));
        std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(onlyB));
        EXPECT_EQ(onlyA.size() + onlyB.size(), 0u)
            << "of " << a.size() << ", lost: " << (onlyA.empty() ? "nothing" : onlyA.front())
            << "\n made up: " << (onlyB.empty() ? "nothing" : onlyB.front());
    }

    TemporaryFolder m_folder;
};

TEST_F(KinetoRoundTrip, RandomTraces) {
    std::size_t events = 0;
    for (std::uint32_t seed = 1; seed <= 30 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const test::RandomKineto trace = test::randomKineto(seed);
        const std::string once = again(put(trace.text));
        expectEqual(trace.events, canonicalEvents(once));
        const std::string twice = again(put(once));
        expectEqual(canonicalEvents(once), canonicalEvents(twice));
        events += trace.events.size();
    }
    EXPECT_GT(events, 3000u);
}

TEST_F(KinetoRoundTrip, MetadataStays) {
    const std::string text = again(put(
        R"({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
            "deviceProperties": [{"id": 0, "name": "A"}], "my key": "é", "baseTimeNanoseconds": 7000,
            "traceEvents": [{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":0.5,"dur":1}]})"));
    // HTA looks for a blank.
    EXPECT_NE(text.find(R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8})"),
              std::string::npos)
        << text;
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["my key"], "é");
    EXPECT_EQ(json["baseTimeNanoseconds"], 7000);
    EXPECT_EQ(json["deviceProperties"][0]["name"], "A");
    EXPECT_NE(text.find("\"ts\": 0.500, \"dur\": 1.000"), std::string::npos) << text;
}

/// Starts and ends are floored: neighbours stay neighbours, nothing ends before it starts.
TEST_F(KinetoRoundTrip, WholeMicroseconds) {
    const std::string text =
        again(put(R"([{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1.900,"dur":0.3},
                {"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":2.2,"dur":0.7},
                {"ph":"s","cat":"async","name":"s","id":5,"pid":1,"tid":1,"ts":9.9}])"),
              true);
    EXPECT_NE(text.find("\"ts\": 1, \"dur\": 1,"), std::string::npos) << text;
    EXPECT_NE(text.find("\"ts\": 2, \"dur\": 0,"), std::string::npos) << text;
    EXPECT_NE(text.find("\"ts\": 9}"), std::string::npos) << text;
}

TEST_F(KinetoRoundTrip, RealTrace) {
    const std::string trace = SHARDSCOPE_SHARED_TRACES "/kineto_a100_2rank_nccl.json.gz";
    if (!std::filesystem::exists(trace))
        GTEST_SKIP() << trace << " is not here: no real trace was read";
    const std::string once = again(trace);
    const auto events = canonicalEvents(once);
    // Of 40,573: one name stands twice.
    EXPECT_EQ(events.size(), 40'572u);
    expectEqual(events, canonicalEvents(again(put(once))));
}

/// Flows and instants, each once, with all that stands in them; times are the same decimals.
std::vector<std::string> flowsAndInstants(const std::string& trace) {
    std::vector<std::string> found;
    const nlohmann::json whole = nlohmann::json::parse(trace);
    for (const auto& event : whole["traceEvents"]) {
        if (std::string("stfi").find(event["ph"].get<std::string>()) == std::string::npos) continue;
        nlohmann::json plain = event;
        if (plain.contains("args") && plain["args"].empty()) plain.erase("args");
        found.push_back(plain.dump());
    }
    return found;
}

TEST_F(KinetoRoundTrip, EveryFlowAndInstantOfTheRealTraceIsThereOnce) {
    const std::string trace = SHARDSCOPE_SHARED_TRACES "/kineto_a100_2rank_nccl.json.gz";
    if (!std::filesystem::exists(trace))
        GTEST_SKIP() << trace << " is not here: no real trace was read";
    auto source = openBytes(trace, trace);
    ASSERT_THAT(source, IsOk());
    std::string text;
    for (std::vector<char> block(1 << 20);;) {
        const auto count = (*source)->read(block);
        ASSERT_THAT(count, IsOk());
        if (*count == 0) break;
        text.append(block.data(), *count);
    }
    const auto before = flowsAndInstants(text);
    EXPECT_EQ(before.size(), 13'602u);  // 4,966 arrows have only one end
    expectEqual(before, flowsAndInstants(again(trace)));
}

}  // namespace
}  // namespace shardscope::interchange
