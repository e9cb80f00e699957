// What the timeline shows of an imported trace's flows and instants.
#include "app/desktop/loading/load_recording.h"
#include "app/desktop/pages/timeline/details/device_slice.h"
#include "app/desktop/pages/timeline/lanes/lane_layout.h"
#include "app/desktop/pages/timeline/timeline_query.h"
#include "app/desktop/pages/timeline/tracks/lane_painter.h"
#include "app/desktop/widgets/theme.h"
#include "storage/columns/chunk.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <QImage>
#include <algorithm>

namespace shardscope::desktop {
namespace {

constexpr RankId kRank{0};
constexpr LaneId kForward{1}, kBackward{2}, kMarks{3};
constexpr StringId kOuter{1}, kInner{2}, kMark{3}, kCategory{4}, kArguments{5};

SpanEvent span(LaneId lane, StringId name, std::int64_t start, std::int64_t duration, int depth) {
    SpanEvent event;
    event.start = {start};
    event.duration = {duration};
    event.lane = lane;
    event.name = name;
    event.depth = static_cast<std::uint8_t>(depth);
    return event;
}

FlowEvent flow(FlowPoint point, LaneId lane, std::int64_t start, int depth) {
    FlowEvent event;
    event.time = event.spanStart = {start};
    event.lane = lane;
    event.id = 7;
    event.name = event.category = kCategory;
    event.point = point;
    event.bound = true;
    event.depth = static_cast<std::uint8_t>(depth);
    return event;
}

/// An operator within another that begins with it, its backward operator, and three marks.
class ImportedTimeline : public ::testing::Test {
protected:
    void SetUp() override {
        const std::string path = m_folder.file("run.sscope");
        RunFacts run;
        run.id = "run";
        run.worldSize = 1;
        auto writer = storage::RecordingWriter::create(path, run, true);
        ASSERT_TRUE(writer);
        RankFacts rank;
        rank.rank = kRank;
        ASSERT_TRUE(writer->addHost({}));
        ASSERT_TRUE(writer->putRank(rank));
        ASSERT_TRUE(writer->addLane({kRank, kForward, LaneRole::kHost, "thread 1", "", 0}));
        ASSERT_TRUE(writer->addLane({kRank, kBackward, LaneRole::kHost, "thread 2", "", 1}));
        ASSERT_TRUE(writer->addLane({kRank, kMarks, LaneRole::kRange, "marks", "", 2}));
        ASSERT_TRUE(writer->addStrings(
            kRank, {1}, {"outer", "inner", "mark", m_category, R"({"why":"test"})"}));
        ASSERT_TRUE(writer->addChunk(columns::encodeSpans(
            kRank,
            std::vector{span(kForward, kOuter, 1000, 500, 0), span(kForward, kInner, 1000, 200, 1),
                        span(kBackward, kInner, 3000, 400, 0)})));
        ASSERT_TRUE(writer->addChunk(
            columns::encodeFlows(kRank, std::vector{flow(FlowPoint::kStart, kForward, 1000, 1),
                                                    flow(FlowPoint::kEnd, kBackward, 3000, 0)})));
        std::vector<InstantEvent> marks(3);
        for (std::size_t i = 0; i < marks.size(); ++i) {
            marks[i].time = {1500 + 1000 * static_cast<std::int64_t>(i)};
            marks[i].lane = kMarks;
            marks[i].name = kMark;
            marks[i].arguments = kArguments;
        }
        ASSERT_TRUE(writer->addChunk(columns::encodeInstants(kRank, marks)));
        ASSERT_TRUE(writer->finalise(RunStatus::kFinished, {4000}));
        auto reader = storage::openRecording(path);
        ASSERT_TRUE(reader);
        m_reader = std::move(*reader);
        auto loaded = loadRecording(*m_reader, QString::fromStdString(path));
        ASSERT_TRUE(loaded);
        m_recording = *loaded;
    }

    std::vector<SliceView> slices(LaneId lane, Duration resolution = {1}) {
        const TimelineQuery query{{{0}, {5000}}, resolution, {{kRank, lane}}};
        const auto frame = loadTimeline(*m_reader, *m_recording, query, {});
        EXPECT_TRUE(frame);
        return frame ? (*frame)->lanes.front().slices : std::vector<SliceView>{};
    }
    std::vector<LinkedSlice> links(LaneId lane, const SliceView& slice) {
        const auto found =
            loadLinks(*m_reader, *m_recording,
                      {{kRank, lane}, slice.range, slice.correlation, slice.depth}, {});
        EXPECT_TRUE(found);
        return found ? *found : std::vector<LinkedSlice>{};
    }

