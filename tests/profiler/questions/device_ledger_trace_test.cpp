// The ledger of imported traces: of drawn ones, and of real ones of PyTorch's profiler and nsys.
#include "profiler/analysis/findings.h"
#include "profiler/questions/question.h"
#include "profiler/questions/read_device.h"
#include "profiler/questions/report_reader.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/storage/interchange/kineto_samples.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace shardscope::questions {
namespace {

using analysis::at;
using analysis::LedgerPart;
using testing::HasSubstr;
using testing::IsEmpty;

std::string complete(const char* category, const char* name, int start, int duration, int thread,
                     int correlation) {
    return R"({"ph":"X","cat":")" + std::string(category) + R"(","name":")" + name + R"(","pid":)" +
           (thread < 100 ? "0" : "9") + R"(,"tid":)" + std::to_string(thread) + R"(,"ts":)" +
           std::to_string(start) + R"(,"dur":)" + std::to_string(duration) +
           R"(,"args":{"correlation":)" + std::to_string(correlation) +
           (thread < 100 ? R"(,"stream":)" + std::to_string(thread) : std::string()) + "}}";
}

class ImportedLedger : public testing::Test {
protected:
    void import(const std::string& events) {
        ASSERT_THAT(m_imported.importText(R"({"traceEvents":[)" + events + "]}"), test::IsOk());
    }
    Answer steps(const Selection& selection = {}) {
        const auto selected = selection.of(m_imported.summary);
        EXPECT_THAT(selected, test::IsOk());
        auto answer = findQuestion("steps")->ask(
            {*m_imported.reader, *selected, selection, Mode::kExact, false, true});
        EXPECT_THAT(answer, test::IsOk());
        return std::move(*answer);
    }
    static std::int64_t cell(const Table& table, const char* column, std::size_t row = 0) {
        return *table.rows.at(row).at(table.columnAt(column)).integer();
    }
    static std::int64_t sumOfParts(const Table& table, std::size_t row) {
        std::int64_t sum = 0;
        for (const LedgerPart part : kAll<LedgerPart>)
            sum += cell(table, analysis::toKey(part), row);
        return sum;
    }
    test::Imported m_imported;
};

/// Times in us, two steps that touch.
const std::string kTrace =
    complete("user_annotation", "ProfilerStep#1", 0, 100, 100, 0) + "," +
    complete("user_annotation", "ProfilerStep#2", 100, 100, 100, 0) + "," +
    complete("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 0, 8, 100, 0) + "," +
    complete("user_annotation", "Optimizer.step#AdamW.step", 60, 20, 100, 0) + "," +
    complete("overhead", "Instrumentation", 140, 5, 101, 0) + "," +
    complete("overhead", "Lazy Function Loading", 150, 5, 101, 0) + "," +
    complete("cuda_runtime", "cudaLaunchKernel", 10, 4, 100, 1) + "," +
    complete("cuda_runtime", "cudaMemcpyAsync", 30, 4, 100, 2) + "," +
    complete("cuda_runtime", "cudaLaunchKernel", 62, 4, 100, 3) + "," +
    complete("cuda_runtime", "cudaLaunchKernel", 95, 4, 100, 4) + "," +
    complete("kernel", "gemm", 15, 10, 7, 1) + "," +
    complete("gpu_memcpy", "Memcpy HtoD", 35, 5, 7, 2) + "," +
    complete("kernel", "adamw", 70, 10, 7, 3) + "," + complete("kernel", "gemm", 110, 20, 7, 4) +
    "," + complete("kernel", "lost", 160, 20, 7, 77);

TEST_F(ImportedLedger, BooksEachPart) {
    import(kTrace);
    const Answer answer = steps();
    ASSERT_EQ(answer.tables.size(), 2u);
    const Table& each = answer.tables[1];
    ASSERT_EQ(each.rows.size(), 2u);
    constexpr std::int64_t kUs = 1000;
    EXPECT_EQ(cell(each, "wall_ns"), 100 * kUs);
    EXPECT_EQ(cell(each, "compute_ns"), 10 * kUs);
    EXPECT_EQ(cell(each, "optimizer_ns"), 10 * kUs);
    EXPECT_EQ(cell(each, "copies_ns"), 5 * kUs);
    EXPECT_EQ(cell(each, "data_ns"), 8 * kUs);
    EXPECT_EQ(cell(each, "launch_bound_ns"), (5 + 5 + 8 + 5) * kUs);
    EXPECT_EQ(cell(each, "host_bound_ns"), (2 + 5 + 22 + 15) * kUs);
    EXPECT_EQ(cell(each, "other_ns"), 0);
    EXPECT_EQ(cell(each, "launch_bound_ns", 1), 10 * kUs);
    EXPECT_EQ(cell(each, "compute_ns", 1), 40 * kUs);
    EXPECT_EQ(cell(each, "profiler_ns", 1), 5 * kUs) << "loading is the driver's";
    EXPECT_EQ(cell(each, "other_ns", 1), (10 + 15 + 20) * kUs) << "before and after what was lost";
    for (std::size_t row = 0; row < 2; ++row)
        EXPECT_EQ(sumOfParts(each, row), cell(each, "wall_ns", row));
    ASSERT_EQ(answer.unknown.size(), 1u);
    EXPECT_THAT(answer.unknown[0], HasSubstr("before 1 of 5 kernels and copies"));
}

TEST_F(ImportedLedger, OfAStepIsTheSameByItself) {
    import(kTrace);
    const Table all = steps().tables.at(1);
    for (int step = 1; step <= 2; ++step) {
        Selection one;
        one.steps = {{{step}, {step}}};
        const Table alone = steps(one).tables.at(1);
        ASSERT_EQ(alone.rows.size(), 1u);
        EXPECT_EQ(alone.rows[0], all.rows.at(static_cast<std::size_t>(step) - 1));
    }
}

TEST_F(ImportedLedger, WithoutStepsSaysSo) {
    import(complete("kernel", "gemm", 15, 10, 7, 1));
    const Answer answer = steps();
    EXPECT_THAT(answer.tables, IsEmpty());
    ASSERT_EQ(answer.unknown.size(), 1u);
    EXPECT_THAT(answer.unknown[0], HasSubstr("it has no steps"));
}

TEST_F(ImportedLedger, PeopleSeeColumnsWithFiguresAlone) {
    import(kTrace);
    const Table table = steps().tables.at(0);
    EXPECT_TRUE(table.shows(table.columnAt("wall_ns")));
    EXPECT_TRUE(table.shows(table.columnAt("copies_ns")));
    EXPECT_FALSE(table.shows(table.columnAt("checkpoint_ns")));
    EXPECT_FALSE(table.shows(table.columnAt("blocked_reduction_ns")));
}

class RealTrace : public ImportedLedger {
protected:
    static constexpr const char* kKineto =
        SHARDSCOPE_SHARED_TRACES "/kineto_a100_2rank_nccl.json.gz";
    static constexpr const char* kNsys = SHARDSCOPE_SHARED_TRACES "/nsys_h100_2gpu_1s.sqlite";
    [[nodiscard]] bool has(const char* path) {
        if (!std::filesystem::exists(path)) return false;
        EXPECT_THAT(m_imported.import({path}), test::IsOk());
        return true;
    }
    RankEvents events(RankId rank) {
        const TimeRange all{m_imported.summary.bounds.begin,
                            {m_imported.summary.bounds.end.ns + 1}};
        return *m_imported.reader->rankEvents(rank, all);
    }
    /// One step over everything that the device did.
    std::vector<analysis::LedgerRow> asOneStep(RankId rank) {
        const RankEvents own = events(rank);
        const auto device = readDevice(*m_imported.reader, m_imported.summary, own);
        EXPECT_THAT(device, test::IsOk());
        RecordingSummary summary;
        StepFacts& step = summary.steps.emplace_back();
        step.rank = rank;
        step.start = device->work.at(0).range.begin;
        step.end = step.start;
        for (const analysis::DeviceWork& work : device->work) {
            step.start = std::min(step.start, work.range.begin);
            step.end = std::max(step.end, work.range.end);
        }
        return analysis::deviceLedger(summary, own, *device);
    }
    static std::int64_t idle(const analysis::LedgerRow& row) {
        std::int64_t sum = 0;
        for (const LedgerPart part :
             {LedgerPart::kLaunchBound, LedgerPart::kHostBound, LedgerPart::kData,
              LedgerPart::kCheckpoint, LedgerPart::kProfiler, LedgerPart::kOther})
            sum += row.parts[at(part)].ns;
        return sum;
    }
};

TEST_F(RealTrace, OfPyTorchAgreesWithHta) {
    if (!has(kKineto)) GTEST_SKIP() << "the sample trace " << kKineto << " is not here";
    const auto rows = asOneStep(m_imported.summary.ranks.at(0).rank);
    ASSERT_EQ(rows.size(), 1u);
    // What HTA prints, in us; it and Kineto cut each event to whole ones.
    EXPECT_NEAR(static_cast<double>(rows[0].wall.ns), 660'551e3, 2e3);
    EXPECT_NEAR(static_cast<double>(idle(rows[0])), 503'051e3, 2e3);
    EXPECT_NEAR(static_cast<double>((rows[0].parts[at(LedgerPart::kCompute)] +
                                     rows[0].parts[at(LedgerPart::kOptimizer)])
                                        .ns),
                115'656e3, 2e3);
    EXPECT_GT(rows[0].parts[at(LedgerPart::kHostBound)].ns, 0);
    EXPECT_GT(rows[0].parts[at(LedgerPart::kLaunchBound)].ns, 0);
}

TEST_F(RealTrace, OfPyTorchIdlesInItsStepsAsTheBreakdownSays) {
    if (!has(kKineto)) GTEST_SKIP() << "the sample trace " << kKineto << " is not here";
    const Answer answer = steps();
    ASSERT_EQ(answer.tables.size(), 2u);
    const Selection all;
    const auto breakdown =
        findQuestion("breakdown")->ask({*m_imported.reader, m_imported.summary, all, Mode::kExact});
    ASSERT_THAT(breakdown, test::IsOk());
    const Table& sums = answer.tables[0];
    std::int64_t idle = 0;
    for (const char* key : {"launch_bound_ns", "host_bound_ns", "data_ns", "checkpoint_ns",
                            "profiler_ns", "other_ns"})
        idle += cell(sums, key);
    const Table& told = breakdown->tables.at(0);
    const Cell& idleUs = told.rows.at(0).at(told.columnAt("idle_us"));
    const double exact =
        idleUs.real() != nullptr ? *idleUs.real() : static_cast<double>(*idleUs.integer());
    EXPECT_NEAR(static_cast<double>(idle) / 1e3, exact, 1e-3);
    for (std::size_t row = 0; row < answer.tables[1].rows.size(); ++row)
        EXPECT_EQ(sumOfParts(answer.tables[1], row), cell(answer.tables[1], "wall_ns", row));
}

TEST_F(RealTrace, OfNsysAddsUp) {
    if (!has(kNsys)) GTEST_SKIP() << "the sample trace " << kNsys << " is not here";
    std::size_t told = 0;
    for (const RankFacts& rank : m_imported.summary.ranks) {
        if (events(rank.rank).computeKernels.empty()) continue;
        const auto rows = asOneStep(rank.rank);
        ASSERT_EQ(rows.size(), 1u);
        Duration sum;
        for (const Duration part : rows[0].parts) {
            EXPECT_GE(part.ns, 0);
            sum += part;
        }
        EXPECT_EQ(sum, rows[0].wall);
        ++told;
    }
    EXPECT_GT(told, 0u);
}

/// Copies are no kernels, and are what the device did: 60 of 90 us beside 20 of kernels; the set of
/// memory under a kernel counts for the kernel.
TEST_F(ImportedLedger, AReportOfATraceThatCopiesSaysSo) {
    import(complete("kernel", "gemm", 0, 10, 7, 1) + "," +
           complete("gpu_memcpy", "Memcpy HtoD", 15, 40, 9, 2) + "," +
           complete("gpu_memcpy", "Memcpy DtoH", 55, 20, 9, 3) + "," +
           complete("kernel", "gemm", 80, 10, 7, 4) + "," +
           complete("gpu_memset", "Memset", 82, 4, 9, 5));
    const auto report = readReport(*m_imported.reader, m_imported.summary);
    ASSERT_THAT(report, test::IsOk());
    ASSERT_EQ(report->devices.size(), 1u);
    const analysis::DeviceUse& use = report->devices[0];
    EXPECT_EQ(use.compute.ns, 20'000);
    EXPECT_EQ(use.idle.ns, 70'000);
    EXPECT_EQ(use.copies.ns, 60'000);
    ASSERT_EQ(report->findings.size(), 1u);
    EXPECT_EQ(report->findings[0].code, "device-copies");
    EXPECT_THAT(report->findings[0].title, HasSubstr("67 % of the time"));
}

/// Of collectives that are marked it is known that there are some, and nothing else.
TEST_F(ImportedLedger, CollectivesThatAreOnlyMarkedAreNamed) {
    import(complete("user_annotation", "gloo:all_reduce", 300, 500, 108, 0) + "," +
           complete("user_annotation", "gloo:all_reduce", 1300, 700, 108, 0) + "," +
           complete("cpu_op", "c10d::allreduce_", 290, 100, 107, 0) + "," +
           complete("cpu_op", "aten::mm", 10, 200, 107, 0));
    const auto report = readReport(*m_imported.reader, m_imported.summary);
    ASSERT_THAT(report, test::IsOk());
    ASSERT_EQ(report->marked.size(), 2u);
    EXPECT_EQ(report->marked[0].name, "gloo:all_reduce");
    EXPECT_EQ(report->marked[0].count, 2);
    EXPECT_EQ(report->marked[0].total.ns, 1'200'000);
    EXPECT_EQ(report->marked[1].name, "c10d::allreduce_");
    const Selection all;
    for (const char* question : {"overlap", "collectives"}) {
        const auto answer =
            findQuestion(question)->ask({*m_imported.reader, m_imported.summary, all});
        ASSERT_THAT(answer, test::IsOk());
        EXPECT_THAT(
            answer->sentences,
            testing::Contains(HasSubstr("gloo:all_reduce (2, 1.20 ms), c10d::allreduce_ (1, ")))
            << question;
    }
}

TEST_F(ImportedLedger, OfCollectivesWithKernelsNothingIsOnlyMarked) {
    import(complete("user_annotation", "nccl:all_reduce", 300, 500, 108, 0) + "," +
           complete("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 400, 100, 7, 1));
    const auto report = readReport(*m_imported.reader, m_imported.summary);
    ASSERT_THAT(report, test::IsOk());
    EXPECT_THAT(report->marked, IsEmpty());
}

}  // namespace
}  // namespace shardscope::questions
