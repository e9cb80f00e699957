#include "storage/columns/pyramid.h"

#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shardscope::columns {
namespace {

using test::IsOk;
using test::RandomEvents;

/// Everything a level shows, the slow way: each event looked at for itself.
std::vector<SpanSummary> naiveLevel(const std::vector<SpanEvent>& events, int level) {
    const int shift = bucketShift(level);
    std::map<std::pair<int, std::int64_t>, SpanSummary> buckets;
    std::vector<SpanSummary> all;
    for (const SpanEvent& event : events) {
        const auto item = SpanSummary::of(event);
        if (event.duration.ns >= std::int64_t{1} << shift) {
            all.push_back(item);
            continue;
        }
        const auto [at, added] = buckets.try_emplace({event.depth, event.start.ns >> shift}, item);
        if (!added) at->second.merge(item);
    }
    for (const auto& [key, summary] : buckets) all.push_back(summary);
    return all;
}

/// The same from a pyramid: its own level and the lone spans above.
template <class SegmentOf>
std::vector<SpanSummary> pyramidLevel(int level, std::int64_t lastSegment, SegmentOf segmentOfKey) {
    std::vector<SpanSummary> all;
    for (int above = level; above < kPyramidLevels; ++above) {
        for (std::int64_t segment = -1; segment <= lastSegment; ++segment)
            for (const SpanSummary& summary : segmentOfKey(above, segment))
                if (above == level || standsAlone(summary, above)) all.push_back(summary);
        lastSegment = (lastSegment >> kLevelShift) + 1;
    }
    return all;
}

void sortAll(std::vector<SpanSummary>& summaries) {
    std::sort(summaries.begin(), summaries.end(), [](const SpanSummary& a, const SpanSummary& b) {
        return std::tuple(a.depth, a.first, a.last, a.count, a.correlation) <
               std::tuple(b.depth, b.first, b.last, b.count, b.correlation);
    });
}

std::vector<SpanSummary> itemsOf(std::span<const SpanEvent> events) {
    std::vector<SpanSummary> items;
    for (const SpanEvent& event : events) items.push_back(SpanSummary::of(event));
    return items;
}

using Key = LanePyramid<SpanSummary>::Key;

/// What a recording would hold of a pyramid.
struct FakeTable {
    std::map<Key, std::vector<std::byte>> rows;

    Result<std::vector<SpanSummary>> load(const Key& key) {
        return decodeSpanSummaries(rows.at(key));
    }
    Result<void> store(const Key& key, const std::vector<SpanSummary>& summaries) {
        rows[key] = encodeSummaries(summaries);
        return {};
    }
};

TEST(Pyramid, ShowsOnEveryLevelWhatBruteForceFinds) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        RandomEvents random(seed);
        const auto events = random.nestedSpans(20'000, {-5'000'000});
        LanePyramid<SpanSummary> pyramid([](const Key&) -> Result<std::vector<SpanSummary>> {
            return failure(ErrorCode::kFailure, "nothing was stored");
        });
        for (std::size_t at = 0; at < events.size(); at += 3000) {
            const std::size_t size = std::min<std::size_t>(3000, events.size() - at);
            ASSERT_THAT(pyramid.add(itemsOf(std::span(events).subspan(at, size))), IsOk());
        }
        for (int level = 0; level < kPyramidLevels; ++level) {
            auto expected = naiveLevel(events, level);
            auto shown = pyramidLevel(level, segmentOf(level, events.back().end()),
                                      [&](int l, std::int64_t s) {
                                          return pyramid.segment({l, s});
                                      });
            sortAll(expected);
            sortAll(shown);
            ASSERT_EQ(shown, expected) << "seed " << seed << " level " << level;
        }
    }
}

