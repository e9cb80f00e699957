// Which step imported events belong to.
#include "storage/model/step_names.h"
#include "tests/storage/interchange/kineto_samples.h"

#include <gtest/gtest.h>

namespace shardscope {
namespace {

using test::IsOk;

TEST(StepNames, OfTrainingLoopsAreKnown) {
    const struct {
        const char* name;
        StepNaming naming;
        int step;
    } kKnown[] = {{"ProfilerStep#12", StepNaming::kProfilerStep, 12},
                  {"step 5", StepNaming::kStep, 5},
                  {"## Step 5 ##", StepNaming::kStep, 5},
                  {"Step #7", StepNaming::kStep, 7},
                  {"global_step=1000", StepNaming::kStep, 1000},
                  {"train step 5/100", StepNaming::kStep, 5},
                  {"training_step_0", StepNaming::kStep, 0},
                  {"[step 3]", StepNaming::kStep, 3},
                  {"iteration 5", StepNaming::kIteration, 5},
                  {"Iteration: 12 of 300", StepNaming::kIteration, 12},
                  {"iter_5", StepNaming::kIteration, 5},
                  {"train iter 5", StepNaming::kIteration, 5},
                  {"batch 9", StepNaming::kBatch, 9}};
    for (const auto& known : kKnown) {
        const auto step = stepIn(known.name);
        ASSERT_TRUE(step) << known.name;
        EXPECT_EQ(step->naming, known.naming) << known.name;
        EXPECT_EQ(step->step.value, known.step) << known.name;
    }
}

TEST(StepNames, OtherNamesAreNone) {
    for (const char* name :
         {"", "5", "step", "step ", "step5", "ProfilerStep#", "ProfilerStep#x", "ProfilerStep#-1",
          "Optimizer.step#AdamW.step", "aten::conv2d", "layer 5", "backward step 5", "step 5.5",
          "step 99999999999", "a step 5", "void step<5>", "/5", "of 5", "step /5"})
        EXPECT_FALSE(stepIn(name)) << name;
}

class ImportedSteps : public ::testing::Test {
protected:
    void import(const std::string& events) {
        auto account = imported.importText("{\"traceEvents\":[" + events + "]}");
        ASSERT_THAT(account, IsOk());
        notes = account->notes;
    }
    static std::string complete(const std::string& category, const std::string& name, int thread,
                                int start, int duration, const std::string& arguments = "{}") {
        return R"({"ph":"X","cat":")" + category + R"(","name":")" + name + R"(","pid":1,"tid":)" +
               std::to_string(thread) + R"(,"ts":)" + std::to_string(start) + R"(,"dur":)" +
               std::to_string(duration) + R"(,"args":)" + arguments + "},";
    }
    static std::string correlated(int number) {
        return "{\"correlation\":" + std::to_string(number) + "}";
    }
    std::string cell(const std::string& sql) {
        auto table = imported.reader->query(sql);
        if (!table) return table.error().message;
        if (table->rows.empty()) return "no row";
        return table->rows[0][0].value_or("NULL");
    }
    [[nodiscard]] bool isNoted(const std::string& part) const {
        for (const std::string& note : notes)
            if (note.find(part) != std::string::npos) return true;
        return false;
    }

