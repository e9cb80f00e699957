// Pages on recordings of GPU ranks, by mouse and keys; and the fields of a run on GPUs.
#include "app/desktop/pages/newrun/new_run_page.h"
#include "app/desktop/pages/overview/overview_model.h"
#include "app/desktop/pages/recording_page.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/pages/timeline/details/slice_panel.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/detail_list.h"
#include "app/desktop/widgets/theme.h"
#include "tests/app/desktop/window_fixture.h"
#include "tests/support/sample_device.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QScrollBar>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

class GpuPagesTest : public WindowTest {
protected:
    void openGpu(test::SampleOptions options = {}) {
        options.gpu = true;
        openSample(options);
    }

    TimelinePage* timeline() {
        m_window->resize(1600, 1000);
        m_window->showPage(u"timeline"_s);
        settle();
        return qobject_cast<TimelinePage*>(m_window->page(u"timeline"_s));
    }

    /// On the first whole slice of a lane that is in view, on whatever level of its track.
    static QPoint pointOn(const TimelineCanvas& canvas, LaneAddress key) {
        const LaneRow* row = canvas.lanes().row(key);
        for (int x = kLabelWidth; row != nullptr && x < canvas.viewport()->width(); ++x)
            for (int level = 0; level < row->depths; ++level) {
                const int y = row->height * (2 * level + 1) / (2 * row->depths);
                const QPoint point(x, kRulerHeight + row->y + y);
                const auto hit = canvas.hitAt(point);
                if (hit && hit->key == key && hit->slice.count == 1 &&
                    hit->slice.range.begin >= canvas.view().begin)
                    return point;
            }
        return {};
    }

    template <class Widget>
    Widget* named(const QString& page, const QString& name) {
        for (Widget* widget : m_window->page(page)->findChildren<Widget*>()) {
            if (widget->accessibleName() == name) return widget;
        }
        return nullptr;
    }
};

TEST_F(GpuPagesTest, AKernelLeadsToItsLaunchAndBack) {
    openGpu();
    TimelinePage* page = timeline();
    TimelineCanvas& canvas = page->canvas();
    const Timestamp middle{(canvas.view().begin.ns + canvas.view().end.ns) / 2};
    canvas.setView({middle - Duration{2'000'000}, middle + Duration{2'000'000}});
    settle();
    const LaneAddress kernels{RankId{0}, test::kKernelLane};
    const QPoint point = pointOn(canvas, kernels);
    ASSERT_FALSE(point.isNull());
    QTest::mouseClick(canvas.viewport(), Qt::LeftButton, Qt::NoModifier, point);
    settle();
    ASSERT_EQ(canvas.links().size(), 1U);
    const SliceView kernel = canvas.selectedSlice()->slice;
    const auto& rows = page->panel().rows().rows();
    EXPECT_EQ(rows.back().first, u"launch to start"_s);
    keepPicture(u"gpu-kernel"_s);

    QTest::keyClick(&canvas, Qt::Key_BracketRight);
    EXPECT_EQ(canvas.selectedSlice()->slice, kernel) << "a kernel starts nothing";
    QTest::keyClick(&canvas, Qt::Key_BracketLeft);
    settle();
    EXPECT_EQ(canvas.selectedSlice()->key.lane, test::kCallLane);
    EXPECT_EQ(canvas.selectedSlice()->slice.correlation, kernel.correlation);
    keepPicture(u"gpu-launch"_s);
    auto* there = page->panel().findChild<QPushButton*>();
    ASSERT_NE(there, nullptr);
    EXPECT_TRUE(there->isVisible());
    there->click();
    settle();
    EXPECT_EQ(canvas.selectedSlice()->slice, kernel);
    QTest::keyClick(&canvas, Qt::Key_Escape);
    EXPECT_TRUE(canvas.links().empty());
    EXPECT_FALSE(there->isVisible());
}

TEST_F(GpuPagesTest, FollowingOpensTheGroupThatHidesTheLaunch) {
    openGpu();
    TimelinePage* page = timeline();
    TimelineCanvas& canvas = page->canvas();
    const auto fold = [&](const QString& group) {
        for (const LaneRow& row : canvas.lanes().rows) {
            if (row.name != group) continue;
            QTest::mouseClick(canvas.viewport(), Qt::LeftButton, Qt::NoModifier,
                              QPoint(30, kRulerHeight + row.y + 8));
            return;
        }
    };
    fold(u"thread 4711"_s);
    const LaneAddress calls{RankId{0}, test::kCallLane};
    ASSERT_EQ(canvas.lanes().row(calls), nullptr);
    const Timestamp middle{(canvas.view().begin.ns + canvas.view().end.ns) / 2};
    canvas.setView({middle - Duration{2'000'000}, middle + Duration{2'000'000}});
    settle();
    QTest::mouseClick(canvas.viewport(), Qt::LeftButton, Qt::NoModifier,
                      pointOn(canvas, {RankId{0}, test::kKernelLane}));
    settle();
    QTest::keyClick(&canvas, Qt::Key_BracketLeft);
    settle();
    EXPECT_NE(canvas.lanes().row(calls), nullptr);
    EXPECT_EQ(canvas.selectedSlice()->key, calls);
}