TEST(Pyramid, MergesLateEventsIntoSegmentsItHadForgotten) {
    RandomEvents random(11);
    // Many short events, so that every segment is worth storing.
    std::vector<SpanEvent> events;
    for (Timestamp at{0}; at.ns < 4'000'000'000; at.ns += 20'000) {
        SpanEvent event;
        event.start = at;
        event.duration = {random.between(1, 20'000)};
        event.name = {static_cast<std::uint32_t>(random.between(1, 9))};
        events.push_back(event);
    }
    // Parts arrive out of order.
    std::vector<std::vector<SpanEvent>> parts;
    for (std::size_t at = 0; at < events.size(); at += 5000)
        parts.emplace_back(
            events.begin() + static_cast<std::ptrdiff_t>(at),
            events.begin() + static_cast<std::ptrdiff_t>(std::min(at + 5000, events.size())));
    for (std::size_t i = 0; i + 7 < parts.size(); i += 8) std::swap(parts[i], parts[i + 7]);
    FakeTable table;
    LanePyramid<SpanSummary> pyramid([&](const Key& key) { return table.load(key); });
    for (const auto& part : parts) {
        ASSERT_THAT(pyramid.add(itemsOf(part)), IsOk());
        ASSERT_THAT(pyramid.write([&](const Key& key, const std::vector<SpanSummary>& summaries) {
            return table.store(key, summaries);
        }),
                    IsOk());
        pyramid.forget(1);
    }
    EXPECT_LT(pyramid.size(), 10'000u);
    for (int level = 0; level < 4; ++level) {
        auto expected = naiveLevel(events, level);
        auto shown = pyramidLevel(level, segmentOf(level, events.back().end()),
                                  [&](int l, std::int64_t s) -> std::vector<SpanSummary> {
                                      const auto row = table.rows.find({l, s});
                                      if (row == table.rows.end()) return {};
                                      return decodeSpanSummaries(row->second).value();
                                  });
        for (SpanSummary& summary : expected)
            if (summary.count > 1) summary.correlation = 0;
        sortAll(expected);
        sortAll(shown);
        ASSERT_EQ(shown, expected) << "level " << level;
    }
}

TEST(Pyramid, LeavesOutFineSegmentsThatSaveNothing) {
    std::vector<SpanEvent> events(100);
    for (std::size_t i = 0; i < events.size(); ++i) {
        events[i].start = {static_cast<std::int64_t>(i) << kBaseShift};
        events[i].duration = {1000};
    }
    FakeTable table;
    LanePyramid<SpanSummary> pyramid([&](const Key& key) { return table.load(key); });
    ASSERT_THAT(pyramid.add(itemsOf(events)), IsOk());
    ASSERT_THAT(pyramid.write([&](const Key& key, const std::vector<SpanSummary>& summaries) {
        return table.store(key, summaries);
    }),
                IsOk());
    EXPECT_FALSE(table.rows.contains({0, 0}));
    EXPECT_FALSE(table.rows.contains({1, 0}));
    EXPECT_TRUE(table.rows.contains({2, 0}));
}

TEST(Pyramid, KeepsTheSpikesOfACounter) {
    RandomEvents random(21);
    std::vector<CounterEvent> samples;
    for (int i = 0; i < 50'000; ++i)
        samples.push_back(
            {{i * std::int64_t{30'000}}, {1}, static_cast<double>(random.between(0, 1000))});
    samples[777].value = 1e9;
    std::vector<CounterSummary> items;
    for (const CounterEvent& sample : samples) items.push_back(CounterSummary::of(sample));
    LanePyramid<CounterSummary> pyramid([](const auto&) -> Result<std::vector<CounterSummary>> {
        return failure(ErrorCode::kFailure, "nothing was stored");
    });
    ASSERT_THAT(pyramid.add(items), IsOk());
    for (int level = 0; level < 6; ++level) {
        std::vector<CounterSummary> shown;
        for (std::int64_t segment = 0; segment <= segmentOf(level, samples.back().time); ++segment)
            for (const auto& summary : pyramid.segment({level, segment})) shown.push_back(summary);
        std::map<std::int64_t, CounterSummary> expected;
        for (const CounterSummary& item : items) {
            const auto [at, added] =
                expected.try_emplace(item.first.ns >> bucketShift(level), item);
            if (!added) at->second.merge(item);
        }
        ASSERT_EQ(shown.size(), expected.size());
        std::size_t i = 0;
        for (const auto& [bucket, summary] : expected) EXPECT_EQ(shown[i++], summary);
    }
}

TEST(PyramidBlob, RefusesTruncationsAndFlippedBits) {
    RandomEvents random(31);
    auto blob = encodeSummaries(itemsOf(random.nestedSpans(50, {0})));
    EXPECT_THAT(decodeSpanSummaries(blob), IsOk());
    EXPECT_FALSE(decodeCounterSummaries(blob).has_value());
    for (std::size_t size = 0; size < blob.size(); ++size)
        EXPECT_FALSE(decodeSpanSummaries(std::span(blob).first(size)).has_value());
    for (std::size_t i = 0; i < blob.size(); ++i) {
        blob[i] ^= std::byte{1};
        EXPECT_FALSE(decodeSpanSummaries(blob).has_value()) << i;
        blob[i] ^= std::byte{1};
    }
}

}  // namespace
}  // namespace shardscope::columns
