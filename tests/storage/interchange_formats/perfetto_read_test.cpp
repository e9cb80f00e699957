// Perfetto traces of our own, back into recordings: everything that the file holds is equal.
#include "storage/interchange/export.h"
#include "storage/interchange/import.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/storage/interchange_formats/drawn_recording.h"
#include "tests/support/formats.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"
#include "tests/support/sample_recording.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace shardscope::interchange {
namespace {

using Json = nlohmann::json;
using storage::RecordingReader;
using test::contentOf;
using test::FailsAs;
using test::FailsWith;
using test::IsOk;

constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};
constexpr std::uint32_t kFirstDerivedLane = 0x10000;

/// An event as text; arguments as values.
std::string textOf(RecordingReader& reader, RankId rank, const SpanEvent& span) {
    const std::string name(reader.text(rank, span.name));
    const std::string arguments(reader.text(rank, span.arguments));
    const Json parsed = Json::parse(arguments, nullptr, false);
    return Json{span.start.ns,
                span.duration.ns,
                name,
                parsed.is_object() ? parsed : Json(arguments),
                span.correlation,
                span.step.value,
                span.layer.value,
                static_cast<int>(span.phase)}
        .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> everything(RecordingReader& reader) {
    const auto summary = reader.summary();
    EXPECT_THAT(summary, IsOk());
    std::vector<std::string> all;
    const auto add = [&](const Json& json) { all.push_back(json.dump()); };
    for (const LaneFacts& lane : summary->lanes) {
        const std::int64_t rank = lane.rank.value, id = lane.lane.value;
        // What is derived from memory events is drawn at the end of a recording's lanes.
        const bool derived = id >= kFirstDerivedLane;
        add({"lane", rank, id, static_cast<int>(lane.role), lane.name, lane.unit,
             derived ? 0 : lane.order});
        if (lane.role == LaneRole::kCounter) {
            const auto samplesOf = reader.samples(lane.rank, lane.lane, kEverything);
            for (const CounterEvent& sample : *samplesOf)
                add({"sample", rank, id, sample.time.ns, sample.value});
            continue;
        }
        const auto spansOf = reader.spans(lane.rank, lane.lane, kEverything);
        for (const SpanEvent& span : *spansOf)
            add({"span", rank, id, textOf(reader, lane.rank, span)});
    }
    for (const RankFacts& rank : summary->ranks) {
        add({"rank", rank.rank.value, rank.pid, rank.device});
        const auto memoryEventsOf = reader.memoryEvents(rank.rank, kEverything);
        for (const MemoryEvent& e : *memoryEventsOf)
            add({"memory", rank.rank.value, e.time.ns, e.address, e.size.count,
                 static_cast<int>(e.action), static_cast<int>(e.category),
                 reader.text(rank.rank, e.owner), e.step.value, e.layer.value,
                 static_cast<int>(e.phase)});
        const auto events = reader.rankEvents(rank.rank, kEverything);
        for (const CollectiveEvent& e : events->collectives) {
            std::vector<std::int64_t> arrivals;
            for (const Timestamp arrival : e.arrivals) arrivals.push_back(arrival.ns);
            const std::string algorithm(reader.text(rank.rank, e.algorithm));
            add({"collective", rank.rank.value, static_cast<int>(e.operation),
                 static_cast<int>(e.dtype), static_cast<int>(e.cause), e.layer.value, e.step.value,
                 e.group, e.sequence, e.size.count, algorithm, reader.text(rank.rank, e.protocol),
                 e.issue.ns, e.start.ns, e.end.ns, arrivals});
        }
    }
    for (const StepFacts& s : summary->steps)
        add({"step", s.rank.value, s.step.value, s.start.ns, s.end.ns, s.tokens, s.expectedGathers,
             s.expectedReductions, s.expectedPhases, s.emitted, s.dropped, s.cpuTimeNs,
             s.residentSet.count, s.coreWaitNs, s.stolenNs});
    for (const MetricPoint& m : summary->metrics)
        add({"metric", m.name, m.step.value, m.time.ns, m.value});
    const RunFacts& run = summary->run;
    add({"run", run.model, run.strategy, run.worldSize, run.parameters, run.startedUnixNs,
         run.configJson});
    std::sort(all.begin(), all.end());
    return all;
}

class ReadPerfetto : public testing::Test {
protected:
    Result<ImportAccount> import(const std::string& trace, const std::string& to) {
        ImportOptions options;
        options.output = to;
        options.overwrite = true;
        return importTraces({trace}, options);
    }
    void expectRoundTrip(const std::string& recording) {
        auto reader = storage::openRecording(recording);
        ASSERT_THAT(reader, IsOk());
        ExportOptions options;
        options.output = file("run.pftrace");
        options.overwrite = true;
        ASSERT_THAT(exportAs("perfetto", **reader, options), IsOk());
        const auto account = import(options.output, file("again.sscope"));
        ASSERT_THAT(account, IsOk());
        EXPECT_EQ(account->rejected(), 0u);
        auto again = storage::openRecording(file("again.sscope"));
        ASSERT_THAT(again, IsOk());
        const auto before = everything(**reader), after = everything(**again);
        ASSERT_EQ(before.size(), after.size());
        for (std::size_t i = 0; i < before.size(); ++i) ASSERT_EQ(before[i], after[i]);
        for (const char* sql :
             {"SELECT lane, name, category, id, point, time_ns, span_start_ns, step, arguments"
              " FROM flows ORDER BY time_ns, lane, name, id, point",
              "SELECT lane, name, time_ns, scope, step, arguments FROM instants"
              " ORDER BY time_ns, lane, name, scope",
              "SELECT time_ns, address, arguments FROM memory_events ORDER BY time_ns, address"}) {
            const auto rows = (*reader)->query(sql), rowsAgain = (*again)->query(sql);
            ASSERT_THAT(rows, IsOk());
            ASSERT_THAT(rowsAgain, IsOk());
            ASSERT_EQ(rows->rows.size(), rowsAgain->rows.size()) << sql;
            for (std::size_t i = 0; i < rows->rows.size(); ++i)
                for (std::size_t k = 0; k < rows->columns.size(); ++k)
                    ASSERT_EQ(rows->rows[i][k].value_or("NULL"),
                              rowsAgain->rows[i][k].value_or("NULL"))
                        << sql << ", row " << i << ", " << rows->columns[k];
        }
    }
    std::string drawn(const test::DrawnEvents& events) {
        const std::string path = file("drawn.sscope");
        EXPECT_THAT(test::writeDrawn(path, events), IsOk());
        return path;
    }
    [[nodiscard]] std::string file(const std::string& name) const { return m_folder.file(name); }
    test::TemporaryFolder m_folder;
};

TEST_F(ReadPerfetto, SampleRecordingsComeBack) {
    for (const bool gpu : {false, true}) {
        const std::string path = file("sample.sscope");
        ASSERT_THAT(test::writeSampleRecording(path, {.steps = 3, .gpu = gpu}), IsOk());
        expectRoundTrip(path);
    }
}

TEST_F(ReadPerfetto, FlowsAndInstantsComeBack) {
    std::ofstream(file("flows.json")) << R"([
        {"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":10,"dur":5},
        {"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":2,"ts":20,"dur":5},
        {"ph":"s","cat":"c","name":"n","id":"0xq","pid":1,"tid":1,"ts":11,"args":{"x":[1,{"y":2}]}},
        {"ph":"t","cat":"c","name":"n","id":"0xq","pid":1,"tid":2,"ts":21},
        {"ph":"f","cat":"c","name":"n","id":7,"pid":1,"tid":2,"ts":12},
        {"ph":"f","cat":"c","name":"n","id":8,"pid":9,"tid":9,"ts":12,"bp":"e"},
        {"ph":"i","s":"p","name":"mark","pid":1,"tid":1,"ts":12,"args":{"scope":"mine","k":1.5}},
        {"ph":"i","s":"g","name":"end","pid":1,"tid":1,"ts":30}])";
    ASSERT_THAT(import(file("flows.json"), file("flows.sscope")), IsOk());
    expectRoundTrip(file("flows.sscope"));
}

