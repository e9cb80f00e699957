// Which level of its track a slice stands on: by what contains it, whatever lane that is of.
#include "app/desktop/loading/load_recording.h"
#include "app/desktop/pages/timeline/details/device_slice.h"
#include "app/desktop/pages/timeline/lanes/lane_layout.h"
#include "app/desktop/pages/timeline/lanes/lane_nesting.h"
#include "app/desktop/pages/timeline/timeline_query.h"
#include "app/desktop/pages/timeline/tracks/lane_painter.h"
#include "app/desktop/widgets/theme.h"
#include "storage/columns/chunk.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QImage>
#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace shardscope::desktop {
namespace {

using ::testing::ElementsAre;

constexpr Duration kCell{16};

NestedSlice exact(std::int64_t begin, std::int64_t end, std::uint8_t depth = 0) {
    return {{{begin}, {end}}, depth, true};
}
NestedSlice narrow(std::int64_t begin, std::int64_t end, std::uint8_t depth = 0) {
    return {{{begin}, {end}}, depth, false};
}

/// Slices of several lanes, each by depth, then begin.
class Track {
public:
    explicit Track(int lanes) {
        for (int tier = 0; tier < lanes; ++tier) m_lanes.push_back({{}, tier});
    }
    void add(std::size_t lane, NestedSlice slice) { m_lanes[lane].slices.push_back(slice); }
    std::vector<NestedLane>& sorted() {
        for (NestedLane& lane : m_lanes)
            std::ranges::stable_sort(lane.slices, {}, [](const NestedSlice& slice) {
                return std::pair(slice.depth, slice.range.begin);
            });
        return m_lanes;
    }

private:
    std::vector<NestedLane> m_lanes;
};

bool contains(const TimeRange& outer, const TimeRange& inner) {
    return outer.begin <= inner.begin && inner.end <= outer.end && outer != inner;
}

/// Spans that nest, of no fixed order of lanes; none begins or ends with another.
void addTree(std::mt19937& random, TimeRange range, std::vector<std::uint8_t> depths,
             Track& track) {
    const auto pick = [&](std::int64_t from, std::int64_t to) {
        return std::uniform_int_distribution<std::int64_t>(from, to)(random);
    };
    const auto lane = static_cast<std::size_t>(pick(0, static_cast<int>(depths.size()) - 1));
    track.add(lane, exact(range.begin.ns, range.end.ns, depths[lane]++));
    for (std::int64_t at = range.begin.ns + 1; at + 2 < range.end.ns;) {
        const std::int64_t begin = pick(at, range.end.ns - 2);
        const std::int64_t end = pick(begin + 1, range.end.ns - 1);
        addTree(random, {{begin}, {end}}, depths, track);
        at = end + 1;
    }
}

TEST(LaneNesting, WhereSpansNestTheLevelIsHowManyContainASlice) {
    std::mt19937 random(1);
    for (int round = 0; round < 60; ++round) {
        Track track(3);
        addTree(random, {{0}, {60 + round * 4}}, {0, 0, 0}, track);
        const auto& lanes = track.sorted();
        const auto levels = nestedLevels(lanes, {1});
        for (std::size_t lane = 0; lane < lanes.size(); ++lane)
            for (std::size_t i = 0; i < lanes[lane].slices.size(); ++i) {
                int containers = 0;
                for (const NestedLane& other : lanes)
                    for (const NestedSlice& slice : other.slices)
                        containers += contains(slice.range, lanes[lane].slices[i].range) ? 1 : 0;
                ASSERT_EQ(levels[lane][i], containers) << "round " << round;
            }
    }
}

TEST(LaneNesting, ALevelStaysWhileOnePans) {
    std::mt19937 random(2);
    Track track(3);
    addTree(random, {{-300}, {300}}, {0, 0, 0}, track);
    const auto& lanes = track.sorted();
    const auto whole = nestedLevels(lanes, {1});
    for (int begin = -280; begin < 280; begin += 35) {
        const TimeRange view{{begin}, {begin + 40}};
        std::vector<NestedLane> seen;
        std::vector<std::vector<std::uint8_t>> expected;
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
            seen.push_back({{}, lanes[lane].tier});
            expected.emplace_back();
            for (std::size_t i = 0; i < lanes[lane].slices.size(); ++i) {
                if (!lanes[lane].slices[i].range.intersects(view)) continue;
                seen.back().slices.push_back(lanes[lane].slices[i]);
                expected.back().push_back(whole[lane][i]);
            }
        }
        EXPECT_EQ(nestedLevels(seen, {1}), expected) << "from " << begin;
    }
}

