// Files, ranks and what is no trace.
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/verify/verify_recording.h"
#include "tests/storage/interchange/kineto_samples.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <vector>

namespace shardscope {
namespace {

using interchange::importTraces;
using test::FailsAs;
using test::FailsWith;
using test::IsOk;
using test::writeFile;
using ::testing::AllOf;

std::string gzipped(const std::string& text) {
    std::string out(compressBound(text.size()) + 64, '\0');
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string in = text;
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

std::string rankTrace(int rank, std::int64_t baseNs, std::int64_t startUs) {
    return R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"op","pid":9,"tid":1,"ts":)" +
           std::to_string(startUs) + R"(,"dur":1}],"distributedInfo":{"rank":)" +
           std::to_string(rank) + R"(,"world_size":2},"baseTimeNanoseconds":)" +
           std::to_string(baseNs) + "}";
}

class ImportTest : public ::testing::Test {
protected:
    std::string file(const std::string& name, const std::string& bytes) {
        writeFile(imported.folder.file(name), bytes);
        return imported.folder.file(name);
    }
    /// Refused, with nothing left behind.
    Result<interchange::ImportAccount> refused(const std::string& bytes) {
        auto account = importTraces({file("in", bytes)}, imported.options);
        EXPECT_FALSE(std::filesystem::exists(imported.options.output));
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(imported.folder.path()), {}),
                  1);
        EXPECT_THAT(account, FailsAs(ErrorCode::kUnreadable));
        return account;
    }
    test::Imported imported;
    const std::string trace = rankTrace(0, 0, 5);
};

TEST_F(ImportTest, GzipIsLookedThroughWhateverTheName) {
    const std::string name =
        file("trace.txt", gzipped(trace.substr(0, 40)) + gzipped(trace.substr(40)));
    const auto account = imported.import({name});
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->kept, 1u);
}

/// What the file held and what the recording counts differ where names are among the former.
TEST_F(ImportTest, SaysWhatTheEventsOfAFileBecame) {
    const auto note = [this] {
        for (const Diagnostic& each : imported.summary.diagnostics)
            if (each.code == "imported") return each.message;
        return std::string("no note");
    };
    ASSERT_THAT(imported.import({file("one.json", trace)}), IsOk());
    EXPECT_EQ(note(), "imported from one.json: 1 events read, 1 kept, 0 repaired");
    imported.options.overwrite = true;
    ASSERT_THAT(imported.importText(R"({"traceEvents":[
        {"ph":"M","name":"process_name","pid":9,"tid":0,"ts":0,"args":{"name":"python"}},
        {"ph":"X","cat":"cpu_op","name":"op","pid":9,"tid":1,"ts":5,"dur":1}]})"),
                IsOk());
    EXPECT_THAT(note(),
                ::testing::HasSubstr("2 events read, 2 kept, 0 repaired; stored as 1 events"));
    EXPECT_EQ(imported.summary.events.total(), 1u);
}

