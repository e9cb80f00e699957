// What the timeline shows, where the mouse is, what the status line says: without a window.
#include "app/desktop/loading/load_recording.h"
#include "app/desktop/pages/timeline/canvas/timeline_geometry.h"
#include "app/desktop/pages/timeline/canvas/timeline_pointer.h"
#include "app/desktop/pages/timeline/canvas/timeline_viewport.h"
#include "app/desktop/pages/timeline/timeline_query.h"
#include "app/desktop/pages/timeline/tracks/minimap_density.h"
#include "storage/model/rank_facts.h"
#include "tests/support/sample_recording.h"

#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <map>
#include <numeric>
#include <vector>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using Drag = TimelinePointer::Drag;

TEST(TimelinePointer, AHandThatTremblesClicks) {
    TimelinePointer pointer;
    EXPECT_FALSE(pointer.at());
    pointer.press({100, 50}, {{0}, {10}}, false);
    pointer.move({103, 90});
    EXPECT_TRUE(pointer.isHeld());
    EXPECT_EQ(pointer.drag(), Drag::kNone);
    pointer.release();
    EXPECT_FALSE(pointer.isHeld());
}

TEST(TimelinePointer, ADragSelectsFromLeftToRightWhicheverWayItGoes) {
    TimelinePointer pointer;
    pointer.press({100, 50}, {{0}, {10}}, false);
    pointer.move({60, 55});
    EXPECT_EQ(pointer.drag(), Drag::kSelects);
    EXPECT_EQ(pointer.stretch().left, 60);
    EXPECT_EQ(pointer.stretch().right, 100);
    pointer.move({101, 55});
    EXPECT_EQ(pointer.drag(), Drag::kSelects) << "once moved it is no click any more";
    pointer.release();
    EXPECT_EQ(pointer.drag(), Drag::kNone);
}

TEST(TimelinePointer, APanRemembersTheViewItBeganWith) {
    TimelinePointer pointer;
    pointer.press({100, 50}, {{7}, {17}}, true);
    pointer.move({140, 50});
    EXPECT_EQ(pointer.drag(), Drag::kPans);
    EXPECT_EQ(pointer.viewBefore(), (TimeRange{{7}, {17}}));
    EXPECT_EQ(pointer.moved(), 40);
    pointer.leave();
    EXPECT_FALSE(pointer.at());
    EXPECT_EQ(pointer.moved(), 0);
}

class ViewportTest : public ::testing::Test {
protected:
    void SetUp() override {
        const QString path = m_folder.filePath(u"sample.sscope"_s);
        ASSERT_TRUE(test::writeSampleRecording(path.toStdString(), {}));
        auto reader = storage::openRecording(path.toStdString());
        ASSERT_TRUE(reader);
        m_reader = std::move(*reader);
        const auto loaded = loadRecording(*m_reader, path);
        ASSERT_TRUE(loaded);
        m_recording = *loaded;
        m_viewport.setSize({1000, 400});
        m_viewport.setRecording(m_recording);
    }

    TimelineFramePtr load() {
        const auto frame = loadTimeline(*m_reader, *m_recording, m_viewport.query().value(), {});
        EXPECT_TRUE(frame);
        return *frame;
    }

    [[nodiscard]] RankEvents eventsOf(std::uint32_t rank) const {
        const TimeRange whole{m_recording->bounds().begin, m_recording->bounds().end + Duration{1}};
        const auto events = m_reader->rankEvents({rank}, whole);
        EXPECT_TRUE(events);
        return events ? *events : RankEvents{};
    }

    [[nodiscard]] const LaneRow& phases() const {
        return *m_viewport.lanes().row({{0}, lanes::kPhases.id});
    }

    QTemporaryDir m_folder;
    std::unique_ptr<storage::RecordingReader> m_reader;
    RecordingPtr m_recording;
    TimelineViewport m_viewport;
};

TEST_F(ViewportTest, ShowsTheWholeRunAtFirstAndNeverMore) {
    const TimeRange bounds = m_recording->bounds();
    EXPECT_EQ(m_viewport.view(), bounds);
    m_viewport.setView({bounds.begin - Duration{1'000'000}, bounds.end});
    EXPECT_EQ(m_viewport.view(), bounds);
    const QRectF lanes = m_viewport.lanesArea();
    EXPECT_EQ(lanes.left(), m_viewport.labelWidth());
    EXPECT_EQ(lanes.top(), kRulerHeight);
    EXPECT_EQ(m_viewport.timeAt(lanes.left()), bounds.begin);
    EXPECT_NEAR(m_viewport.xOf(bounds.end), lanes.right(), 1e-6);
}

TEST_F(ViewportTest, APictureIsAskedForWithAMarginOnBothSides) {
    const TimeRange bounds = m_recording->bounds();
    const std::int64_t part = bounds.duration().ns / 10;
    const TimeRange view{bounds.begin + Duration{part * 4}, bounds.begin + Duration{part * 6}};
    m_viewport.setView(view);
    const auto query = m_viewport.query();
    ASSERT_TRUE(query);
    EXPECT_LT(query->range.begin, view.begin);
    EXPECT_GT(query->range.end, view.end);
    EXPECT_EQ(query->lanes, m_viewport.lanes().loadedLanes());
    EXPECT_FALSE(TimelineViewport().query()) << "there is nothing to show";
}

