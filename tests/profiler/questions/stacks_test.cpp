// Stacks as a tree say what `flame` says, single spans are found, queues are those of `launches`.
#include "profiler/questions/occurrences.h"
#include "profiler/questions/read_device.h"
#include "profiler/questions/read_stacks.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/profiler/questions/asking.h"

#include <algorithm>
#include <map>

namespace shardscope::questions {
namespace {

class StacksTest : public Questions {
protected:
    Stacks read(StackKind kind, const Selection& selection = {}) {
        const auto selected = selection.of(m_summary);
        EXPECT_TRUE(selected);
        auto stacks = readStacks({*m_reader, *selected, selection}, kind);
        EXPECT_TRUE(stacks);
        return std::move(*stacks);
    }
    /// Own time of the lanes of a role in `flame`.
    std::int64_t flameTime(const char* role, const Selection& selection = {}) {
        const Answer answer = ask("flame", Mode::kExact, selection);
        const Table& table = answer.tables.at(0);
        std::int64_t sum = 0;
        for (std::size_t row = 0; row < table.rows.size(); ++row)
            if (*table.rows[row][table.columnAt("kind")].text() == role)
                sum += whole(table, row, "self_ns");
        return sum;
    }
};

TEST_F(StacksTest, TakeTheTimeThatFlameSays) {
    record();
    Selection part;
    part.ranks = {RankId{1}};
    part.steps = {{StepIndex{2}, StepIndex{4}}};
    for (const Selection& selection : {Selection(), part}) {
        const Stacks stacks = read(StackKind::kOperators, selection);
        EXPECT_EQ(stacks.merged.total().ns, flameTime("host", selection));
        EXPECT_EQ(stacks.byLane.total(), stacks.merged.total());
        EXPECT_EQ(analysis::inverted(stacks.merged).total(), stacks.merged.total());
        EXPECT_EQ(read(StackKind::kPhases, selection).merged.total().ns,
                  flameTime("compute", selection));
    }
}

TEST_F(StacksTest, OwnTimesOfNamesAreThoseOfWork) {
    record();
    // Of everything: calibration before the first step is left out of both.
    const Stacks stacks = read(StackKind::kOperators);
    const Answer work = ask("work");
    const auto table = std::find_if(work.tables.begin(), work.tables.end(), [](const Table& each) {
        return std::string_view("operators") == each.key;
    });
    ASSERT_NE(table, work.tables.end());
    for (std::size_t row = 0; row < table->rows.size(); ++row) {
        const std::string& name = *table->rows[row][table->columnAt("name")].text();
        const auto known = stacks.merged.find(name);
        ASSERT_TRUE(known) << name;
        const auto calls = analysis::callsOf(stacks.merged, *known);
        EXPECT_EQ(calls.self.ns, whole(*table, row, "self_ns")) << name;
        EXPECT_EQ(calls.count, whole(*table, row, "count")) << name;
    }
}

TEST_F(StacksTest, KindsAreThoseThatThereAre) {
    record();
    EXPECT_EQ(stackKinds(m_summary),
              (std::vector{StackKind::kOperators, StackKind::kPhases, StackKind::kRanges}));
    record({.gpu = true});
    const auto kinds = stackKinds(m_summary);
    EXPECT_NE(std::find(kinds.begin(), kinds.end(), StackKind::kKernels), kinds.end());
    EXPECT_EQ(std::find(kinds.begin(), kinds.end(), StackKind::kPython), kinds.end());
}

TEST_F(StacksTest, TheLongestOfANameIsFound) {
    record();
    const Answer work = ask("work");
    const Selection all;
    const Asked asked{*m_reader, m_summary, all};
    const Table& table = work.tables.at(0);
    const auto found = readOccurrences(asked, StackKind::kOperators,
                                       *table.rows[0][table.columnAt("name")].text());
    ASSERT_TRUE(found);
    ASSERT_TRUE(found->has_value());
    EXPECT_EQ((*found)->longest.range.duration().ns, whole(table, 0, "longest_ns"));
    EXPECT_LE((*found)->first.range.begin, (*found)->longest.range.begin);
    const auto none = readOccurrences(asked, StackKind::kOperators, "nowhere");
    ASSERT_TRUE(none);
    EXPECT_FALSE(none->has_value());
}

TEST_F(StacksTest, QueuesAreThoseOfLaunches) {
    record({.gpu = true});
    const Selection all;
    const auto queues = readQueues({*m_reader, m_summary, all}, 8);
    ASSERT_TRUE(queues);
    const Answer launches = ask("launches");
    const auto table =
        std::find_if(launches.tables.begin(), launches.tables.end(),
                     [](const Table& each) { return std::string_view("queues") == each.key; });
    ASSERT_NE(table, launches.tables.end());
    ASSERT_EQ(queues->size(), table->rows.size());
    for (std::size_t row = 0; row < queues->size(); ++row) {
        std::int64_t longest = 0;
        for (const auto& sample : (*queues)[row].samples)
            longest = std::max(longest, sample.length);
        EXPECT_EQ(longest, whole(*table, row, "longest"));
    }
    const auto few = readQueues({*m_reader, m_summary, all}, 1);
    ASSERT_TRUE(few);
    for (const StreamQueue& queue : *few) EXPECT_EQ(queue.rank, few->front().rank);
}

TEST_F(StacksTest, TagsKeepPhaseAndRole) {
    for (const Phase phase : kAll<Phase>)
        for (const LaneRole role : kAll<LaneRole>) {
            const StackTag tag = StackTag::of(StackTag{phase, role}.packed());
            EXPECT_EQ(tag.phase, phase);
            EXPECT_EQ(tag.role, role);
        }
}

}  // namespace
}  // namespace shardscope::questions
