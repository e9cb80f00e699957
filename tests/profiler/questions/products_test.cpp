// Matrix products of a trace that says shapes: whether tensor cores could and did compute them.
#include "profiler/questions/question.h"
#include "tests/storage/interchange/kineto_samples.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace shardscope::questions {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// A product on thread 5 from `start` us on, the call within it and its kernel.
std::string product(int start, const std::string& dims, const std::string& type,
                    const std::string& kernel, int callThread = 5) {
    const std::string at = std::to_string(start), call = std::to_string(start + 1);
    return R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":5,"ts":)" + at +
           R"(,"dur":8,"args":{"Input Dims":)" + dims + R"(,"Input type":[")" + type + R"(",")" +
           type +
           R"("]}},{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":)" +
           std::to_string(callThread) + R"(,"ts":)" + call + R"(,"dur":3,"args":{"correlation":)" +
           at + R"(}},{"ph":"X","cat":"kernel","name":")" + kernel + R"(","pid":0,"tid":7,"ts":)" +
           std::to_string(start + 100) + R"(,"dur":20,"args":{"stream":7,"correlation":)" + at +
           "}}";
}

class Products : public testing::Test {
protected:
    Answer ask(const std::string& events) {
        EXPECT_THAT(m_imported.importText("{\"traceEvents\":[" + events + "]}"), test::IsOk());
        const Selection all;
        auto answer = findQuestion("work")->ask({*m_imported.reader, m_imported.summary, all});
        EXPECT_THAT(answer, test::IsOk());
        return std::move(*answer);
    }
    static Table table(const Answer& answer) {
        for (const Table& each : answer.tables)
            if (std::string_view("products") == each.key) return each;
        ADD_FAILURE() << "no table of products";
        return {};
    }
    static Cell at(const Table& table, std::size_t row, const char* column) {
        return table.rows.at(row).at(table.columnAt(column));
    }
    test::Imported m_imported;
};

TEST_F(Products, AreEligibleAndUsed) {
    const Table found =
        table(ask(product(1000, "[[64,64],[64,64]]", "c10::Half", "ampere_s16816gemm_fp16") + "," +
                  product(2000, "[[64,64],[64,64]]", "c10::Half", "ampere_s16816gemm_fp16")));
    ASSERT_EQ(found.rows.size(), 1u);
    EXPECT_EQ(at(found, 0, "count"), Cell(std::int64_t{2}));
    EXPECT_EQ(at(found, 0, "total_ns"), Cell(std::int64_t{16'000}));
    EXPECT_EQ(at(found, 0, "device_ns"), Cell(std::int64_t{40'000}));
    EXPECT_EQ(at(found, 0, "type"), Cell("fp16"));
    EXPECT_EQ(at(found, 0, "eligible"), Cell("yes"));
    EXPECT_EQ(at(found, 0, "used"), Cell("yes"));
}

TEST_F(Products, StandAgainstTheRoofsThatAreKnown) {
    const Answer answer =
        ask(product(1000, "[[64,64],[64,64]]", "c10::Half", "ampere_s16816gemm_fp16") + "," +
            product(2000, "[[64,64],[64,64]]", "c10::Half", "ampere_s16816gemm_fp16"));
    const auto found =
        std::find_if(answer.tables.begin(), answer.tables.end(),
                     [](const Table& each) { return std::string_view("roofline") == each.key; });
    ASSERT_NE(found, answer.tables.end());
    ASSERT_EQ(found->rows.size(), 1u);
    EXPECT_EQ(at(*found, 0, "time_ns"), Cell(std::int64_t{40'000}));
    EXPECT_EQ(at(*found, 0, "flops"), Cell(2.0 * 64 * 64 * 64));
    EXPECT_EQ(at(*found, 0, "least_bytes"), Cell(std::int64_t{2 * 3 * 64 * 64}));
    EXPECT_NEAR(*at(*found, 0, "flops_per_s").real(), 2 * 2.0 * 64 * 64 * 64 / 40e-6, 1);
    EXPECT_TRUE(at(*found, 0, "roof_pct").isNone());
    EXPECT_THAT(answer.unknown, Contains(HasSubstr("how near products come to the peak")));
    EXPECT_THAT(answer.unknown,
                Contains(HasSubstr("which products are limited by memory bandwidth")));
}

TEST_F(Products, SayWhyNot) {
    const Table found =
        table(ask(product(1000, "[[64,63],[63,64]]", "c10::BFloat16", "ampere_sgemm_64x64")));
    EXPECT_EQ(at(found, 0, "eligible"), Cell("no"));
    EXPECT_EQ(at(found, 0, "why_not"), Cell("K is 63, no multiple of 8"));
    EXPECT_EQ(at(found, 0, "used"), Cell("no"));
}

TEST_F(Products, OfWhichNoLaunchIsKnownMayBeUsed) {
    const Answer answer = ask(product(1000, "[[64,64],[64,64]]", "float", "ampere_sgemm_64x64", 6));
    EXPECT_TRUE(at(table(answer), 0, "used").isNone());
    EXPECT_TRUE(at(table(answer), 0, "device_ns").isNone());
    EXPECT_EQ(at(table(answer), 0, "why_not"), Cell("if tf32 is allowed"));
    EXPECT_THAT(answer.unknown, Contains(HasSubstr("whether products used tensor cores")));
}

TEST_F(Products, WithoutShapesCannotBeTold) {
    for (const char* dims : {"[]", "3", "[[64,64],[\"x\",64]]", "[[64,64]]", "{\"a\":1}"}) {
        const Answer answer = ask(product(1000, dims, "float", "ampere_sgemm_64x64"));
        EXPECT_THAT(answer.unknown, Contains(HasSubstr("which products could use tensor cores")))
            << dims;
        m_imported.options.overwrite = true;
    }
}

TEST_F(Products, OfUnknownTypeCannotBeTold) {
    const Answer answer = ask(product(1000, "[[64,64],[64,64]]", "", "ampere_sgemm_64x64"));
    EXPECT_TRUE(at(table(answer), 0, "eligible").isNone());
    EXPECT_THAT(answer.unknown, Contains(HasSubstr("types of their inputs")));
    EXPECT_THAT(answer.unknown, Not(Contains(HasSubstr("whether products used"))));
}

}  // namespace
}  // namespace shardscope::questions