TEST_F(ViewportTest, RowsAreWhereTheyAreHit) {
    const auto frame = load();
    const LaneRow& row = phases();
    for (int top : {0, 10}) {
        m_viewport.setTop(top);
        const QRectF area = m_viewport.rowArea(row);
        EXPECT_EQ(area.top(), kRulerHeight + row.y - top);
        EXPECT_EQ(m_viewport.rowAt(area.center().y()), &row);
        const TimeRange phase = eventsOf(0).phases[3].range();
        const double x = m_viewport.xOf(phase.begin + Duration{phase.duration().ns / 2});
        const auto hit = m_viewport.hitAt(*frame, {x, area.center().y()});
        ASSERT_TRUE(hit);
        EXPECT_EQ(hit->key, row.key);
        EXPECT_FALSE(m_viewport.hitAt(*frame, {10, area.center().y()})) << "that is its name";
    }
}

TEST_F(ViewportTest, EverySingleCollectiveSaysHowLongItWaitedHoweverManyThereAre) {
    const QString path = m_folder.filePath(u"long.sscope"_s);
    ASSERT_TRUE(test::writeSampleRecording(path.toStdString(), {.steps = 200}));
    auto reader = storage::openRecording(path.toStdString());
    ASSERT_TRUE(reader);
    const auto recording = loadRecording(**reader, path);
    ASSERT_TRUE(recording);
    const TimeRange whole{(*recording)->bounds().begin, (*recording)->bounds().end + Duration{1}};
    const LaneAddress lane{{1}, lanes::kCommunication.id};
    const auto frame = loadTimeline(**reader, **recording, {whole, {1}, {lane}}, {});
    ASSERT_TRUE(frame);
    const auto events = (*reader)->rankEvents(lane.rank, whole);
    ASSERT_TRUE(events);
    ASSERT_GT(events->collectives.size(), 4'000U);
    std::map<Timestamp, Timestamp> waited;
    for (const CollectiveEvent& event : events->collectives)
        waited[event.start] = event.lastArrival();
    std::size_t waiting = 0;
    for (const SliceView& slice : (*frame)->lanes.front().slices) {
        ASSERT_EQ(slice.waitedUntil, waited.at(slice.range.begin));
        if (slice.waitedUntil > slice.range.begin) ++waiting;
    }
    EXPECT_GT(waiting, 500U);
}

TEST_F(ViewportTest, TheMinimapKnowsHowBusyTheRunWas) {
    const auto density = loadMinimap(*m_reader, *m_recording, {});
    ASSERT_TRUE(density);
    const auto sum = [](const std::vector<float>& buckets) {
        return std::accumulate(buckets.begin(), buckets.end(), 0.0) /
               static_cast<double>(buckets.size());
    };
    double work = 0, blocked = 0;
    const std::size_t ranks = m_recording->summary.ranks.size();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        for (const SpanEvent& phase : eventsOf(static_cast<std::uint32_t>(rank)).phases) {
            if (isWork(phase.phase) || phase.phase == Phase::kEvaluation)
                work += phase.duration.seconds();
            if (isWait(phase.phase)) blocked += phase.duration.seconds();
        }
    }
    const double all = m_recording->bounds().duration().seconds() * static_cast<double>(ranks);
    EXPECT_TRUE((*density)->isBlocked);
    EXPECT_NEAR(sum((*density)->compute), work / all, 0.02);
    EXPECT_NEAR(sum((*density)->communication), blocked / all, 0.02);
}

TEST_F(ViewportTest, WhatIsFoldedIsShownAgainWhenItIsAskedFor) {
    const LaneAddress key{{0}, kMemoryTotalLane};
    ASSERT_NE(m_viewport.lanes().row(key), nullptr);
    const LaneRow header = m_viewport.lanes().rows.front();
    ASSERT_EQ(header.kind, LaneRow::Kind::kHeader);
    m_viewport.toggle(header);
    EXPECT_EQ(m_viewport.lanes().row(key), nullptr);
    m_viewport.reveal(key);
    EXPECT_NE(m_viewport.lanes().row(key), nullptr);
    EXPECT_TRUE(m_viewport.setRanks({{1}}));
    EXPECT_FALSE(m_viewport.setRanks({{1}}));
    EXPECT_EQ(m_viewport.lanes().row(key), nullptr) << "another rank's";
}

TEST_F(ViewportTest, TheStatusLineSaysSliceCounterOrMoment) {
    const auto frame = load();
    const double y = m_viewport.rowArea(phases()).center().y();
    const TimeRange phase = eventsOf(0).phases[3].range();
    const double x = m_viewport.xOf(phase.begin + Duration{phase.duration().ns / 2});
    const auto hit = m_viewport.hitAt(*frame, {x, y});
    ASSERT_TRUE(hit);
    EXPECT_TRUE(hoverLine(m_viewport, frame.get(), hit, {x, y}).startsWith(u"rank 0 · "_s));
    const QString moment = hoverLine(m_viewport, nullptr, std::nullopt, {x, y});
    EXPECT_TRUE(moment.endsWith(u"s"_s)) << moment.toStdString();
    EXPECT_TRUE(hoverLine(m_viewport, frame.get(), std::nullopt, {3, y}).isEmpty());
    const LaneRow* memory = m_viewport.lanes().row({{0}, kMemoryTotalLane});
    ASSERT_NE(memory, nullptr);
    const double middle = m_viewport.rowArea(*memory).center().y();
    m_viewport.setTop(0);
    const QString counter = hoverLine(m_viewport, frame.get(), std::nullopt, {x, middle});
    EXPECT_TRUE(counter.contains(u"B · "_s)) << counter.toStdString();
}

}  // namespace
}  // namespace shardscope::desktop
