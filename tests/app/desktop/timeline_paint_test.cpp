// What the timeline paints: as much of a lane as was busy, however narrow its events are.
#include "app/desktop/pages/timeline/lanes/track_levels.h"
#include "app/desktop/pages/timeline/tracks/column_strip.h"
#include "app/desktop/pages/timeline/tracks/lane_painter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QImage>
#include <QPainter>
#include <cmath>
#include <random>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kWidth = 700;
constexpr int kHeight = 25;

LaneRow computeRow() {
    LaneRow row;
    row.role = LaneRole::kCompute;
    return row;
}

QImage paintedLane(const LaneFrame& frame, const LaneRow& row, const TimeScale& scale) {
    QImage image(kWidth, kHeight, QImage::Format_RGB32);
    image.fill(Theme::light().window);
    QPainter painter(&image);
    LanePainter lanes(Theme::light());
    lanes.paintSlices(painter, QRectF(0, 0, kWidth, kHeight), row, frame, scale);
    return image;
}

/// How strongly the middle of a lane is painted on average; names of slices are left out because
/// nothing but colour tells how much is covered.
double meanCoverage(const QImage& image) {
    const double full = 255 - Theme::light().fill(Meaning::kCompute).colour.red();
    double sum = 0;
    for (int x = 0; x < image.width(); ++x)
        sum += std::min(1.0, (255 - qRed(image.pixel(x, 2))) / full);
    return sum / image.width();
}

/// Events that follow each other with gaps, as a recording has them.
LaneFrame randomLane(std::mt19937& random, std::int64_t length, double busy, double meanLength) {
    LaneFrame frame;
    std::exponential_distribution<double> longs(1 / meanLength);
    std::exponential_distribution<double> gaps(busy / (meanLength * (1 - busy)));
    for (double at = gaps(random); at < static_cast<double>(length);) {
        SliceView slice;
        const double end = at + longs(random) + 1;
        slice.range = {{static_cast<std::int64_t>(at)}, {static_cast<std::int64_t>(end)}};
        slice.busy = slice.range.duration();
        slice.waitedUntil = slice.range.begin;
        slice.phase = Phase::kForward;
        frame.slices.push_back(slice);
        at = end + gaps(random);
    }
    return frame;
}

/// As the reader merges what shares a cell.
LaneFrame merged(const LaneFrame& frame, std::int64_t cell) {
    LaneFrame found;
    for (const SliceView& slice : frame.slices) {
        const bool joins = !found.slices.empty() && slice.busy.ns < cell &&
                           found.slices.back().busy.ns < cell &&
                           found.slices.back().range.begin.ns / cell == slice.range.begin.ns / cell;
        if (!joins) {
            found.slices.push_back(slice);
            continue;
        }
        SliceView& last = found.slices.back();
        last.range.end = slice.range.end;
        last.busy += slice.busy;
        ++last.count;
    }
    return found;
}

double busyShare(const LaneFrame& frame, TimeRange range) {
    double busy = 0;
    for (const SliceView& slice : frame.slices)
        busy += static_cast<double>(slice.range.intersection(range).duration().ns);
    return busy / static_cast<double>(range.duration().ns);
}