TEST_F(GpuPagesTest, NStaysOnAKernelOfNccl) {
    openGpu();
    TimelineCanvas& canvas = timeline()->canvas();
    const LaneAddress nccl{RankId{0}, test::kNcclLane};
    const QPoint point = pointOn(canvas, nccl);
    ASSERT_FALSE(point.isNull());
    QTest::mouseClick(canvas.viewport(), Qt::LeftButton, Qt::NoModifier, point);
    settle();
    const SliceView kernel = canvas.selectedSlice()->slice;
    QTest::keyClick(&canvas, Qt::Key_N);
    EXPECT_EQ(canvas.selectedSlice()->key, nccl);
    EXPECT_EQ(canvas.selectedSlice()->slice, kernel);
}

TEST_F(GpuPagesTest, UnfoldedCountersHaveRoomForTheirNames) {
    openGpu();
    TimelineCanvas& canvas = timeline()->canvas();
    QSignalSpy plot(&canvas, &TimelineCanvas::plotChanged);
    const int before = canvas.lanes().height;
    for (const LaneRow& row : canvas.lanes().rows) {
        if (row.group != kCounterGroup) continue;
        QTest::mouseClick(canvas.viewport(), Qt::LeftButton, Qt::NoModifier,
                          QPoint(30, kRulerHeight + row.y + 8));
        break;
    }
    settle();
    EXPECT_GT(canvas.lanes().height, before + 20 * 26);
    ASSERT_FALSE(plot.isEmpty());
    const int left = plot.back().front().toInt();
    const QFontMetricsF metrics(textFont(kSmallPixels));
    for (const LaneRow& row : canvas.lanes().rows) {
        if (!row.isLane()) continue;
        EXPECT_LE(16 + row.indent + metrics.horizontalAdvance(row.name), left - 8)
            << row.name.toStdString();
    }
    const LaneRow* power = canvas.lanes().row({RankId{0}, test::kPowerLane});
    ASSERT_NE(power, nullptr);
    QSignalSpy hover(&canvas, &TimelineCanvas::hoverChanged);
    canvas.verticalScrollBar()->setValue(power->y - 100);
    const int top = canvas.verticalScrollBar()->value();
    movePointer(canvas.viewport(), QPoint(700, kRulerHeight + power->y + 8 - top));
    ASSERT_FALSE(hover.isEmpty());
    EXPECT_TRUE(hover.back().front().toString().contains(u"power"_s));
    EXPECT_TRUE(hover.back().front().toString().contains(u"\u2009W"_s));
    keepPicture(u"gpu-counters"_s);
}

TEST_F(GpuPagesTest, OverviewShowsDevicesOnlyWhereThereAreSome) {
    openSample();
    m_window->showPage(u"overview"_s);
    settle();
    auto* devices = named<DataTable>(u"overview"_s, u"Devices and their peaks"_s);
    ASSERT_NE(devices, nullptr);
    EXPECT_FALSE(devices->isVisible());
    openGpu();
    m_window->showPage(u"overview"_s);
    settle();
    EXPECT_TRUE(devices->isVisible());
    EXPECT_EQ(devices->table()->rowCount(), 2);
    auto* times = named<DataTable>(u"overview"_s, u"What kernels did, by device"_s);
    ASSERT_NE(times, nullptr);
    EXPECT_EQ(times->table()->rowCount(), 2);
    auto* copies = named<DataTable>(u"overview"_s, u"Copies and sets of memory"_s);
    ASSERT_NE(copies, nullptr);
    EXPECT_GT(copies->model()->rowCount(), 1) << "by direction and kind of memory";
    keepPicture(u"gpu-overview"_s);
}

TEST_F(GpuPagesTest, OverviewShowsPartsOfStepsOnlyWhereThereAreSome) {
    openSample();
    m_window->showPage(u"overview"_s);
    settle();
    auto* parts = named<DataTable>(u"overview"_s, u"Parts of a step"_s);
    ASSERT_NE(parts, nullptr);
    EXPECT_TRUE(parts->isVisible());
    // Before the first step, as in a trace that does not say what its steps are made of.
    m_window->selection().selectRange({{-2}, {-1}});
    settle();
    EXPECT_FALSE(parts->isVisible());
    m_window->selection().clear();
    settle();
    EXPECT_TRUE(parts->isVisible());
}

TEST_F(GpuPagesTest, EveryPageOfASharedDeviceSaysSo) {
    test::SampleOptions options;
    options.gpuShared = true;
    openGpu(options);
    for (const QString& id : {u"overview"_s, u"timeline"_s, u"memory"_s, u"training"_s}) {
        const auto* page = qobject_cast<RecordingPage*>(m_window->page(id));
        EXPECT_TRUE(page->frame().banner().startsWith(u"Shared device"_s)) << id.toStdString();
    }
    options.finalise = false;
    openGpu(options);
    const QString both =
        qobject_cast<RecordingPage*>(m_window->page(u"overview"_s))->frame().banner();
    EXPECT_TRUE(both.contains(u"not finished"_s));
    EXPECT_TRUE(both.contains(u"Shared device"_s));
}

