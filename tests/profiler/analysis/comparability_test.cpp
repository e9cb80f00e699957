#include "profiler/analysis/comparability.h"

#include "engine/run/config/run_config.h"

#include <gmock/gmock.h>

namespace shardscope::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

RecordingSummary runOf(const run::RunConfig& config) {
    RecordingSummary summary;
    summary.run.configJson = run::toJson(config);
    summary.run.model = "shakespeare";
    summary.run.parameters = 10'774'272;
    summary.run.worldSize = config.ranks;
    summary.complete = true;
    StepFacts step;
    step.end = {100};
    summary.steps.push_back(step);
    return summary;
}

TEST(Comparability, OfTwoEqualRunsIsWhole) {
    const auto found = comparabilityOf(runOf({}), runOf({}));
    EXPECT_THAT(found.refusals, IsEmpty());
    EXPECT_THAT(found.warnings, IsEmpty());
}

TEST(Comparability, NamesOptionsThatDifferAndNotWhereRunsWent) {
    run::RunConfig other;
    other.batch = 4;
    other.output = "elsewhere.sscope";
    const auto found = comparabilityOf(runOf({}), runOf(other));
    EXPECT_THAT(found.refusals, IsEmpty());
    EXPECT_THAT(found.warnings, ElementsAre(HasSubstr("batch 8 / 4")));
    EXPECT_THAT(found.warnings.at(0), Not(HasSubstr("output")));
}

TEST(Comparability, RefusesOtherModelsAndRunsWithoutSteps) {
    RecordingSummary other = runOf({});
    other.run.parameters = 5;
    EXPECT_THAT(comparabilityOf(runOf({}), other).refusals,
                ElementsAre(HasSubstr("different models")));
    other = runOf({});
    other.steps.clear();
    EXPECT_THAT(comparabilityOf(runOf({}), other).refusals,
                ElementsAre(HasSubstr("second recording has no steps")));
}

TEST(Comparability, OfAnImportSaysThatItsSettingsAreNotKnown) {
    RecordingSummary imported = runOf({});
    imported.run.configJson = R"({"traceEvents":1,"distributedInfo":{"rank":0}})";
    imported.run.parameters = 0;
    const auto found = comparabilityOf(runOf({}), imported);
    EXPECT_THAT(found.warnings, ElementsAre(HasSubstr("second run was set up is not known")));
}

TEST(Comparability, SaysWhatElseDiffers) {
    RecordingSummary other = runOf({});
    other.run.worldSize = 4;
    other.run.product = "shardscope 9";
    other.run.librariesJson = "{\"mkl\":\"1\"}";
    other.complete = false;
    DeviceFacts device;
    device.name = "NVIDIA H200";
    other.devices.push_back(device);
    const auto found = comparabilityOf(runOf({}), other);
    EXPECT_THAT(found.warnings,
                ElementsAre(HasSubstr("Numbers of ranks differ"), HasSubstr("NVIDIA H200"),
                            HasSubstr("shardscope 9"), HasSubstr("libraries"),
                            HasSubstr("second recording was not finalised")));
}

}  // namespace
}  // namespace shardscope::analysis