TEST(LaneCoverage, IsTheBusyShareOfRandomTimelines) {
    std::mt19937 random(18);
    const TimeRange whole{{0}, {7'000'000'000}};
    for (int i = 0; i < 60; ++i) {
        const double busy = std::uniform_real_distribution<double>(0.01, 0.99)(random);
        const double length = std::pow(10, std::uniform_real_distribution<double>(5.5, 9)(random));
        const LaneFrame lane = randomLane(random, whole.end.ns, busy, length);
        const double expected = busyShare(lane, whole);
        const TimeScale scale{whole, kWidth};
        EXPECT_NEAR(meanCoverage(paintedLane(lane, computeRow(), scale)), expected, 0.02)
            << lane.slices.size() << " events";
        const LaneFrame drawn = merged(lane, std::int64_t{1} << 23);
        EXPECT_NEAR(meanCoverage(paintedLane(drawn, computeRow(), scale)), expected, 0.02)
            << drawn.slices.size() << " merged events";
    }
}

TEST(LaneCoverage, OfATrackIsThatOfItsLanesTogether) {
    std::mt19937 random(22);
    const TimeRange whole{{0}, {7'000'000'000}};
    constexpr std::int64_t kCell = std::int64_t{1} << 23;
    LaneRow row = computeRow();
    row.kind = LaneRow::Kind::kTrack;
    row.onDevice = true;
    row.parts = {{{0}, lanes::kStreams.at(0)}, {{0}, lanes::kStreams.at(1)}};
    row.contents = {LaneContent::kKernels, LaneContent::kKernels};
    for (int i = 0; i < 20; ++i) {
        const double busy = std::uniform_real_distribution<double>(0.01, 0.99)(random);
        const double length = std::pow(10, std::uniform_real_distribution<double>(5.5, 9)(random));
        const LaneFrame both = randomLane(random, whole.end.ns, busy, length);
        TimelineFrame frame;
        frame.query = {whole, {kCell}, row.parts, {row.parts}};
        LaneFrame halves[2];
        for (const SliceView& slice : both.slices) halves[random() % 2].slices.push_back(slice);
        for (std::size_t part = 0; part < 2; ++part) {
            LaneFrame& lane = frame.lanes.emplace_back(merged(halves[part], kCell));
            lane.key = row.parts[part];
            lane.role = LaneRole::kCompute;
        }
        nestTracks(frame);
        QImage image(kWidth, kHeight, QImage::Format_RGB32);
        image.fill(Theme::light().window);
        QPainter painter(&image);
        LanePainter(Theme::light())
            .paintTrack(painter, QRectF(0, 0, kWidth, kHeight), row, frame, {whole, kWidth});
        EXPECT_NEAR(meanCoverage(image), busyShare(both, whole), 0.02)
            << both.slices.size() << " events";
    }
}

TEST(LaneCoverage, HardlyAnythingLooksNearlyEmptyAndAllOfItSolid) {
    std::mt19937 random(1);
    const TimeRange whole{{0}, {7'000'000'000}};
    const TimeScale scale{whole, kWidth};
    const LaneFrame rare = randomLane(random, whole.end.ns, 0.0007, 10'000);
    ASSERT_GT(rare.slices.size(), 300U);
    const QImage image = paintedLane(rare, computeRow(), scale);
    EXPECT_LT(meanCoverage(image), 0.01);
    int traces = 0;
    for (int x = 0; x < kWidth; ++x) traces += qRed(image.pixel(x, kHeight - 1)) < 230 ? 1 : 0;
    EXPECT_GT(traces, 100) << "a line below says that something is there";
    SliceView all;
    all.range = whole;
    all.busy = whole.duration();
    all.phase = Phase::kForward;
    LaneFrame solid;
    solid.slices.push_back(all);
    EXPECT_DOUBLE_EQ(meanCoverage(paintedLane(solid, computeRow(), scale)), 1);
}

TEST(LaneCoverage, StaysWithinWhatItsPainterMayTouch) {
    LaneFrame solid;
    solid.slices.emplace_back().range = {{0}, {100}};
    QImage image(100, 60, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    painter.setClipRect(QRectF(0, 30, 100, 30));  // the ruler lies above
    LanePainter lanes(Theme::light());
    lanes.paintSlices(painter, QRectF(0, 20, 100, 25), computeRow(), solid, {{{0}, {100}}, 100});
    LaneRow counter;
    counter.role = LaneRole::kCounter;
    LaneFrame points;
    points.points.push_back({{{0}, {100}}, 5, 5, 5});
    lanes.paintCounter(painter, QRectF(0, 20, 100, 25), counter, points, {{{0}, {100}}, 100});
    for (int y = 0; y < 30; ++y) EXPECT_EQ(image.pixel(50, y), qRgb(255, 255, 255)) << y;
    EXPECT_NE(image.pixel(50, 35), qRgb(255, 255, 255));
}

TEST(ColumnStrip, ColoursOfAColumnMixOrTheLargestWins) {
    for (const auto mix : {ColumnStrip::Mix::kBlend, ColumnStrip::Mix::kDominant}) {
        ColumnStrip strip(4, mix);
        strip.add(1, 1.75, 1, qRgb(200, 0, 0));
        strip.add(1.75, 2, 1, qRgb(0, 0, 200));
        EXPECT_DOUBLE_EQ(strip.coverage(0), 0);
        EXPECT_DOUBLE_EQ(strip.coverage(1), 1);
        EXPECT_EQ(strip.colour(1),
                  mix == ColumnStrip::Mix::kBlend ? qRgb(150, 0, 50) : qRgb(200, 0, 0));
        strip.clear();
        EXPECT_TRUE(strip.empty());
        EXPECT_DOUBLE_EQ(strip.coverage(1), 0);
    }
}

TEST(SliceNames, TheFunctionIsWhatAShortNameKeeps) {
    const std::vector<std::pair<QString, QString>> names{
        {u"volta_sgemm_128x64_tn"_s, u"volta_sgemm_128x64_tn"_s},
        {u"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
         "at::detail::Array<char*, 3>>(int, at::native::CUDAFunctor_add<float>)"_s,
         u"vectorized_elementwise_kernel"_s},
        {u"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, 512>(cudnnTensorStruct)"_s,
         u"bn_fw_tr_1C11_kernel_NCHW"_s},
        {u"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long)"_s,
         u"ncclKernel_AllReduce_RING_LL_Sum_float"_s},
        {u"aten::convolution_backward"_s, u"convolution_backward"_s},
        {u"threading.py(1016): _bootstrap_inner"_s, u"_bootstrap_inner"_s},
        {u"<built-in method acquire of _thread.lock object at 0x7f>"_s, u"acquire"_s},
        {u"nn.Module: Linear_3"_s, u"Linear_3"_s},
        {u"Memcpy HtoD (Pageable -> Device)"_s, u"Memcpy HtoD (Pageable -> Device)"_s},
        {u"cudaLaunchKernel"_s, u"cudaLaunchKernel"_s},
        {u"## forward ##"_s, u"## forward ##"_s},
        {u""_s, u""_s},
        {u"::"_s, u"::"_s},
        {u"void"_s, u"void"_s}};
    for (const auto& [name, expected] : names)
        EXPECT_EQ(shortName(name), expected) << name.toStdString();
    EXPECT_EQ(namesLongestFirst(u"mul"_s).size(), 1U);
    EXPECT_EQ(namesLongestFirst(u"aten::mul"_s).size(), 2U);
}

LaneFrame collectives(const std::vector<TimeRange>& ranges) {
    LaneFrame frame;
    for (const TimeRange range : ranges) {
        SliceView slice;
        slice.range = range;
        slice.busy = range.duration();
        slice.waitedUntil = range.begin;
        slice.name = u"all-reduce"_s;
        slice.operation = CollectiveOp::kAllReduce;
        frame.slices.push_back(slice);
    }
    return frame;
}

TEST(TimelinePaint, WhatIsModelledIsPaleWithinADottedEdge) {
    const LaneFrame frame = collectives({{{100}, {600}}});
    const TimeScale scale{{{0}, {kWidth}}, kWidth};
    LaneRow row;
    row.role = LaneRole::kCommunication;
    const QImage measured = paintedLane(frame, row, scale);
    row.modelled = true;
    const QImage modelled = paintedLane(frame, row, scale);
    const auto distance = [](QRgb pixel) {
        const QColor ground = Theme::light().window;
        return std::abs(qRed(pixel) - ground.red()) + std::abs(qGreen(pixel) - ground.green()) +
               std::abs(qBlue(pixel) - ground.blue());
    };
    const int full = distance(measured.pixel(500, 4)), pale = distance(modelled.pixel(500, 4));
    EXPECT_NEAR(pale, full / 2, full / 10);
    int changes = 0;
    for (int x = 102; x < 598; ++x)
        changes += modelled.pixel(x, 0) != modelled.pixel(x + 1, 0) ? 1 : 0;
    EXPECT_GT(changes, 50) << "the edge is dotted";
    for (int x = 302; x < 598; ++x)
        ASSERT_EQ(measured.pixel(x, 0), measured.pixel(x + 1, 0)) << "that of others is not";
}

TEST(TimelinePaint, ANameEndsWhereWhatOverlapsItBegins) {
    // the second begins right after the first one's name does
    const TimeScale scale{{{0}, {kWidth}}, kWidth};
    LaneRow row;
    row.role = LaneRole::kCommunication;
    const QImage both = paintedLane(collectives({{{100}, {600}}, {{112}, {600}}}), row, scale);
    const QImage second = paintedLane(collectives({{{112}, {600}}}), row, scale);
    for (int y = 0; y < kHeight; ++y)
        for (int x = 116; x < 600; ++x)
            ASSERT_EQ(both.pixel(x, y), second.pixel(x, y)) << x << ", " << y;
}

}  // namespace
}  // namespace shardscope::desktop
