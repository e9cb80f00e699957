// What one thread or stream does as one nested track: as it is loaded, painted, hit and looked for.
#include "app/desktop/loading/load_recording.h"
#include "app/desktop/pages/timeline/canvas/timeline_canvas.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/pages/timeline/lanes/track_levels.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/pages/timeline/timeline_query.h"
#include "app/desktop/pages/timeline/tracks/lane_painter.h"
#include "storage/columns/chunk.h"
#include "storage/model/rank_facts.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/app/desktop/window_fixture.h"

#include <gmock/gmock.h>

#include <QImage>
#include <QPainter>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr RankId kRank{0};
constexpr LaneAddress kAnnotations{kRank, {3}}, kPython{kRank, {6}}, kOperators{kRank, {5}},
    kCalls{kRank, {8194}}, kKernels{kRank, {4096}}, kCopies{kRank, {4099}};
const std::vector<LaneAddress> kThread{kAnnotations, kPython, kOperators, kCalls};
const std::vector<LaneAddress> kStream{kKernels, kCopies};
constexpr std::int64_t kStep = 1'000'000;
constexpr int kSteps = 12, kStack = 38;
constexpr StringId kStepName{1}, kFrameName{2}, kOuter{3}, kInner{4}, kCall{5}, kGemm{6},
    kMemcpy{7};

SpanEvent span(LaneAddress lane, StringId name, std::int64_t begin, std::int64_t end, int depth = 0,
               std::uint64_t correlation = 0) {
    SpanEvent event;
    event.start = {begin};
    event.duration = {end - begin};
    event.lane = lane.lane;
    event.name = name;
    event.depth = static_cast<std::uint8_t>(depth);
    event.correlation = correlation;
    return event;
}