TEST(LaneNesting, NoTwoSlicesOfALevelOverlapHoweverBadlyTheyNest) {
    std::mt19937 random(3);
    const auto pick = [&](int from, int to) {
        return std::uniform_int_distribution<int>(from, to)(random);
    };
    for (int round = 0; round < 40; ++round) {
        Track track(4);
        for (std::size_t lane = 0; lane < 4; ++lane)
            for (int i = 0; i < 40; ++i) {
                const int begin = pick(-500, 500);
                const bool wide = pick(0, 1) == 1;
                const int end = begin + (wide ? pick(16, 120) : pick(0, 15));
                // a lane alone is as its recorder laid it out
                bool clashes = false;
                for (const NestedSlice& other : track.sorted()[lane].slices)
                    clashes =
                        clashes || (other.range.begin.ns <= end && begin <= other.range.end.ns);
                if (!clashes) track.add(lane, {{{begin}, {end}}, 0, wide});
            }
        const auto& lanes = track.sorted();
        const auto levels = nestedLevels(lanes, kCell);
        std::vector<std::pair<int, TimeRange>> placed;
        for (std::size_t lane = 0; lane < lanes.size(); ++lane)
            for (std::size_t i = 0; i < lanes[lane].slices.size(); ++i) {
                const TimeRange range = lanes[lane].slices[i].range;
                for (const auto& [level, other] : placed)
                    ASSERT_FALSE(level == levels[lane][i] && other.intersects(range))
                        << "round " << round << ", level " << level;
                placed.emplace_back(levels[lane][i], range);
            }
    }
}

TEST(LaneNesting, OfTwoThatSpanTheSameTheOuterKindIsAbove) {
    Track track(2);
    track.add(0, exact(0, 100));
    track.add(1, exact(0, 100));
    track.add(1, exact(0, 100, 1));
    EXPECT_THAT(nestedLevels(track.sorted(), kCell),
                ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
}

TEST(LaneNesting, WhatOverlapsWithoutContainingDoesNotRunDownTheTrack) {
    Track track(1);
    for (int i = 0; i < 300; ++i) track.add(0, exact(i * 100, i * 100 + 150));
    const auto levels = nestedLevels(track.sorted(), kCell).front();
    EXPECT_EQ(*std::ranges::max_element(levels), 1);
}

TEST(LaneNesting, NarrowSlicesStandBelowTheExactOnesAroundThemThenByKind) {
    Track track(3);
    track.add(0, exact(0, 1000));       // an annotation
    track.add(1, exact(160, 480, 0));   // an operator
    track.add(1, narrow(200, 204, 1));  // one in it
    track.add(2, narrow(201, 203));     // its call
    track.add(2, narrow(300, 302));     // a call of the operator itself
    track.add(2, narrow(500, 502));     // one of neither
    track.add(2, narrow(-1, 1));        // half in the annotation
    track.add(2, narrow(1000, 1002));   // after it
    const auto levels = nestedLevels(track.sorted(), kCell);
    EXPECT_THAT(levels[1], ElementsAre(1, 2));
    EXPECT_THAT(levels[2], ElementsAre(1, 3, 2, 1, 0));
}

TEST(LaneNesting, KindsThatDoNotRunAtOnceStandSideBySide) {
    const std::vector<NestedLane> stream{
        {{exact(0, 320)}, 0},
        {{exact(0, 100), narrow(110, 115), narrow(400, 405)}, 1},
        {{narrow(99, 109), narrow(117, 119), narrow(407, 409)}, 1}};
    const auto levels = nestedLevels(stream, kCell);
    EXPECT_THAT(levels[1], ElementsAre(1, 1, 0));
    EXPECT_THAT(levels[2], ElementsAre(1, 1, 0)) << "though they share cells";
}

TEST(LaneNesting, NothingHasNoLevels) {
    EXPECT_TRUE(nestedLevels({}, kCell).empty());
    EXPECT_THAT(nestedLevels({{{}, 0}}, {0}), ElementsAre(::testing::IsEmpty()));
    const std::vector<NestedLane> apart{{{narrow(0, 0), narrow(std::int64_t{1} << 60, 0)}, 0}};
    EXPECT_THAT(nestedLevels(apart, {1}), ElementsAre(ElementsAre(0, 0)))
        << "however many cells there were";
}

// What the timeline shows of an imported trace's flows and instants.

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
