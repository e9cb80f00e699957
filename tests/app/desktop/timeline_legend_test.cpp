// What the legend of the timeline names: what a recording can show, in the colours of the Overview.
#include "app/desktop/pages/timeline/canvas/timeline_legend.h"

#include "app/desktop/widgets/theme.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using ::testing::Contains;
using ::testing::Not;

OpenRecording withLanes(std::initializer_list<LaneRole> roles) {
    OpenRecording recording;
    recording.summary.run.model = "tiny";  // a trace does not say who waited
    std::uint32_t id = 0;
    for (const LaneRole role : roles)
        recording.summary.lanes.push_back({{0}, {id++}, role, "", "", 0});
    return recording;
}

QStringList names(const std::vector<LegendEntry>& entries) {
    QStringList texts;
    for (const LegendEntry& entry : entries) texts << entry.text;
    return texts;
}

TEST(TimelineLegend, NamesCollectivesOnlyWhereThereAreSome) {
    EXPECT_THAT(names(timelineLegend(withLanes({LaneRole::kCompute}), false)),
                Not(Contains(u"all-gather (AG)"_s)));
    const auto all =
        names(timelineLegend(withLanes({LaneRole::kCompute, LaneRole::kCommunication}), false));
    EXPECT_THAT(all, Contains(u"all-gather (AG)"_s));
    EXPECT_THAT(all, Contains(u"waiting"_s));
}

TEST(TimelineLegend, AHeatMapHasNoHatches) {
    const auto recording = withLanes({LaneRole::kCompute, LaneRole::kCommunication});
    EXPECT_THAT(names(timelineLegend(recording, true)), Not(Contains(u"waiting"_s)));
}

TEST(TimelineLegend, CollectivesHaveTheColoursOfTheLedger) {
    using analysis::LedgerPart;
    EXPECT_EQ(meaningOf(CollectiveOp::kAllReduce), meaningOf(LedgerPart::kExposedAllReduce));
    EXPECT_EQ(meaningOf(CollectiveOp::kAllGather), meaningOf(LedgerPart::kExposedGather));
    EXPECT_EQ(meaningOf(CollectiveOp::kReduceScatter),
              meaningOf(LedgerPart::kExposedReduceScatter));
    EXPECT_EQ(meaningOf(CollectiveOp::kBroadcast), meaningOf(LedgerPart::kExposedOther));
    EXPECT_EQ(Theme::light().fill(Meaning::kAllReduce).colour,
              Theme::light().fill(Meaning::kOtherCollective).colour);
}

}  // namespace
}  // namespace shardscope::desktop
