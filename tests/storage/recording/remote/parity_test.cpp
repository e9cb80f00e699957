// A recording that is read from afar is what it is here: every question, every kind of recording.
#include "storage/columns/arguments.h"
#include "storage/interchange/trace_builder.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/storage/recording/remote/served_here.h"
#include "tests/support/random_events.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace shardscope::storage::remote {
namespace {

using test::FailsAs;
using test::FailsWith;
using test::IsOk;

constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};

/// Spans with arguments, instants, flows and samples, many names, on two ranks.
Result<void> writeImported(const std::string& path) {
    RunFacts run;
    run.id = "imported";
    run.worldSize = 2;
    auto builder = interchange::TraceBuilder::create(path, run, true);
    if (!builder) return failure(builder);
    test::RandomEvents random(5);
    for (const RankId rank : {RankId{0}, RankId{1}}) {
        const LaneId calls = builder->lane(rank, {"1", "1"}, LaneRole::kHost, "thread 1");
        const LaneId marks = builder->lane(rank, {"1", "2"}, LaneRole::kHost, "marks");
        const LaneId level = builder->lane(rank, {"1", "3"}, LaneRole::kCounter, "level", "1");
        builder->joinThread(rank, 1, calls);
        for (int i = 0; i < 3'000; ++i) {
            SpanEvent span;
            span.lane = calls;
            span.name = builder->intern(rank, "call " + std::to_string(i % 700));
            span.start = {1'000 * i};
            span.duration = {random.between(1, 900)};
            builder->add(rank, span, "{\"number\":" + std::to_string(i) + ",\"of\":\"é\"}");
            InstantEvent instant;
            instant.lane = marks;
            instant.time = span.start;
            instant.name = builder->intern(rank, "mark " + std::to_string(i % 11));
            builder->add(rank, instant, i % 3 == 0 ? "{\"x\":1}" : "");
            builder->add(rank, CounterEvent{span.start, level, 0.25 * i});
            FlowEvent flow;
            flow.lane = calls;
            flow.time = span.start;
            flow.id = static_cast<std::uint64_t>(i / 2);
            flow.name = builder->intern(rank, "flow");
            flow.category = builder->intern(rank, "category");
            flow.point = i % 2 == 0 ? FlowPoint::kStart : FlowPoint::kEnd;
            builder->add(rank, 1, flow);
        }
    }
    return builder->finish(run, {3'000'000});
}

struct Sample {
    const char* name;
    std::function<Result<void>(const std::string&)> write;
};
void PrintTo(const Sample& sample, std::ostream* out) {
    *out << sample.name;
}

class Parity : public testing::TestWithParam<Sample> {
protected:
    void SetUp() override {
        ASSERT_THAT(GetParam().write(m_path), IsOk());
        auto here = openRecording(m_path);
        ASSERT_THAT(here, IsOk());
        m_here = std::move(*here);
        m_there = m_served.open(m_path);
        ASSERT_NE(m_there, nullptr);
        auto summary = m_here->summary();
        ASSERT_THAT(summary, IsOk());
        m_summary = std::move(*summary);
    }

    /// What has as many members as a wire has (wire_test.cpp) is the same where its bytes are.
    template <class Ask>
    void expectSame(Ask ask) {
        const auto here = ask(*m_here);
        const auto there = ask(*m_there);
        ASSERT_THAT(here, IsOk());
        ASSERT_THAT(there, IsOk());
        columns::wire::Writer a;
        columns::wire::Writer b;
        a.put(*here);
        b.put(*there);
        EXPECT_TRUE(a.take() == b.take());
    }

    void expectSameText(RankId rank, StringId id) {
        EXPECT_EQ(m_here->text(rank, id), m_there->text(rank, id)) << rank.value << " " << id.value;
    }

    std::vector<LaneAddress> lanes(bool counters) const {
        std::vector<LaneAddress> lanes;
        for (const LaneFacts& lane : m_summary.lanes)
            if ((lane.role == LaneRole::kCounter) == counters)
                lanes.push_back({lane.rank, lane.lane});
        return lanes;
    }
    /// All, a stretch in the middle, next to nothing, and more than there can be.
    std::vector<TimeRange> ranges() const {
        const TimeRange all = m_summary.bounds;
        const Timestamp middle = all.begin + Duration{all.duration().ns / 2};
        return {all,
                {middle, middle + Duration{all.duration().ns / 7}},
                {middle, middle + Duration{20'000}},
                kEverything};
    }

    test::TemporaryFolder m_folder;
    std::string m_path = m_folder.file("run.sscope");
    ServedHere m_served;
    std::unique_ptr<RecordingReader> m_here, m_there;
    RecordingSummary m_summary;
};

TEST_P(Parity, Summary) {
    expectSame([](RecordingReader& reader) { return reader.summary(); });
}

TEST_P(Parity, EventsOfRanks) {
    for (const RankFacts& rank : m_summary.ranks)
        for (const TimeRange range : ranges())
            expectSame(
                [&](RecordingReader& reader) { return reader.rankEvents(rank.rank, range); });
}

TEST_P(Parity, CollectivesByKeyAreThoseOfTheRank) {
    for (const RankFacts& rank : m_summary.ranks) {
        auto all = m_here->rankEvents(rank.rank, m_summary.bounds);
        ASSERT_THAT(all, IsOk());
        std::vector<CollectiveKey> keys{{0, 1ULL << 40}};  // there is none
        std::vector<CollectiveEvent> every, some;
        for (const CollectiveEvent& event : all->collectives) {
            if (keys.size() % 3 == 0) some.push_back(event);
            keys.push_back(CollectiveKey::of(event));
            every.push_back(event);
        }
        std::reverse(keys.begin(), keys.end());
        EXPECT_EQ(m_here->collectives(rank.rank, keys), every);
        std::vector<CollectiveKey> few;
        for (const CollectiveEvent& event : some) few.push_back(CollectiveKey::of(event));
        EXPECT_EQ(m_here->collectives(rank.rank, few), some);
        expectSame([&](RecordingReader& reader) { return reader.collectives(rank.rank, keys); });
        expectSame([&](RecordingReader& reader) { return reader.collectives(rank.rank, {}); });
    }
}

TEST_P(Parity, SpansInstantsAndFlowsOfLanes) {
    for (const LaneAddress& lane : lanes(false)) {
        for (const TimeRange range : ranges()) {
            expectSame(
                [&](RecordingReader& reader) { return reader.spans(lane.rank, lane.lane, range); });
            expectSame([&](RecordingReader& reader) {
                return reader.instants(lane.rank, lane.lane, range);
            });
            expectSame(
                [&](RecordingReader& reader) { return reader.flows(lane.rank, lane.lane, range); });
        }
    }
}

TEST_P(Parity, ViewsOfManyLanes) {
    for (const TimeRange range : ranges()) {
        for (const Duration resolution : {Duration{1}, {1 << 14}, {1 << 21}, {1 << 27}}) {
            expectSame([&](RecordingReader& reader) {
                return reader.spans(lanes(false), {range, resolution, {}});
            });
            expectSame([&](RecordingReader& reader) {
                return reader.counters(lanes(true), {range, resolution, {}});
            });
        }
    }
}

TEST_P(Parity, SamplesAndMemory) {
    for (const TimeRange range : ranges()) {
        for (const LaneAddress& lane : lanes(true))
            expectSame([&](RecordingReader& reader) {
                return reader.samples(lane.rank, lane.lane, range);
            });
        for (const RankFacts& rank : m_summary.ranks) {
            expectSame(
                [&](RecordingReader& reader) { return reader.memoryEvents(rank.rank, range); });
            expectSame(
                [&](RecordingReader& reader) { return reader.liveMemory(rank.rank, range.end); });
        }
    }
}

TEST_P(Parity, SpansThatNameATextAreThoseOfAllThatDo) {
    for (const LaneAddress& lane : lanes(false)) {
        const auto spans = m_here->spans(lane.rank, lane.lane, m_summary.bounds);
        ASSERT_THAT(spans, IsOk());
        if (spans->empty()) continue;
        const StringId name = spans->front().name;
        std::vector<SpanEvent> named;
        for (const SpanEvent& span : *spans)
            if (span.name == name || span.arguments == name) named.push_back(span);
        const auto found = m_here->spansNaming(lane.rank, lane.lane, m_summary.bounds, {name});
        ASSERT_THAT(found, IsOk());
        EXPECT_EQ(found->size(), named.size());
        expectSame([&](RecordingReader& reader) {
            return reader.spansNaming(lane.rank, lane.lane, m_summary.bounds, {name});
        });
        expectSame([&](RecordingReader& reader) {
            return reader.spansNaming(lane.rank, lane.lane, m_summary.bounds, {});
        });
    }
}

TEST_P(Parity, ArrowsOfSpans) {
    for (const LaneAddress& lane : lanes(false)) {
        const auto spans = m_here->spans(lane.rank, lane.lane, ranges()[2]);
        ASSERT_THAT(spans, IsOk());
        for (std::size_t i = 0; i < spans->size() && i < 3; ++i)
            expectSame([&](RecordingReader& reader) {
                return reader.arrowsOf(lane.rank, lane.lane, (*spans)[i].start, (*spans)[i].depth);
            });
    }
}

TEST_P(Parity, TextsAndArguments) {
    for (const LaneAddress& lane : lanes(false)) {
        const auto spans = m_there->spans(lane.rank, lane.lane, m_summary.bounds);
        ASSERT_THAT(spans, IsOk());
        for (const SpanEvent& span : *spans) {
            expectSameText(lane.rank, span.name);
            expectSameText(lane.rank, span.arguments);
        }
    }
    for (const StringId id : {StringId{0},
                              {1},
                              {2},
                              {300},
                              {70'000},
                              {0x7fff'ffff},
                              {columns::kFirstArguments},
                              {0xffff'ffff}})
        expectSameText({0}, id);
    expectSameText({77}, {1});
}

TEST_P(Parity, Queries) {
    for (const char* sql : {"SELECT * FROM run", "SELECT * FROM lanes", "SELECT NULL, 1, 1.5, 'x'",
                            "SELECT kind, name, count(*), sum(duration_ns) FROM events GROUP BY "
                            "kind, name ORDER BY kind, name"})
        expectSame([&](RecordingReader& reader) { return reader.query(sql); });
    const auto here = m_here->query("SELECT nothing FROM nowhere");
    const auto there = m_there->query("SELECT nothing FROM nowhere");
    ASSERT_FALSE(there);
    EXPECT_EQ(here.error().message, there.error().message);
    EXPECT_EQ(here.error().code, there.error().code);
}

INSTANTIATE_TEST_SUITE_P(Recordings, Parity,
                         testing::Values(Sample{"cpu",
                                                [](const auto& path) {
                                                    return test::writeSampleRecording(
                                                        path, {.steps = 4, .program = true});
                                                }},
                                         Sample{"gpu",
                                                [](const auto& path) {
                                                    return test::writeSampleRecording(
                                                        path, {.steps = 4, .gpu = true});
                                                }},
                                         Sample{"growing",
                                                [](const auto& path) {
                                                    return test::writeSampleRecording(
                                                        path, {.steps = 4, .finalise = false});
                                                }},
                                         Sample{"pyramids",
                                                [](const auto& path) {
                                                    return test::writeSampleRecording(
                                                        path, {.steps = 4, .pyramids = true});
                                                }},
                                         Sample{"imported", writeImported}),
                         [](const auto& sample) { return std::string(sample.param.name); });

class RemoteReading : public testing::Test {
protected:
    void SetUp() override { ASSERT_THAT(test::writeSampleRecording(m_path, {.steps = 4}), IsOk()); }
    test::TemporaryFolder m_folder;
    std::string m_path = m_folder.file("run.sscope");
    ServedHere m_served;
};

TEST_F(RemoteReading, NamesOfAnAnswerAreThereWithoutAsking) {
    const auto reader = m_served.open(m_path);
    const auto slices = reader->spans({{{0}, lanes::kOperators.id}}, {kEverything, {1}, {}});
    ASSERT_THAT(slices, IsOk());
    ASSERT_FALSE(slices->front().empty());
    const std::uint64_t asked = m_served.session->bytesOut();
    for (const LaneSlice& slice : slices->front())
        EXPECT_FALSE(reader->text({0}, slice.name).empty());
    EXPECT_EQ(m_served.session->bytesOut(), asked);
}

TEST_F(RemoteReading, ArgumentsOfAViewAreThereWithoutAsking) {
    ASSERT_THAT(writeImported(m_path), IsOk());
    const auto reader = m_served.open(m_path);
    const auto summary = reader->summary();
    ASSERT_THAT(summary, IsOk());
    std::vector<LaneAddress> lanes;
    for (const LaneFacts& lane : summary->lanes) lanes.push_back({lane.rank, lane.lane});
    const TimeRange few{{100'000}, {200'000}};
    const auto slices = reader->spans(lanes, {few, {1}, {}});
    ASSERT_THAT(slices, IsOk());
    const std::uint64_t asked = m_served.session->bytesOut();
    const auto here = openRecording(m_path);
    int texts = 0;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        for (const LaneSlice& slice : (*slices)[i]) {
            const std::string text((*here)->text(lanes[i].rank, slice.arguments));
            EXPECT_EQ(reader->text(lanes[i].rank, slice.arguments), text);
            texts += text.empty() ? 0 : 1;
        }
    }
    EXPECT_GT(texts, 100);
    EXPECT_EQ(m_served.session->bytesOut(), asked);
}

TEST_F(RemoteReading, NamesTravelOnce) {
    const auto reader = m_served.open(m_path);
    const View view{kEverything, {1}, {}};
    const std::vector<LaneAddress> lane = {{{0}, lanes::kOperators.id}};
    const std::uint64_t before = m_served.session->bytesIn();
    ASSERT_THAT(reader->spans(lane, view), IsOk());
    const std::uint64_t first = m_served.session->bytesIn();
    ASSERT_THAT(reader->spans(lane, view), IsOk());
    EXPECT_LT(m_served.session->bytesIn() - first, first - before);
}

TEST_F(RemoteReading, AViewThatIsSupersededEndsAndTheNextOneAnswers) {
    const auto reader = m_served.open(m_path);
    const std::vector<LaneAddress> lane = {{{0}, lanes::kOperators.id}};
    Generations views;
    const View old{kEverything, {1}, views.next()};
    const View now{kEverything, {1}, views.next()};
    EXPECT_THAT(reader->spans(lane, old), FailsAs(ErrorCode::kCancelled));
    const auto slices = reader->spans(lane, now);
    ASSERT_THAT(slices, IsOk());
    ASSERT_FALSE(slices->front().empty());
    // The one that was given up may have brought the names; it was not thrown away whole.
    EXPECT_FALSE(reader->text({0}, slices->front().front().name).empty());
}

TEST_F(RemoteReading, WhatCannotBeOpenedIsSaidInTheReadersOwnWords) {
    const std::string path = m_folder.file("none.sscope");
    const auto there = RemoteReader::open(m_served.session, path);
    ASSERT_FALSE(there);
    const auto here = openRecording(path);
    EXPECT_EQ(there.error().message, here.error().message);
    EXPECT_EQ(there.error().code, here.error().code);
    EXPECT_FALSE(m_served.session->isLost()) << "another one can be opened";
    EXPECT_NE(m_served.open(m_path), nullptr);
}

TEST_F(RemoteReading, WhetherItIsBeingWrittenIsToldByTheOtherSide) {
    for (const bool written : {false, true}) {
        std::string asked;
        ServeOptions options;
        options.isBeingWritten = [&](const std::string& path) {
            asked = path;
            return written;
        };
        ServedHere served(options);
        const auto reader = RemoteReader::open(served.session, m_path);
        ASSERT_THAT(reader, IsOk());
        EXPECT_EQ((*reader)->wasBeingWritten(), written);
        EXPECT_EQ(asked, m_path);
    }
}

TEST_F(RemoteReading, WhatTheOtherSideSaysBeginsWithItsHost) {
    const auto ends = streamPair();
    std::thread other([fd = ends[1]] { static_cast<void>(serve(fd, ::dup(fd))); });
    {
        auto session = RemoteSession::begin(FrameStream(ends[0], ends[0]), nullptr, "the test's",
                                            {}, {}, "node-a");
        EXPECT_THAT(session, IsOk());
        EXPECT_THAT((*session)->ask(Summary{}), FailsWith("node-a: no recording is open"));
    }
    other.join();
}

TEST_F(RemoteReading, NothingIsAnsweredBeforeSomethingIsOpen) {
    EXPECT_THAT(m_served.session->ask(Summary{}), FailsWith("no recording is open"));
}

TEST_F(RemoteReading, AGrowingRecordingIsFollowed) {
    const std::string path = m_folder.file("growing.sscope");
    ASSERT_THAT(test::writeSampleRecording(path, {.steps = 2, .finalise = false}), IsOk());
    const auto reader = m_served.open(path);
    const auto before = reader->summary();
    ASSERT_THAT(before, IsOk());
    EXPECT_FALSE(before->complete);
    auto same = openRecording(path);
    ASSERT_THAT(same, IsOk());
    EXPECT_EQ(before->events.total(), (*same)->summary()->events.total());
}

TEST_F(RemoteReading, TheOtherSideGoingIsALostConnectionEverAfter) {
    const auto ends = streamPair();
    {
        FrameStream other(ends[1], ends[1]);
        columns::wire::Writer hello;
        hello.put(kVersion);
        const auto bytes = hello.take();
        ASSERT_THAT(other.send(FrameKind::kHello, 0, bytes, [] { return true; }), IsOk());
    }
    auto session = sessionOver(ends[0]);
    ASSERT_THAT(session, IsOk());
    EXPECT_THAT((*session)->ask(Summary{}), FailsWith("the test's connection was lost"));
    EXPECT_TRUE((*session)->isLost());
    EXPECT_THAT((*session)->ask(Summary{}), FailsAs(ErrorCode::kLaunch));
}

TEST_F(RemoteReading, OneThatNeverAnswersIsLeftWhenAsked) {
    const auto ends = streamPair();
    Generations asked;
    const Generation wanted = asked.next();
    std::jthread impatience([&] { asked.supersede(); });
    EXPECT_THAT(sessionOver(ends[0], wanted), FailsAs(ErrorCode::kCancelled));
    ::close(ends[1]);
}

TEST_F(RemoteReading, FoldersAreListed) {
    namespace fs = std::filesystem;
    fs::create_directory(m_folder.file("b"));
    fs::create_directory(m_folder.file("a.sscope"));
    fs::create_directory(m_folder.file(".hidden"));
    fs::create_symlink("nowhere", m_folder.file("broken.sscope"));
    std::filesystem::copy_file(m_path, m_folder.file("other.txt"));
    const auto list = m_served.session->ask(ListFolder{m_folder.path()});
    ASSERT_THAT(list, IsOk());
    std::vector<std::string> names;
    for (const FolderEntry& entry : list->entries) names.push_back(entry.name);
    EXPECT_EQ(names, (std::vector<std::string>{"a.sscope", "b", "broken.sscope", "run.sscope"}));
    EXPECT_TRUE(list->entries[0].isFolder);
    EXPECT_EQ(list->entries[3].size.count, static_cast<std::int64_t>(fs::file_size(m_path)));
    EXPECT_GT(list->entries[3].changedNs, 0);
    EXPECT_TRUE(list->whole);
    EXPECT_THAT(m_served.session->ask(ListFolder{m_folder.file("none")}),
                FailsAs(ErrorCode::kUnreadable));
    EXPECT_THAT(m_served.session->ask(ListFolder{"~"}), IsOk());
}

}  // namespace
}  // namespace shardscope::storage::remote