TEST_F(ReadPerfetto, ArgumentsComeBack) {
    test::DrawnEvents events;
    events.strings = {
        "op", R"({"n":-7,"big":18446744073709551615,"x":0.1,"on":true,"s":"é\"","none":null})",
        R"({"list":[],"map":{},"deep":[[],{},[null,[1,{"a":[]}]]],"":1})",
        R"({"step":"mine","phase":1,"correlation":null,"args.step":2,"arguments":[]})", "no JSON"};
    for (std::uint32_t i = 0; i < 4; ++i) {
        events.spans.push_back(test::drawnSpan(1, 10 * std::int64_t{i} - 20, 10));
        events.spans.back().arguments = {2 + i};
    }
    events.spans[1].step = {4};
    events.spans[1].layer = kRootLayer;
    events.spans[1].phase = Phase::kBackward;
    events.spans[2].correlation = std::uint64_t{1} << 62;
    expectRoundTrip(drawn(events));
}

TEST_F(ReadPerfetto, OverlappingSpansComeBackToTheirLane) {
    test::RandomEvents random(23);
    test::DrawnEvents events;
    events.strings = {"a", "b"};
    std::int64_t start = -1000;
    for (int i = 0; i < 2000; ++i) {
        start += random.between(1, 50);
        events.spans.push_back(test::drawnSpan(static_cast<std::uint32_t>(random.between(1, 2)),
                                               start, random.between(0, 200)));
    }
    expectRoundTrip(drawn(events));
}

