// The Operators & kernels page: what it says of recordings of each kind, and that one can walk it.
#include "app/desktop/models/format.h"
#include "app/desktop/pages/operators/flame_panel.h"
#include "app/desktop/pages/operators/operators_page.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/pictures/flame_graph.h"
#include "tests/app/desktop/window_fixture.h"

#include <QComboBox>
#include <QLineEdit>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using questions::StackKind;

class OperatorsTest : public WindowTest {
protected:
    OperatorsPage* page() {
        return qobject_cast<OperatorsPage*>(m_window->page(page_ids::kOperators));
    }
    void open(const test::SampleOptions& options = {}) {
        m_window->showPage(page_ids::kOperators);
        openSample(options);
        settleWhole();
    }
    /// A question may be asked when another was answered.
    void settleWhole() {
        for (int round = 0; round < 3; ++round) settle();
    }
    void chooseKind(StackKind kind) {
        auto* box = page()->flame().findChild<QComboBox*>();
        const int at = box->findData(static_cast<int>(kind));
        ASSERT_GE(at, 0);
        box->setCurrentIndex(at);
        Q_EMIT box->activated(at);
        settleWhole();
    }
    std::optional<std::size_t> cellNamed(const QString& name) {
        const FlameData& data = page()->flame().graph().shown();
        for (std::size_t i = 0; i < data.cells.size(); ++i)
            if (data.nameOf(i) == name) return i;
        return std::nullopt;
    }
};

TEST_F(OperatorsTest, BeginsWithAnAnswerAndItsDenominator) {
    open();
    const QString headline = page()->frame().headline();
    EXPECT_TRUE(headline.contains(u" of the operators' self time: "_s)) << headline.toStdString();
    EXPECT_EQ(page()->flame().frame()->kind, StackKind::kOperators);
    EXPECT_FALSE(page()->flame().graph().shown().empty());
    keepPicture(u"operators"_s);
}

TEST_F(OperatorsTest, OfAGpuItHasKernelsLaunchesAndQueues) {
    test::SampleOptions options;
    options.gpu = true;
    open(options);
    EXPECT_TRUE(page()->frame().headline().contains(u"the time of kernels and copies"_s));
    for (const char* key : {"kernels", "operators", "idle", "calls", "queues", "layers"})
        EXPECT_GE(page()->tables().findData(QLatin1StringView(key)), 0) << key;
    EXPECT_FALSE(page()->launches().queue().grab().isNull());  // it lies below what is seen
    EXPECT_GT(page()->launches().queue().drawnPoints(), 0);
    chooseKind(StackKind::kKernels);
    EXPECT_EQ(page()->flame().frame()->kind, StackKind::kKernels);
    keepPicture(u"operators_gpu"_s);
}

TEST_F(OperatorsTest, WithoutOperatorsItSaysSo) {
    test::SampleOptions options;
    options.operators = false;
    open(options);
    EXPECT_EQ(page()->frame().headline(), u"Neither operators nor kernels were recorded"_s);
    EXPECT_EQ(page()->tables().findData(u"operators"_s), -1);
}

TEST_F(OperatorsTest, ARowShowsCallersAndCalleesAndOneWalksThem) {
    open();
    ASSERT_GT(page()->table().table()->rowCount(), 0);
    page()->table().selectRow(0);
    settleWhole();
    FlamePanel& flame = page()->flame();
    const QString name = flame.shownName();
    EXPECT_FALSE(name.isEmpty());
    ASSERT_GT(flame.callers().table()->rowCount(), 0);
    keepPicture(u"operators_calls"_s);
    Q_EMIT flame.callers().rowActivated(0);
    settleWhole();
    const QString caller = flame.shownName();
    EXPECT_NE(caller, name);
    ASSERT_GT(flame.callees().table()->rowCount(), 1);
    Q_EMIT flame.callees().rowActivated(0);
    settleWhole();
    EXPECT_EQ(flame.shownName(), caller) << "itself leads nowhere";
}

TEST_F(OperatorsTest, TheLongestIsShownOnTheTimeline) {
    open();
    Q_EMIT page()->table().rowActivated(0);
    settleWhole();
    EXPECT_EQ(m_window->currentPage(), QString(page_ids::kTimeline));
    EXPECT_TRUE(m_window->selection().current().range.has_value());
    EXPECT_EQ(m_window->selection().current().ranks.size(), 1u);
}