TEST_F(ImportTest, DamagedGzipIsNamed) {
    std::string long_ = "{\"traceEvents\":[" + std::string(300'000, ' ');
    for (int i = 0; i < 5000; ++i) long_ += "{\"ph\":\"i\",\"ts\":" + std::to_string(i) + "},";
    const std::string whole = gzipped(long_ + "{}]}");
    EXPECT_THAT(refused(whole.substr(0, 1 + 1)), FailsWith("truncated gzip"));
    std::string damaged = whole;
    damaged[whole.size() / 2] = static_cast<char>(damaged[whole.size() / 2] ^ 0x55);
    EXPECT_THAT(refused(damaged), FailsWith("damaged gzip"));
}

TEST_F(ImportTest, ZipBombsAreRefused) {
    EXPECT_THAT(refused(gzipped("{" + std::string(std::size_t{80} << 20, ' '))),
                FailsWith("zip bomb"));
}

TEST_F(ImportTest, OtherFilesAreNamed) {
    EXPECT_THAT(refused(""), FailsWith("is empty"));
    EXPECT_THAT(refused("\x7f"
                        "ELF whatever"),
                FailsWith("a program"));
    EXPECT_THAT(refused("PK\x03\x04"), FailsWith("zip archive"));
    EXPECT_THAT(refused(std::string("SQLite format 3\0", 16) + std::string(100, '\0')),
                FailsWith("cannot be read as an SQLite database"));
    EXPECT_THAT(refused("\x80\x04pickle"), FailsWith("memory snapshot"));
    EXPECT_THAT(refused(R"({"schema":"1.1.1-chakra","nodes":[]})"), FailsWith("execution trace"));
    EXPECT_THAT(refused("{\"a\":"), FailsWith("no traceEvents"));
    EXPECT_THAT(refused("Dear reader"), FailsWith("no trace"));
}

TEST_F(ImportTest, RanksAreAlignedByTheirBaseTimes) {
    std::filesystem::create_directory(imported.folder.file("ranks"));
    // The second file's times count from an hour later, which it says at its end.
    constexpr std::int64_t kBase = 1'711'964'646'000'000'000;
    constexpr std::int64_t kHour = 3'600'000'000'000;
    file("ranks/a.json", rankTrace(1, kBase, 3'600'000'005));
    file("ranks/b.json", rankTrace(0, kBase + kHour, 7));
    file("ranks/readme.txt", "not a trace");
    const auto account = imported.import({imported.folder.file("ranks")});
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->read, 2u);
    ASSERT_EQ(imported.summary.ranks.size(), 2u);
    constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};
    EXPECT_EQ(imported.reader->spans({1}, {1}, kEverything)->at(0).start.ns, 0);
    EXPECT_EQ(imported.reader->spans({0}, {1}, kEverything)->at(0).start.ns, 2'000);
    EXPECT_EQ(imported.summary.run.startedUnixNs, kBase + kHour + 5'000);
}

/// Events of `lanes` threads, so many that the first of them are stored before the last come.
std::string longTrace(const std::string& front, const std::string& back) {
    std::string json = "{\"traceEvents\":[" + front;
    for (int i = 0; i < 100'000; ++i)
        json += R"({"ph":"X","cat":"cpu_op","name":"op","pid":9,"tid":1,"ts":)" +
                std::to_string(1000 + i) + R"(,"dur":1},)";
    return json + back + "]}";
}

TEST_F(ImportTest, TimeBeginsAtTheEarliestEventWhereverItStands) {
    const std::string last = R"({"ph":"X","cat":"cpu_op","name":"early","pid":9,"tid":2,"ts":5,
                                 "dur":1})";
    ASSERT_THAT(imported.import({file("late", longTrace("", last))}), IsOk());
    EXPECT_EQ(imported.summary.bounds.begin.ns, 0);
    EXPECT_EQ(imported.summary.run.ended.ns, (1000 + 100'000 - 5) * 1000);
    EXPECT_EQ(imported.spans("thread 2: cpu_op").at(0).start.ns, 0);
}

TEST_F(ImportTest, EventsGetTheirStepEvenWhereItIsSaidLast) {
    const auto step = [](int number, int start, int duration) {
        return R"({"ph":"X","cat":"user_annotation","pid":9,"tid":1,"name":"ProfilerStep#)" +
               std::to_string(number) + R"(","ts":)" + std::to_string(start) + R"(,"dur":)" +
               std::to_string(duration) + "}";
    };
    const std::string steps = step(7, 2000, 50'000) + "," + step(8, 52'000, 10'000);
    // Launched in step 7, it runs in step 8's time.
    const std::string work =
        R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":1,"ts":51000,
            "dur":1,"args":{"correlation":4}},
           {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":53000,"dur":1,
            "args":{"correlation":4}},
           {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL","pid":0,
            "tid":7,"ts":55000,"dur":1,"args":{}},
           {"ph":"i","s":"t","name":"[memory]","pid":9,"tid":1,"ts":2500,
            "args":{"Addr":1,"Bytes":100,"Device Type":1,"Device Id":0}},)";
    for (const bool first : {true, false}) {
        imported.options.overwrite = true;
        ASSERT_THAT(imported.import({file("steps", longTrace(first ? steps + "," + work : work,
                                                             first ? "{\"ph\":\"M\"}" : steps))}),
                    IsOk());
        std::map<std::int32_t, int> count;
        for (const SpanEvent& span : imported.spans("thread 1: cpu_op")) ++count[span.step.value];
        EXPECT_EQ(count,
                  (std::map<std::int32_t, int>{{-1, 1000 + 39'000}, {7, 50'000}, {8, 10'000}}));
        EXPECT_EQ(imported.spans("GPU 0 stream 7").at(0).step.value, 7);
        const auto events = imported.reader->rankEvents({0}, {{-1}, {1'000'000'000}});
        EXPECT_EQ(events->collectives.at(0).step.value, 8);
        EXPECT_EQ(imported.reader->memoryEvents({0}, {{-1}, {1'000'000'000}})->at(0).step.value, 7);
        EXPECT_EQ(imported.summary.steps.size(), 2u);
    }
}

TEST_F(ImportTest, AProfilerThatWasStartedAgainMayCountFromZero) {
    std::string steps;
    for (const auto& [number, start] :
         {std::pair{5, 0}, std::pair{6, 10}, std::pair{0, 20}, std::pair{1, 30}, std::pair{5, 40}})
        steps +=
            std::string(steps.empty() ? "" : ",") +
            R"({"ph":"X","cat":"user_annotation","pid":9,"tid":1,"dur":10,"name":"ProfilerStep#)" +
            std::to_string(number) + R"(","ts":)" + std::to_string(start) + "}";
    ASSERT_THAT(imported.import({file("again", "[" + steps + "]")}), IsOk());
    std::map<std::int64_t, std::int32_t> found;
    for (const StepFacts& step : imported.summary.steps) found[step.start.ns] = step.step.value;
    EXPECT_EQ(found, (std::map<std::int64_t, std::int32_t>{
                         {0, 5}, {10'000, 6}, {20'000, 7}, {30'000, 8}, {40'000, 12}}));
    const auto verified = storage::verifyRecording(imported.options.output);
    EXPECT_TRUE(verified->sound());
}

TEST_F(ImportTest, FilesOfDifferentYearsBeginAtZeroEachAndNotesAreSaidOnce) {
    constexpr std::int64_t kYear = std::int64_t{366} * 86'400 * 1'000'000'000;
    const auto withKernel = [](int rank, std::int64_t base) {
        std::string json = rankTrace(rank, base, 5);
        const std::string kernel =
            R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv","pid":0,"tid":7,"ts":6,)"
            R"("dur":1},)";
        return json.insert(json.find("[{") + 1, kernel);
    };
    const std::string properties = R"(,"deviceProperties":[{"id":0,"name":" "}]})";
    std::string second = withKernel(1, 2 * kYear);
    second.replace(second.size() - 1, 1, properties);
    const auto account = imported.import({file("old", withKernel(0, kYear)), file("new", second)});
    ASSERT_THAT(account, IsOk());
    const auto sentences = account->sentences();
    ASSERT_EQ(sentences.size(), 2u);
    EXPECT_THAT(sentences[0], ::testing::HasSubstr("2 communication kernels"));
    EXPECT_EQ(sentences[1],
              "old and new lie 366 days apart: their clocks share no start, so each begins at 0");
    EXPECT_EQ(imported.summary.diagnostics.at(0).code, "clocks-unrelated");
    EXPECT_EQ(imported.summary.diagnostics.at(0).message, sentences[1]);
    EXPECT_EQ(imported.summary.bounds, (TimeRange{{0}, {2'000}}));
    EXPECT_EQ(imported.spans("thread 1: cpu_op").at(0).start.ns, 0);
    EXPECT_EQ(imported.summary.devices.at(1).name, "GPU 0");
}

TEST_F(ImportTest, EachOfUnrelatedClocksKeepsItsStepsAndItsOwnDistances) {
    const auto with = [](int rank, std::int64_t base, int step) {
        std::string json = rankTrace(rank, base, 1'000'000);
        const std::string annotation =
            R"({"ph":"X","cat":"user_annotation","pid":9,"tid":1,"dur":10,"name":"ProfilerStep#)" +
            std::to_string(step) + R"(","ts":999995},)";
        return json.insert(json.find("[{") + 1, annotation);
    };
    constexpr std::int64_t kBase = 1'711'964'646'000'000'000;
    constexpr std::int64_t kWeek = std::int64_t{7} * 86'400 * 1'000'000'000;
    // The later one first: what it is read beside lies before its time 0, twice within a minute.
    const auto account =
        imported.import({file("b", with(2, kBase + kWeek, 7)), file("a", with(0, kBase, 3)),
                         file("c", with(1, kBase + 20'000, 5))});
    ASSERT_THAT(account, IsOk());
    EXPECT_THAT(account->sentences(),
                ::testing::Contains("a and b lie 7 days apart: their clocks share no start, so "
                                    "each begins at 0"));
    std::map<std::uint32_t, std::pair<std::int64_t, std::int32_t>> found;
    for (const StepFacts& step : imported.summary.steps)
        found[step.rank.value] = {step.start.ns, step.step.value};
    EXPECT_EQ(found, (std::map<std::uint32_t, std::pair<std::int64_t, std::int32_t>>{
                         {0, {0, 3}}, {1, {20'000, 5}}, {2, {0, 7}}}));
    constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};
    for (const std::uint32_t rank : {0u, 1u, 2u}) {
        const auto spans = imported.reader->spans({rank}, {2}, kEverything);
        ASSERT_EQ(spans->size(), 1u);
        EXPECT_EQ(spans->at(0).start.ns, found[rank].first + 5'000);
        EXPECT_EQ(spans->at(0).step.value, found[rank].second);
    }
}

TEST_F(ImportTest, AFileWithoutAnyClockStandsBesideOneOfTheWallClock) {
    const auto account =
        imported.import({file("stacks.folded", "main;train 5\n"),
                         file("trace", rankTrace(1, 1'711'964'646'000'000'000, 5))});
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->rejected(), 0u);
    EXPECT_THAT(account->sentences(),
                ::testing::Contains(::testing::HasSubstr("each begins at 0")));
    EXPECT_LT(imported.summary.bounds.end.ns, 1'000'000'000);
}

TEST_F(ImportTest, TwoFilesOfOneRankAreRefused) {
    EXPECT_THAT(importTraces({file("a", trace), file("b", trace)}, imported.options),
                FailsWith("both of rank 0"));
}

TEST_F(ImportTest, StrictAllowsNoRejection) {
    imported.options.strict = true;
    EXPECT_THAT(refused(R"([{"ph":"X"}])"), FailsWith("--strict"));
    EXPECT_THAT(imported.import({file("good", trace)}), IsOk());
}

TEST_F(ImportTest, WhatKeepsNothingIsRefused) {
    EXPECT_THAT(refused("{\"traceEvents\":["), FailsWith("events cannot be kept"));
    EXPECT_THAT(refused("{\"traceEvents\":[]}"), FailsWith("there is no event in it"));
    EXPECT_THAT(refused("[[1],[2]]"), FailsWith("no event: an element that is no object"));
    std::string most =
        "[" + trace.substr(trace.find('['), trace.find(']') - trace.find('[')).substr(1);
    for (int i = 0; i < 1000; ++i) most += ",{\"ph\":\"b\",\"ts\":1}";
    EXPECT_THAT(refused(most + "]"), FailsWith("1000 of 1001 events cannot be kept"));
}

TEST_F(ImportTest, CutOffTracesKeepWhatIsWhole) {
    const auto account = imported.import(
        {file("cut", trace.substr(0, trace.find("],\"dis")) + R"(,{"ph":"X","name":"half)")});
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->kept, 1u);
    EXPECT_EQ(account->rejections.at("cut off: the file ends within it"), 1u);
}

TEST_F(ImportTest, CutOffGzipKeepsWhatIsWhole) {
    std::string many = "[";
    for (int i = 0; i < 20'000; ++i)
        many += R"({"ph":"i","name":")" + std::to_string(i * 7919 % 10'007) + R"(","ts":)" +
                std::to_string(i) + "},";
    const std::string whole = gzipped(many + "{}]");
    const auto account = imported.import({file("cut.json.gz", whole.substr(0, whole.size() / 2))});
    ASSERT_THAT(account, IsOk());
    EXPECT_GT(account->kept, 5'000u);
    EXPECT_EQ(account->rejections.at("cut off: the file ends within it"), 1u);
    ASSERT_EQ(account->notes.size(), 1u);
    EXPECT_THAT(account->notes[0], ::testing::HasSubstr("truncated gzip"));
    // What cannot be used in part is refused.
    imported.options.overwrite = true;
    EXPECT_THAT(importTraces({file("cut.folded", gzipped("main;train 5\n").substr(0, 25))},
                             imported.options),
                FailsWith("truncated gzip"));
}

TEST_F(ImportTest, WhatStandsBehindAGzipStreamIsSaid) {
    // Padding with zeros is common, and nothing.
    auto padded =
        imported.import({file("padded.json.gz", gzipped(trace) + std::string(512, '\0'))});
    ASSERT_THAT(padded, IsOk());
    EXPECT_EQ(padded->rejected(), 0u);
    imported.options.overwrite = true;
    const std::string path = file("behind.json.gz", gzipped(trace) + "garbage");
    const auto account = imported.import({path});
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->kept, padded->kept);
    EXPECT_EQ(account->rejections.at("an end that is no sound gzip"), 1u);
    ASSERT_FALSE(account->notes.empty());
    EXPECT_THAT(account->notes[0], ::testing::HasSubstr("behind its gzip data"));
    imported.options.strict = true;
    EXPECT_THAT(importTraces({path}, imported.options), FailsWith("--strict"));
    // What is not read in part is refused by name.
    imported.options.strict = false;
    const std::string folded = file("behind.folded", gzipped("main;train 5\n") + "garbage");
    EXPECT_THAT(importTraces({folded}, imported.options), FailsWith("behind its gzip data"));
    EXPECT_THAT(importTraces({folded}, imported.options), FailsWith("behind.folded"));
}

TEST_F(ImportTest, WhatStandsBehindTheTraceIsCountedAsLost) {
    for (const std::string& behind : {trace, std::string("garbage"), std::string("]}")}) {
        imported.options.overwrite = true;
        imported.options.strict = false;
        const auto account = imported.import({file("two", trace + "\n" + behind)});
        ASSERT_THAT(account, IsOk());
        EXPECT_EQ(account->rejections.at("data behind the end of the trace"), 1u) << behind;
        imported.options.strict = true;
        EXPECT_THAT(importTraces({file("two", trace + behind)}, imported.options),
                    FailsWith("--strict"));
    }
    EXPECT_EQ(imported.import({file("good", trace + " \n\n")})->rejected(), 0u);
}

TEST_F(ImportTest, ByteOrderMarksAndUtf16AreKnown) {
    const auto account = imported.import({file("bom", "\xEF\xBB\xBF" + trace)});
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->kept, 1u);
    imported.options.overwrite = true;
    std::string wide("\xFF\xFE");
    for (const char c : trace) (wide += c) += '\0';
    EXPECT_THAT(importTraces({file("wide", wide)}, imported.options), FailsWith("UTF-16"));
    EXPECT_THAT(importTraces({file("wide", wide.substr(2))}, imported.options), FailsWith("iconv"));
}

TEST_F(ImportTest, OneAbsurdMemoryEventCostsOnlyItself) {
    const std::string absurd =
        R"({"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":5,"args":{"Bytes":-9223372036854775808,
            "Total Allocated":-9223372036854775808}},)";
    const auto account =
        imported.import({file("in", trace.substr(0, 16) + absurd + trace.substr(16))});
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->kept, 1u);
    EXPECT_EQ(account->rejections.at("a memory event of more bytes than there are"), 1u);
}

TEST_F(ImportTest, CancellingLeavesNoFile) {
    imported.options.progress = [](double) { return false; };
    EXPECT_THAT(importTraces({file("in", trace)}, imported.options),
                FailsAs(ErrorCode::kCancelled));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(imported.folder.path()), {}), 1);
}

TEST_F(ImportTest, APipeThatStallsIsSaidAndOneWithoutAWriterGivenUp) {
    const std::string pipe = imported.folder.file("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    imported.options.pipePatience = std::chrono::seconds(0);
    std::vector<std::string> said;
    imported.options.waits = [&](const std::string& sentence) { said.push_back(sentence); };
    EXPECT_THAT(importTraces({pipe}, imported.options),
                AllOf(FailsAs(ErrorCode::kUnreadable),
                      FailsWith(pipe + " is a pipe, and no program has written to it in 0 s")));
    EXPECT_TRUE(said.empty());
    // A writer that goes on only once the stall is said.
    const int writer = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(writer, 0);
    ASSERT_EQ(::write(writer, trace.data(), 20), 20);
    imported.options.waits = [&](const std::string& sentence) {
        said.push_back(sentence);
        const std::string rest = trace.substr(20);
        EXPECT_EQ(::write(writer, rest.data(), rest.size()), static_cast<ssize_t>(rest.size()));
        ::close(writer);
    };
    EXPECT_THAT(importTraces({pipe}, imported.options), IsOk());
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0], "waiting for " + pipe + ": nothing has come for 0 s after 20 bytes");
}

TEST_F(ImportTest, TheInputIsNeverOverwritten) {
    imported.options.overwrite = true;
    imported.options.output = file("in", trace);
    EXPECT_THAT(importTraces({imported.options.output}, imported.options),
                AllOf(FailsAs(ErrorCode::kUsage), FailsWith("is the input")));
    EXPECT_EQ(std::filesystem::file_size(imported.options.output), trace.size());
}

}  // namespace
}  // namespace shardscope