TEST_F(GpuPagesTest, PagesOfEveryKindOfGpuRecordingAreFull) {
    for (const auto& [traced, shared] : {std::pair{true, false}, {false, false}, {true, true}}) {
        test::SampleOptions options;
        options.gpuTraced = traced;
        options.gpuShared = shared;
        openGpu(options);
        for (const QSize size : {QSize(1600, 1000), QSize(1024, 640)}) {
            m_window->resize(size);
            for (const QString& id : {u"overview"_s, u"timeline"_s, u"memory"_s, u"training"_s}) {
                m_window->showPage(id);
                settle();
                const auto* page = qobject_cast<RecordingPage*>(m_window->page(id));
                EXPECT_EQ(page->frame().state(), PageFrame::State::kFull);
                EXPECT_EQ(m_window->grab().toImage().size(), size);
            }
        }
    }
}

TEST_F(GpuPagesTest, ARunOnGpusSurvivesTheForm) {
    auto* page = qobject_cast<NewRunPage*>(m_window->page(u"newrun"_s));
    run::RunConfig config = page->config();
    config.device = run::Device::kCuda;
    config.shareDevice = true;
    config.precision = run::Precision::kBFloat16;
    config.reduceIn = run::GradientType::kBFloat16;
    config.deviceCapture = run::DeviceCapture::kLaunches;
    page->setConfig(config);
    EXPECT_EQ(page->config(), config);
    m_window->resize(1600, 1000);
    m_window->showPage(u"newrun"_s);
    keepPicture(u"gpu-newrun"_s);
    m_window->useTheme(true);
    keepPicture(u"gpu-newrun-dark"_s);
    m_window->useTheme(false);
    EXPECT_TRUE(page->prediction().problem.isEmpty());
    for (const QString& flag : {u"--device cuda"_s, u"--share-device"_s, u"--precision bf16"_s,
                                u"--reduce bf16"_s, u"--device-capture launches"_s})
        EXPECT_TRUE(page->prediction().commandLine.contains(flag)) << flag.toStdString();
}

TEST_F(GpuPagesTest, FieldsOfGpusAreOffForACpuAndSayWhy) {
    m_window->showPage(u"newrun"_s);
    auto* page = qobject_cast<NewRunPage*>(m_window->page(u"newrun"_s));
    auto* device = named<QComboBox>(u"newrun"_s, u"Device"_s);
    auto* capture = named<QComboBox>(u"newrun"_s, u"Capture on the device"_s);
    auto* reduce = named<QComboBox>(u"newrun"_s, u"Reduce gradients in"_s);
    auto* precision = named<QComboBox>(u"newrun"_s, u"Precision"_s);
    auto* share = page->findChild<QCheckBox*>(u"share_device"_s);
    ASSERT_TRUE(device && capture && reduce && precision && share);
    EXPECT_FALSE(capture->isEnabled());
    EXPECT_TRUE(capture->toolTip().contains(u"GPUs only"_s));
    EXPECT_FALSE(share->isEnabled());
    EXPECT_FALSE(reduce->isEnabled());
    EXPECT_FALSE(reduce->toolTip().isEmpty());

    precision->setCurrentIndex(precision->findText(u"tf32"_s));
    EXPECT_TRUE(page->prediction().problem.contains(u"tf32 exists on GPUs only"_s));
    device->setCurrentIndex(1);
    EXPECT_TRUE(page->prediction().problem.isEmpty());
    EXPECT_TRUE(capture->isEnabled());
    EXPECT_TRUE(share->isEnabled());
    precision->setCurrentIndex(precision->findText(u"bf16"_s));
    EXPECT_TRUE(reduce->isEnabled());
    share->setChecked(true);
    reduce->setCurrentIndex(1);
    EXPECT_TRUE(page->config().shareDevice);
    EXPECT_EQ(page->config().reduceIn, run::GradientType::kBFloat16);

    device->setCurrentIndex(0);
    precision->setCurrentIndex(precision->findText(u"fp32"_s));
    EXPECT_FALSE(page->config().shareDevice) << "what cannot be chosen is not asked for";
    EXPECT_EQ(page->config().reduceIn, run::GradientType::kFloat32);
    EXPECT_TRUE(page->prediction().problem.isEmpty());
}

TEST_F(GpuPagesTest, APresetKeepsTheDevice) {
    auto* page = qobject_cast<NewRunPage*>(m_window->page(u"newrun"_s));
    run::RunConfig config = page->config();
    config.device = run::Device::kCuda;
    page->setConfig(config);
    QComboBox* preset = nullptr;
    for (QComboBox* box : page->findChildren<QComboBox*>()) {
        if (box->findText(u"2.7B"_s) >= 0) preset = box;
    }
    ASSERT_NE(preset, nullptr);
    preset->setCurrentIndex(preset->findText(u"2.7B"_s));
    Q_EMIT preset->activated(preset->currentIndex());
    EXPECT_EQ(page->config().model.name, "2.7B");
    EXPECT_EQ(page->config().device, run::Device::kCuda);
}

}  // namespace
}  // namespace shardscope::desktop