/// Steps of a stack of Python with an operator at its bottom, one in it, its call, and what that
/// started.
void writeDeepRun(const std::string& path) {
    RunFacts run;
    run.id = "deep";
    run.worldSize = 1;
    auto writer = storage::RecordingWriter::create(path, run, true);
    ASSERT_TRUE(writer);
    RankFacts rank;
    rank.rank = kRank;
    rank.pid = 4711;
    ASSERT_TRUE(writer->addHost({}));
    ASSERT_TRUE(writer->putRank(rank));
    const std::string thread = "thread 4711 (pt_main_thread): ";
    using enum LaneRole;
    int order = 0;
    for (const auto& [key, role, name] :
         std::initializer_list<std::tuple<LaneAddress, LaneRole, std::string>>{
             {kAnnotations, kRange, thread + "user_annotation (CPU)"},
             {kPython, kHost, thread + "python_function (CPU)"},
             {kOperators, kHost, thread + "cpu_op (CPU)"},
             {kCalls, kRuntime, thread + "cuda_runtime (CPU)"},
             {kKernels, kCompute, "GPU 0 stream 7"},
             {kCopies, kCopy, "GPU 0 stream 7: gpu_memcpy"}})
        ASSERT_TRUE(writer->addLane({kRank, key.lane, role, name, "", order++}));
    ASSERT_TRUE(writer->addStrings(kRank, {1},
                                   {"ProfilerStep#1", "train.py(7): run", "aten::linear",
                                    "aten::addmm", "cudaLaunchKernel", "gemm", "Memcpy HtoD"}));
    std::map<LaneAddress, std::vector<SpanEvent>> lanes;
    for (int step = 0; step < kSteps; ++step) {
        const std::int64_t begin = step * kStep, end = begin + kStep * 9 / 10;
        lanes[kAnnotations].push_back(span(kAnnotations, kStepName, begin, end));
        for (int depth = 0; depth < kStack; ++depth)
            lanes[kPython].push_back(span(kPython, kFrameName, begin + 1000 * (depth + 1),
                                          end - 1000 * (depth + 1), depth));
        const std::int64_t at = begin + 100'000;
        const auto id = static_cast<std::uint64_t>(step + 1);
        lanes[kOperators].push_back(span(kOperators, kOuter, at, at + 400'000));
        lanes[kOperators].push_back(span(kOperators, kInner, at + 100'000, at + 300'000, 1));
        lanes[kCalls].push_back(span(kCalls, kCall, at + 150'000, at + 160'000, 0, id));
        lanes[kKernels].push_back(span(kKernels, kGemm, at + 200'000, at + 400'000, 0, id));
        lanes[kCopies].push_back(span(kCopies, kMemcpy, at + 400'000, at + 450'000));
    }
    for (const auto& [key, spans] : lanes)
        ASSERT_TRUE(writer->addChunk(columns::encodeSpans(kRank, spans)));
    ASSERT_TRUE(writer->finalise(RunStatus::kFinished, {kSteps * kStep}));
}

class TracksTest : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        m_path = m_folder.filePath(u"deep.sscope"_s);
        ASSERT_NO_FATAL_FAILURE(writeDeepRun(m_path.toStdString()));
        auto reader = storage::openRecording(m_path.toStdString());
        ASSERT_TRUE(reader);
        m_reader = std::move(*reader);
        auto loaded = loadRecording(*m_reader, m_path);
        ASSERT_TRUE(loaded);
        m_recording = *loaded;
    }

    TimelineFramePtr load(TimeRange range, Duration resolution) {
        TimelineQuery query{range, resolution, kThread, {kThread, kStream}};
        query.lanes.insert(query.lanes.end(), kStream.begin(), kStream.end());
        const auto frame = loadTimeline(*m_reader, *m_recording, query, {});
        EXPECT_TRUE(frame);
        return frame ? *frame : nullptr;
    }

    void open() {
        QSignalSpy opened(&m_window->loader(), &RecordingLoader::opened);
        m_window->openFile(m_path);
        ASSERT_TRUE(opened.wait(10'000));
        m_window->showPage(u"timeline"_s);
        settle();
        m_page = qobject_cast<TimelinePage*>(m_window->page(u"timeline"_s));
        m_canvas = &m_page->canvas();
        m_canvas->setView({{5 * kStep}, {6 * kStep}});
        settle();
    }

    /// Of step 5, as a table would ask for it.
    SliceView loaded(LaneAddress key, int depth = 0) {
        const auto spans = m_reader->spans(kRank, key.lane, {{5 * kStep}, {6 * kStep}});
        EXPECT_TRUE(spans);
        const auto at = std::ranges::find_if(
            *spans, [depth](const SpanEvent& span) { return span.depth == depth; });
        auto slice = loadSlice(*m_reader, *m_recording, key, *at);
        EXPECT_TRUE(slice);
        return *slice;
    }

    /// A point in sight where a click would choose the slice; null: there is none.
    QPoint pointOn(LaneAddress key, const SliceView& slice) {
        const double share = (slice.range.begin - m_canvas->view().begin).seconds() /
                             m_canvas->view().duration().seconds();
        const QRect lanes = m_canvas->viewport()->rect().adjusted(m_left, 0, 0, 0);
        const int x = lanes.left() + static_cast<int>(share * lanes.width()) + 3;
        for (int y = kRulerHeight; y < lanes.bottom(); ++y) {
            const auto hit = m_canvas->hitAt(QPointF(x, y));
            if (hit && hit->key == key && hit->slice.range == slice.range) return {x, y + 2};
        }
        return {};
    }

    /// Where the lanes begin.
    void trackPlot() {
        QSignalSpy plot(m_canvas, &TimelineCanvas::plotChanged);
        m_window->resize(m_window->width() + 1, m_window->height());
        settle();
        ASSERT_FALSE(plot.isEmpty());
        m_left = plot.back().front().toInt();
    }

    QString m_path;
    std::unique_ptr<storage::RecordingReader> m_reader;
    RecordingPtr m_recording;
    TimelinePage* m_page = nullptr;
    TimelineCanvas* m_canvas = nullptr;
    int m_left = kLabelWidth;
};

TEST_F(TracksTest, ASliceStandsBelowAllThatContainsItWhateverItsLane) {
    const auto frame = load({{5 * kStep}, {6 * kStep}}, {1000});
    ASSERT_NE(frame, nullptr);
    EXPECT_THAT(frame->lane(kAnnotations)->levels, ElementsAre(0));
    EXPECT_EQ(frame->lane(kPython)->levels.size(), static_cast<std::size_t>(kStack));
    EXPECT_EQ(frame->lane(kPython)->levels.back(), kStack);
    EXPECT_THAT(frame->lane(kOperators)->levels, ElementsAre(kStack + 1, kStack + 2));
    EXPECT_THAT(frame->lane(kCalls)->levels, ElementsAre(kStack + 3));
    EXPECT_THAT(frame->lane(kKernels)->levels, ElementsAre(0));
    EXPECT_THAT(frame->lane(kCopies)->levels, ElementsAre(0)) << "it runs after the kernel";
    const TrackFrame* track = frame->track(kThread);
    ASSERT_NE(track, nullptr);
    EXPECT_EQ(track->slices.size(), static_cast<std::size_t>(kStack) + 4);
    EXPECT_TRUE(std::ranges::is_sorted(track->slices, {}, &TrackSlice::level));
    EXPECT_EQ(frame->track({kCopies, kKernels}), nullptr) << "another track";
}

TEST_F(TracksTest, ALevelIsFoundOfWhatWasLoadedByItself) {
    const SliceView inner = loaded(kOperators, 1);
    const auto near = load({{5 * kStep}, {6 * kStep}}, {1000});
    EXPECT_EQ(levelOf(*near, kOperators, inner), kStack + 2);
    const auto whole = load({{0}, {kSteps * kStep}}, {kStep});
    const LaneFrame* lane = whole->lane(kOperators);
    ASSERT_FALSE(lane->slices.empty());
    EXPECT_EQ(lane->slices.back().depth, 1);
    EXPECT_EQ(levelOf(*whole, kOperators, inner), lane->levels.back()) << "what it is merged into";
    EXPECT_EQ(levelOf(*near, {kRank, {77}}, inner), 1) << "its depth, of a lane that is not there";
}

TEST_F(TracksTest, ARowIsAsHighAsItsDeepestPicture) {
    const auto depths = loadLaneDepths(*m_reader, *m_recording, {kThread, kStream, {kPython}}, {});
    ASSERT_TRUE(depths);
    EXPECT_EQ(depths->at(kThread), kStack + 4);
    EXPECT_EQ(depths->at(kStream), 1);
    EXPECT_EQ(depths->at({kPython}), kStack);
    for (const std::int64_t resolution : {1000, 5000, 30'000, 200'000, 1'000'000}) {
        const auto frame = load({{0}, {kSteps * kStep}}, {resolution});
        EXPECT_LT(frame->track(kThread)->slices.back().level, kStack + 4) << resolution;
    }
}

TEST_F(TracksTest, ATrackIsPaintedInTheColoursOfItsLanes) {
    const auto frame = load({{5 * kStep}, {6 * kStep}}, {1000});
    LaneRow row;
    row.kind = LaneRow::Kind::kTrack;
    row.parts = kStream;
    row.contents = {LaneContent::kKernels, LaneContent::kCopies};
    row.onDevice = true;
    const auto paint = [&](const TimelineFrame& of) {
        QImage image(1000, 24, QImage::Format_RGB32);
        image.fill(Theme::light().window);
        QPainter painter(&image);
        LanePainter lanes(Theme::light());
        lanes.paintTrack(painter, QRectF(0, 0, 1000, 24), row, of,
                         {{{5 * kStep}, {6 * kStep}}, 1000});
        return image;
    };
    const QImage picture = paint(*frame);
    const QColor copy = Theme::light().fill(Meaning::kCopy).colour;
    EXPECT_EQ(picture.pixelColor(540, 12), copy);
    EXPECT_NE(picture.pixelColor(390, 2), copy) << "a kernel";
    EXPECT_NE(picture.pixelColor(390, 2), Theme::light().window);
    EXPECT_EQ(picture.pixelColor(700, 12), Theme::light().window);
    const QImage unloaded = paint({});
    EXPECT_EQ(unloaded.pixelColor(540, 12), Theme::light().window);
}

TEST_F(TracksTest, WhatATableLeadsToIsUnfoldedAndInSight) {
    open();
    trackPlot();
    const LaneRow* row = m_canvas->lanes().row(kOperators);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row, m_canvas->lanes().row(kPython)) << "one track";
    EXPECT_EQ(row->depths, kFirstTrackDepths);
    EXPECT_EQ(row->allDepths, kStack + 4);
    const SliceView inner = loaded(kOperators, 1);
    EXPECT_TRUE(pointOn(kOperators, inner).isNull());
    m_canvas->setView({{0}, {kStep}});  // where it is not loaded
    settle();
    m_canvas->selectSlice(kOperators, inner);
    settle();
    EXPECT_EQ(m_canvas->lanes().row(kOperators)->depths, kStack + 4);
    const QPoint point = pointOn(kOperators, inner);
    ASSERT_FALSE(point.isNull()) << "scrolled to";
    keepPicture(u"timeline-deep-track"_s);
    QTest::keyClick(m_canvas, Qt::Key_Escape);
    QTest::mouseClick(m_canvas->viewport(), Qt::LeftButton, Qt::NoModifier, point);
    ASSERT_TRUE(m_canvas->selectedSlice());
    EXPECT_EQ(m_canvas->selectedSlice()->slice, inner);
    m_canvas->act(LaneAction::kLevels, m_canvas->lanes().row(kOperators));
    EXPECT_TRUE(pointOn(kOperators, inner).isNull()) << "folded again";
    m_canvas->selectSlice(kOperators, inner);
    EXPECT_FALSE(pointOn(kOperators, inner).isNull()) << "at once: its picture is there";
}

TEST_F(TracksTest, ACallInATrackLeadsToItsKernelAndBack) {
    open();
    m_canvas->selectSlice(kCalls, loaded(kCalls));
    settle();
    ASSERT_EQ(m_canvas->links().size(), 1U);
    QTest::keyClick(m_canvas, Qt::Key_BracketRight);
    settle();
    EXPECT_EQ(m_canvas->selectedSlice()->key, kKernels);
    EXPECT_EQ(m_canvas->selectedSlice()->role, LaneRole::kCompute) << "not its track's";
    QTest::keyClick(m_canvas, Qt::Key_BracketLeft);
    settle();
    EXPECT_EQ(m_canvas->selectedSlice()->key, kCalls);
    QTest::keyClick(m_canvas, Qt::Key_Period);
    settle();
    EXPECT_EQ(m_canvas->selectedSlice()->slice.range.begin, Timestamp{6 * kStep + 250'000})
        << "the next call, not what else is on its level";
}

TEST_F(TracksTest, KShowsTheKindsApartAndThatStays) {
    open();
    const auto isTrack = [this] {
        return m_canvas->lanes().row(kPython)->kind == LaneRow::Kind::kTrack;
    };
    ASSERT_TRUE(isTrack());
    m_canvas->selectSlice(kOperators, loaded(kOperators));
    settle();
    QTest::keyClick(m_canvas, Qt::Key_K);
    settle();
    EXPECT_FALSE(isTrack());
    EXPECT_NE(m_canvas->lanes().row(kPython), m_canvas->lanes().row(kOperators));
    EXPECT_EQ(m_canvas->lanes().row(kPython)->depths, kFirstDepths);
    EXPECT_FALSE(readNested(m_folder.filePath(u"desktop.ini"_s)));
    openSample();
    EXPECT_FALSE(m_canvas->laneOptions().nested) << "of another recording too";
    QTest::keyClick(m_canvas, Qt::Key_K);
    EXPECT_TRUE(readNested(m_folder.filePath(u"desktop.ini"_s)));
    writeNested(m_folder.filePath(u"desktop.ini"_s), false);
    WindowTest::SetUp();
    open();
    EXPECT_FALSE(isTrack()) << "and when the program is started again";
}

TEST(TrackSetting, WithoutAFileTracksAreNested) {
    EXPECT_TRUE(readNested({}));
    writeNested({}, false);
    EXPECT_TRUE(readNested({}));
}

}  // namespace
}  // namespace shardscope::desktop
