// The differential flame graph of the Compare page: its cells are those of the stacks' difference.

#include "app/desktop/models/format.h"
#include "app/desktop/pages/compare/stack_panel.h"
#include "app/desktop/widgets/pictures/flame_graph.h"
#include "storage/recording/read/recording_reader.h"
#include "tests/app/desktop/compare_fixture.h"

#include <QComboBox>
#include <QLineEdit>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::CallTree;

CallTree tree(std::initializer_list<std::pair<const char*, std::int64_t>> frames) {
    CallTree made;
    for (const auto& [name, ns] : frames)
        made.add(made.child(CallTree::kRoot, name), Duration{ns}, 1);
    made.addUp();
    return made;
}

analysis::CallDifference sample() {
    return analysis::callDifference(tree({{"same", 1000}, {"more", 1000}, {"gone", 2000}}), 1,
                                    tree({{"same", 1005}, {"more", 1250}, {"new", 500}}), 1);
}

std::size_t cellOf(const FlameData& data, const QString& name) {
    for (std::size_t i = 0; i < data.cells.size(); ++i)
        if (data.nameOf(i) == name) return i;
    return 0;
}

TEST(DifferenceFlame, IsAsWideAsTheJudgedOneAndColouredByChange) {
    const FlameData data = differenceFlame(sample(), FlameWidth::kJudged, u"all"_s);
    EXPECT_DOUBLE_EQ(data.whole(), 2755);
    ASSERT_EQ(data.cells.size(), 4u) << "what is gone has no width";
    EXPECT_FALSE(data.cells[0].change);
    EXPECT_EQ(data.cells[cellOf(data, u"same"_s)].change, 0.0F) << "half a percent is no change";
    EXPECT_FLOAT_EQ(*data.cells[cellOf(data, u"more"_s)].change, 0.5F);
    EXPECT_EQ(data.cells[cellOf(data, u"new"_s)].change, 1.0F);
    EXPECT_EQ(data.nameOf(1), u"more"_s) << "the widest first";
}

TEST(DifferenceFlame, ByTheBaselineItShowsWhatIsGone) {
    const FlameData data = differenceFlame(sample(), FlameWidth::kBaseline, u"all"_s);
    EXPECT_DOUBLE_EQ(data.whole(), 4000);
    const std::size_t gone = cellOf(data, u"gone"_s);
    ASSERT_EQ(gone, 1u);
    EXPECT_EQ(data.cells[gone].change, -1.0F);
    EXPECT_EQ(cellOf(data, u"new"_s), 0u);
    ASSERT_EQ(data.pairs.size(), data.cells.size());
    EXPECT_DOUBLE_EQ(data.pairs[gone].before, 2000);
    EXPECT_DOUBLE_EQ(data.pairs[gone].after, 0);
}

TEST(DifferenceFlame, SaysBothTimesChangeAndShare) {
    const FlameData data = differenceFlame(sample(), FlameWidth::kJudged, u"all"_s);
    QString more = flameText(data, cellOf(data, u"more"_s));
    more.replace(u'\u2009', u' ');
    EXPECT_TRUE(
        more.startsWith(u"more: 1.25 µs instead of 1.00 µs: +250 ns (+25.0 %), 45.4 % of 2.7"_s))
        << more.toStdString();
    EXPECT_TRUE(flameText(data, cellOf(data, u"new"_s)).contains(u"nothing before"_s));
    const FlameData before = differenceFlame(sample(), FlameWidth::kBaseline, u"all"_s);
    EXPECT_TRUE(flameText(before, cellOf(before, u"gone"_s)).contains(u"nothing instead of 2"_s));
}

TEST(DifferenceFlame, SaysWhatIsInOneAlone) {
    questions::StackDifference read;
    EXPECT_TRUE(differenceNote(read, 2).contains(u"Neither"_s));
    read.kind = questions::StackKind::kOperators;
    read.stacks = sample();
    read.stepsBefore = read.stepsAfter = 20;
    read.lanesBefore = read.lanesAfter = 2;
    QString note = differenceNote(read, 3);
    note.replace(u'\u2009', u' ');
    for (const QString& part : {u"per step and rank"_s, u"Of A and B the first is taken"_s,
                                u"of A alone: 2.00 µs"_s, u"of C alone: 500 ns"_s})
        EXPECT_TRUE(note.contains(part)) << note.toStdString();
    read.stepsAfter = 0;
    read.lanesAfter = 0;
    EXPECT_TRUE(differenceNote(read, 2).contains(u"has no steps"_s));
    EXPECT_TRUE(differenceNote(read, 2).contains(u"recorded no operators"_s));
}

class CompareStacksTest : public CompareFixture {
protected:
    [[nodiscard]] StackPanel& panel() { return *page().findChild<StackPanel*>(); }
    [[nodiscard]] QComboBox* box(const QString& name) {
        for (auto* each : panel().findChildren<QComboBox*>())
            if (each->accessibleName() == name) return each;
        return nullptr;
    }
    static void choose(QComboBox* box, int index) {
        box->setCurrentIndex(index);
        Q_EMIT box->activated(index);
    }
};

TEST_F(CompareStacksTest, ShowsStacksOfBoth) {
    openSample();
    comparedWith(other({.operatorRounds = 5}));
    const FlameData& judged = panel().graph().shown();
    ASSERT_FALSE(judged.empty());
    ASSERT_EQ(judged.pairs.size(), judged.cells.size());
    EXPECT_NE(judged.pairs[0].before, judged.pairs[0].after);
    EXPECT_DOUBLE_EQ(judged.whole(), judged.pairs[0].after);
    EXPECT_EQ(box(u"What the width of cells shows"_s)->currentText(), u"Width by B"_s);
    choose(box(u"What the width of cells shows"_s), 1);
    EXPECT_DOUBLE_EQ(panel().graph().shown().whole(), panel().graph().shown().pairs[0].before);
    QComboBox* kinds = box(u"Which stacks are compared"_s);
    ASSERT_GT(kinds->count(), 1);
    choose(kinds, 1);
    wait();
    EXPECT_EQ(kinds->currentIndex(), 1);
    EXPECT_TRUE(panel().graph().accessibleName().contains(kinds->currentText()));
    keepPicture(u"compare-stacks"_s);
}

TEST_F(CompareStacksTest, FindsNamesAndFollowsTheSelection) {
    openSample();
    comparedWith(other());
    panel().findChild<QLineEdit*>()->setText(u"linear"_s);
    EXPECT_GT(panel().graph().found().cells, 0u);
    const double whole = panel().graph().shown().whole();
    m_window->selection().selectRanks({RankId{1}});
    settle();
    wait();
    EXPECT_NE(panel().graph().shown().whole(), whole);
    EXPECT_GT(panel().graph().found().cells, 0u) << "the search stays";
    for (const FlamePair& pair : panel().graph().shown().pairs)
        EXPECT_DOUBLE_EQ(pair.before, pair.after) << "the same run twice";
}

TEST_F(CompareStacksTest, SaysWhereOneHasNone) {
    openSample();
    comparedWith(other({.operators = false}));
    QComboBox* kinds = box(u"Which stacks are compared"_s);
    choose(kinds, 0);
    wait();
    EXPECT_TRUE(panel().graph().shown().empty());
    EXPECT_TRUE(saysIn(panel(), u"B recorded no operators"_s));
}

}  // namespace
}  // namespace shardscope::desktop
