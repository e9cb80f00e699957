// Files, ranks and what is no trace.
#include "tests/storage/interchange/kineto_samples.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>

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

TEST_F(ImportTest, DamagedGzipIsNamed) {
    std::string long_ = "{\"traceEvents\":[" + std::string(300'000, ' ');
    for (int i = 0; i < 5000; ++i) long_ += "{\"ph\":\"i\",\"ts\":" + std::to_string(i) + "},";
    const std::string whole = gzipped(long_ + "{}]}");
    EXPECT_THAT(refused(whole.substr(0, whole.size() / 2)), FailsWith("truncated gzip"));
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

TEST_F(ImportTest, TwoFilesOfOneRankAreRefused) {
    EXPECT_THAT(importTraces({file("a", trace), file("b", trace)}, imported.options),
                FailsWith("both of rank 0"));
}

TEST_F(ImportTest, StrictAllowsNoRejection) {
    imported.options.strict = true;
    EXPECT_THAT(refused(R"([{"ph":"X"}])"), FailsWith("--strict"));
    EXPECT_THAT(imported.import({file("good", trace)}), IsOk());
}

TEST_F(ImportTest, CutOffTracesKeepWhatIsWhole) {
    const auto account = imported.import(
        {file("cut", trace.substr(0, trace.find("],\"dis")) + R"(,{"ph":"X","name":"half)")});
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(account->kept, 1u);
    EXPECT_EQ(account->rejections.at("cut off: the file ends within it"), 1u);
}

TEST_F(ImportTest, CancellingLeavesNoFile) {
    imported.options.progress = [](double) { return false; };
    EXPECT_THAT(importTraces({file("in", trace)}, imported.options),
                FailsAs(ErrorCode::kCancelled));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(imported.folder.path()), {}), 1);
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