TEST_F(ReadPerfetto, ALongTraceCanBeReadLongBeforeItsEnd) {
    std::string json = "[";
    for (int i = 0; i < 150'000; ++i)
        json += std::string(i == 0 ? "" : ",") +
                R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"dur":5,"ts":)" +
                std::to_string(10 * i) + "}";
    std::ofstream(file("many.json")) << json << "]";
    ASSERT_THAT(import(file("many.json"), file("many.sscope")), IsOk());
    auto reader = storage::openRecording(file("many.sscope"));
    ASSERT_THAT(reader, IsOk());
    ExportOptions out;
    out.output = file("long.pftrace");
    ASSERT_THAT(exportAs("perfetto", **reader, out), IsOk());
    ImportOptions options;
    options.output = file("long.sscope");
    int told = 0;
    options.readable = [&](const std::string& part) {
        ++told;
        const auto early = storage::openRecording(part);
        ASSERT_THAT(early, IsOk());
        const auto summary = (*early)->summary();
        ASSERT_EQ(summary->lanes.size(), 1u);
        const auto spans =
            (*early)->spans(summary->lanes[0].rank, summary->lanes[0].lane, kEverything);
        ASSERT_THAT(spans, IsOk());
        EXPECT_GT(spans->size(), 50'000u);
        EXPECT_NE((*early)->text(summary->lanes[0].rank, spans->back().name), "");
    };
    ASSERT_THAT(importTraces({out.output}, options), IsOk());
    EXPECT_EQ(told, 1);
}

TEST_F(ReadPerfetto, RealTraceComesBack) {
    const std::string trace = SHARDSCOPE_SHARED_TRACES "/kineto_a100_2rank_nccl.json.gz";
    if (!std::filesystem::exists(trace))
        GTEST_SKIP() << trace << " is not here: no real trace was read";
    ASSERT_THAT(import(trace, file("real.sscope")), IsOk());
    expectRoundTrip(file("real.sscope"));
}

TEST_F(ReadPerfetto, RefusesOtherProgramsTraces) {
    // A process and a track as Perfetto's own SDK describes them.
    const std::string process("\x0a\x0b\xe2\x03\x08\x08\x01\x1a\x04\x08\x07\x32\x00", 13);
    std::ofstream(file("other.pftrace"), std::ios::binary) << process;
    EXPECT_THAT(import(file("other.pftrace"), file("out.sscope")),
                FailsWith("Shardscope did not write"));
    EXPECT_FALSE(std::filesystem::exists(file("out.sscope")));
}

TEST_F(ReadPerfetto, DamagedBytesAreNamedOrCounted) {
    const std::string path = file("sample.sscope");
    ASSERT_THAT(test::writeSampleRecording(path, {.steps = 1}), IsOk());
    auto reader = storage::openRecording(path);
    ASSERT_THAT(reader, IsOk());
    ExportOptions options;
    options.output = file("run.pftrace");
    ASSERT_THAT(exportAs("perfetto", **reader, options), IsOk());
    const std::string whole = contentOf(options.output);
    const auto importBytes = [&](const std::string& bytes) {
        std::ofstream(file("bad.pftrace"), std::ios::binary) << bytes;
        return import(file("bad.pftrace"), file("out.sscope"));
    };
    const auto cut = importBytes(whole.substr(0, whole.size() / 2));
    ASSERT_THAT(cut, IsOk());
    EXPECT_GT(cut->rejections.count("cut off: the file ends within it") +
                  cut->rejections.count("a begin without an end"),
              0u);
    std::string huge = whole;
    huge.insert(whole.size(), "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    EXPECT_THAT(importBytes(huge), FailsWith("larger than any it writes"));
    test::RandomEvents random(5);
    for (int i = 0; i < 40; ++i) {
        std::string bytes = whole;
        for (int j = 0; j < 3; ++j)
            bytes[static_cast<std::size_t>(
                random.between(0, static_cast<std::int64_t>(bytes.size()) - 1))] =
                static_cast<char>(random.between(0, 255));
        const auto account = importBytes(bytes);
        if (!account) {
            EXPECT_THAT(account, FailsAs(ErrorCode::kUnreadable));
        }
    }
}

}  // namespace
}  // namespace shardscope::interchange