TEST_F(OperatorsTest, ObeysTheSelection) {
    open();
    const double all = page()->flame().graph().shown().whole();
    const QString headline = page()->frame().headline();
    m_window->selection().selectRanks({RankId{0}});
    settleWhole();
    EXPECT_LT(page()->flame().graph().shown().whole(), all);
    EXPECT_NE(page()->frame().headline(), headline);
    m_window->selection().clear();
    settleWhole();
    EXPECT_EQ(page()->flame().graph().shown().whole(), all);
}

TEST_F(OperatorsTest, StacksInvertedAndByLaneTakeTheSameTime) {
    open();
    const double all = page()->flame().graph().shown().whole();
    const auto boxes = page()->flame().findChildren<QComboBox*>();
    ASSERT_EQ(boxes.size(), 3);
    for (QComboBox* box : {boxes[1], boxes[2]}) {
        box->setCurrentIndex(1);
        Q_EMIT box->activated(1);
        settleWhole();
        EXPECT_EQ(page()->flame().graph().shown().whole(), all);
    }
    EXPECT_GT(page()->flame().graph().shown().rowCount(), 2u);
}

TEST_F(OperatorsTest, SearchingSaysTheShare) {
    open();
    auto* field = page()->flame().findChild<QLineEdit*>();
    page()->flame().graph().setFocus();
    QTest::keyClick(&page()->flame().graph(), Qt::Key_Slash);
    EXPECT_TRUE(field->hasFocus());
    QTest::keyClicks(field, u"aten"_s);
    EXPECT_GT(page()->flame().graph().found().cells, 0u);
    EXPECT_GT(page()->flame().graph().found().share, 0);
    EXPECT_LE(page()->flame().graph().found().share, 1);
}

TEST_F(OperatorsTest, CalleesAddUpToTheTotal) {
    open();
    const StacksFrame& frame = *page()->flame().frame();
    for (const std::string& name : frame.stacks.merged.names()) {
        const NamedCalls found = callsIn(frame, QString::fromStdString(name));
        double callees = ownRow(found.calls)[1].sortKey, callers = 0;
        for (const auto& row : edgeRows(frame.stacks.merged, found.calls, found.calls.callees))
            callees += row[1].sortKey;
        for (const auto& row : edgeRows(frame.stacks.merged, found.calls, found.calls.callers))
            callers += row[1].sortKey;
        EXPECT_EQ(callees, callers) << name;
    }
}

questions::Answer roofAnswer(bool peak, bool bandwidth) {
    questions::Answer answer;
    questions::Table table{"roofline", "", {{"intensity", ""}, {"flops_per_s", ""}}, {}};
    table.rows = {{20.0, 4e12}, {5.0, 1e12}, {questions::Cell(), 3e12}};
    answer.tables.push_back(table);
    if (peak) answer.figures.push_back({{"roof_flops", ""}, 8e12});
    if (bandwidth) answer.figures.push_back({{"roof_bandwidth", ""}, 1e12});
    return answer;
}

TEST(Roofline, DrawsTheRoofsThatAreKnownAndSaysWhichAreNot) {
    EXPECT_FALSE(rooflineOf({}));
    const auto both = rooflineOf(roofAnswer(true, true));
    ASSERT_TRUE(both);
    ASSERT_EQ(both->lines.size(), 3u);
    EXPECT_EQ(both->lines[0].points, (QVector<QPointF>{{5, 1000}, {20, 4000}}));
    EXPECT_EQ(both->lines[1].points.back(), QPointF(8, 8000)) << "memory bounds up to the ridge";
    EXPECT_EQ(both->lines[2].points.front(), QPointF(8, 8000));
    EXPECT_TRUE(both->note.contains(u"estimated"_s));
    const auto neither = rooflineOf(roofAnswer(false, false));
    ASSERT_TRUE(neither);
    EXPECT_EQ(neither->lines.size(), 1u);
    EXPECT_TRUE(neither->note.contains(u"No peak was measured"_s));
    EXPECT_TRUE(neither->note.contains(u"memory bandwidth is not known"_s));
    EXPECT_EQ(rooflineOf(roofAnswer(true, false))->lines.size(), 2u);
}

TEST_F(OperatorsTest, CellsOfHeadingsAreNoOperators) {
    open();
    const auto forward = cellNamed(u"forward"_s);
    ASSERT_TRUE(forward);
    EXPECT_EQ(page()->flame().graph().shown().cells[*forward].count, 0);
}

}  // namespace
}  // namespace shardscope::desktop