    test::Imported imported;
    std::vector<std::string> notes;
};

const std::string kLast = R"({"ph":"i","name":"mark","pid":1,"tid":1,"ts":150})";

TEST_F(ImportedSteps, ComeFromAnnotationsThatNameThem) {
    import(complete("user_annotation", "## step 5 ##", 1, 100, 100) +
           complete("user_annotation", "## step 6 ##", 1, 200, 100) +
           complete("cpu_op", "aten::mm", 1, 210, 10) +
           complete("cuda_runtime", "cudaLaunchKernel", 1, 190, 5, correlated(7)) +
           // Begins in the next step, but was launched in this one.
           complete("kernel", "late", 3, 250, 10, correlated(7)) +
           complete("kernel", "ownTime", 3, 270, 10, correlated(8)) +
           complete("kernel", "afterAll", 3, 900, 10, correlated(9)) +
           R"({"ph":"s","id":7,"pid":1,"tid":1,"ts":190,"cat":"ac2g","name":"ac2g"},)"
           R"({"ph":"f","id":7,"pid":1,"tid":3,"ts":250,"cat":"ac2g","name":"ac2g","bp":"e"},)" +
           kLast);
    EXPECT_EQ(cell("SELECT group_concat(step) FROM steps"), "5,6");
    EXPECT_EQ(cell("SELECT step FROM events WHERE name='aten::mm'"), "6");
    EXPECT_EQ(cell("SELECT step FROM events WHERE name='late'"), "5");
    EXPECT_EQ(cell("SELECT step FROM events WHERE name='ownTime'"), "6");
    EXPECT_EQ(cell("SELECT step FROM events WHERE name='afterAll'"), "NULL");
    EXPECT_EQ(cell("SELECT step FROM instants"), "5");
    EXPECT_EQ(cell("SELECT group_concat(step) FROM flows"), "5,5");
    EXPECT_TRUE(isNoted("steps were taken from 2 ranges named like \"step N\""));
}

TEST_F(ImportedSteps, ProfilersWinAndItIsSaid) {
    import(complete("user_annotation", "iteration 40", 1, 90, 120) +
           complete("user_annotation", "ProfilerStep#3", 1, 100, 100) +
           complete("user_annotation", "iteration 41", 1, 210, 90) +
           complete("cpu_op", "aten::mm", 1, 110, 10) + kLast);
    EXPECT_EQ(cell("SELECT group_concat(step) FROM steps"), "3");
    EXPECT_EQ(cell("SELECT step FROM events WHERE name='aten::mm'"), "3");
    EXPECT_TRUE(
        isNoted("2 ranges named like \"iteration N\" were not taken for steps: \"ProfilerStep#N\" "
                "names those"));
}

TEST_F(ImportedSteps, PartsOfAStepThatRepeatAreNone) {
    // Gradient accumulation: steps 0 and 1 in each iteration.
    std::string events;
    for (int i = 0; i < 4; ++i) {
        events += complete("user_annotation", "iteration " + std::to_string(i), 1, 1000 * i, 1000);
        for (int k = 0; k < 2; ++k) {
            events += complete("user_annotation", "step " + std::to_string(k), 1,
                               1000 * i + 500 * k, 500);
            events += complete("cpu_op", "op" + std::to_string(i), 1, 1000 * i + 500 * k + 9, 5);
        }
    }
    import(events + kLast);
    EXPECT_EQ(cell("SELECT group_concat(step) FROM steps"), "0,1,2,3");
    EXPECT_EQ(cell("SELECT group_concat(DISTINCT step) FROM events WHERE name='op2'"), "2");
    EXPECT_TRUE(isNoted("8 ranges named like \"step N\" were not taken for steps"));
}

TEST_F(ImportedSteps, AreKnownAlsoOfKernelsThatStandFarBeforeTheirLaunches) {
    // More kernels than wait to be put in order, then calls and steps.
    std::string events;
    constexpr int kKernels = 90'000;
    events.reserve(std::size_t{kKernels} * 320);
    for (int i = 1; i <= kKernels; ++i)
        events += complete("kernel", "k", 3, 10 * i + 5'000, 5, correlated(i));
    for (int i = 1; i <= kKernels; ++i)
        events += complete("cuda_runtime", "cudaLaunchKernel", 1, 10 * i, 5, correlated(i));
    for (int step = 0; step < 9; ++step)
        events += complete("user_annotation", "ProfilerStep#" + std::to_string(step), 1,
                           100'000 * step, 100'000);
    import(events + kLast);
    EXPECT_EQ(cell("SELECT count(*) FROM events WHERE name='k' AND step=3"), "10000");
    EXPECT_EQ(cell("SELECT count(*) FROM events k JOIN events c ON c.correlation=k.correlation"
                   " AND c.name='cudaLaunchKernel' WHERE k.name='k' AND k.step IS NOT c.step"
                   " AND k.correlation < 200"),
              "0");
}

/// Two runs of an optimizer a step, and one of another.
std::string optimizerRuns() {
    std::string events;
    for (int step = 0; step < 4; ++step) {
        const int at = 1000 * step;
        for (const auto& [name, start] : {std::pair{"Optimizer.step#AdamW.step", at + 700},
                                          std::pair{"Optimizer.step#SGD.step", at + 900}})
            events += R"({"ph":"X","cat":"user_annotation","name":")" + std::string(name) +
                      R"(","pid":1,"tid":1,"ts":)" + std::to_string(start) + R"(,"dur":100},)";
        events += R"({"ph":"X","cat":"cpu_op","name":"op)" + std::to_string(step) +
                  R"(","pid":1,"tid":1,"ts":)" + std::to_string(at + 100) + R"(,"dur":9},)";
    }
    return events;
}

TEST_F(ImportedSteps, GoFromOneRunOfTheOptimizerToTheNextWhereThatIsAskedFor) {
    interchange::TracedRun traced;
    traced.ranks = {RankId{3}};
    traced.firstSteps = {5};
    traced.worldSize = 8;
    traced.commandLine = "shardscope record --kineto";
    traced.product = "shardscope 1";
    traced.diagnostics = {
        {Severity::kNote, "kineto-window", "a window", "", std::nullopt, Timestamp{}, 1}};
    imported.options.traced = traced;
    import(optimizerRuns() + kLast);
    EXPECT_EQ(cell("SELECT group_concat(step) FROM steps"), "5,6,7");
    EXPECT_EQ(cell("SELECT step FROM events WHERE name='op2'"), "6");
    EXPECT_EQ(cell("SELECT DISTINCT rank FROM events"), "3");
    EXPECT_EQ(imported.summary.run.worldSize, 8);
    EXPECT_EQ(imported.summary.run.commandLine, traced.commandLine);
    EXPECT_EQ(imported.summary.run.product, traced.product);
    EXPECT_EQ(imported.summary.diagnostics.back().code, "kineto-window");
}

TEST_F(ImportedSteps, AreNotThoseOfTheOptimizerElse) {
    import(optimizerRuns() + kLast);
    EXPECT_EQ(cell("SELECT count(*) FROM steps"), "0");
}

}  // namespace
}  // namespace shardscope