    test::TemporaryFolder m_folder;
    std::string m_category = "fwdbwd";
    std::unique_ptr<storage::RecordingReader> m_reader;
    RecordingPtr m_recording;
};

class ArrowsOfAnotherKind : public ImportedTimeline {
protected:
    ArrowsOfAnotherKind() { m_category = "async"; }
};

TEST_F(ImportedTimeline, ArrowsLeadBothWaysFromTheSpanTheyAreBoundTo) {
    const auto forward = slices(kForward);
    ASSERT_EQ(forward.size(), 2u);
    const auto inner = std::find_if(forward.begin(), forward.end(),
                                    [](const SliceView& slice) { return slice.depth == 1; });
    ASSERT_NE(inner, forward.end());
    const auto there = links(kForward, *inner);
    ASSERT_EQ(there.size(), 1u);
    EXPECT_TRUE(there[0].byArrow);
    EXPECT_EQ(there[0].key.lane, kBackward);
    EXPECT_EQ(there[0].slice.range.begin, Timestamp{3000});
    const LinkTexts texts = linkTexts(m_recording->summary, {kRank, kForward}, *inner, there);
    ASSERT_FALSE(texts.rows.empty());
    EXPECT_EQ(texts.rows[0].first, QStringLiteral("backward"));
    EXPECT_EQ(texts.action, QStringLiteral("Go to its backward"));
    const auto back = links(kBackward, slices(kBackward).front());
    ASSERT_EQ(back.size(), 1u);
    EXPECT_EQ(back[0].slice.depth, 1);
    // The outer operator begins then as well, but the arrow is the inner one's.
    const auto outer = std::find_if(forward.begin(), forward.end(),
                                    [](const SliceView& slice) { return slice.depth == 0; });
    EXPECT_TRUE(links(kForward, *outer).empty());
}

TEST_F(ArrowsOfAnotherKind, AreCalledArrows) {
    const auto forward = slices(kForward);
    const auto inner = std::find_if(forward.begin(), forward.end(),
                                    [](const SliceView& slice) { return slice.depth == 1; });
    ASSERT_NE(inner, forward.end());
    const auto there = links(kForward, *inner);
    ASSERT_EQ(there.size(), 1u);
    const LinkTexts texts = linkTexts(m_recording->summary, {kRank, kForward}, *inner, there);
    ASSERT_FALSE(texts.rows.empty());
    EXPECT_EQ(texts.rows[0].first, QStringLiteral("arrow to"));
    EXPECT_EQ(texts.action, QStringLiteral("Go to it"));
}

TEST_F(ImportedTimeline, InstantsAreMarksThatCanBeHit) {
    const auto marks = slices(kMarks);
    ASSERT_EQ(marks.size(), 3u);
    EXPECT_TRUE(marks[0].instant);
    EXPECT_EQ(marks[0].arguments, QStringLiteral(R"({"why":"test"})"));
    EXPECT_FALSE(slices(kForward).front().instant);

    LaneRow row;
    row.key = {kRank, kMarks};
    row.role = LaneRole::kRange;
    row.depths = 1;
    const TimeScale scale{{{0}, {5000}}, 500};
    const QRectF area(0, 0, 500, 20);
    const QRectF box = LanePainter::sliceArea(area, row, marks[0], 0, scale);
    EXPECT_TRUE(box.contains(QPointF(150, 10)));
    EXPECT_TRUE(box.contains(QPointF(147, 10)));
    EXPECT_FALSE(box.contains(QPointF(140, 10)));

    QImage image(500, 20, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    const Theme& theme = Theme::light();
    LanePainter lanes(theme);
    LaneFrame frame;
    frame.key = row.key;
    frame.role = row.role;
    frame.slices = marks;
    lanes.paintSlices(painter, area, row, frame, scale);
    painter.end();
    EXPECT_EQ(lanes.painted(), 3);
    // A diamond: wide in the middle, a point above.
    const QRgb white = image.pixel(0, 0);
    EXPECT_NE(image.pixel(150, 10), white);
    EXPECT_NE(image.pixel(148, 10), white);
    EXPECT_EQ(image.pixel(147, 7), white);
    EXPECT_EQ(image.pixel(200, 10), white);
}

}  // namespace
}  // namespace shardscope::desktop
