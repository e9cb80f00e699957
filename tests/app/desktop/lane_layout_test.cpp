// Which lanes are shown where: groups of threads and streams, folds, pins, order, filter, heat map.
#include "app/desktop/pages/timeline/lanes/lane_layout.h"

#include "app/desktop/pages/timeline/lanes/lane_actions.h"
#include "engine/run/config/run_config.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

LaneFacts lane(std::uint32_t rank, std::uint32_t id, LaneRole role, const char* name,
               const char* unit = "") {
    return {{rank}, {id}, role, name, unit, static_cast<std::int32_t>(id)};
}

RankFacts rankFacts(std::uint32_t rank) {
    RankFacts facts;
    facts.rank = {rank};
    facts.pid = 2910249;
    return facts;
}

/// As the importer names the lanes of a trace of PyTorch.
RecordingSummary imported() {
    RecordingSummary summary;
    summary.ranks.push_back(rankFacts(0));
    using enum LaneRole;
    summary.lanes = {lane(0, 3, kRange, "thread 2919752 (pt_autograd_0): user_annotation (CPU)"),
                     lane(0, 4, kRange, "thread 2910249 (pt_main_thread): user_annotation (CPU)"),
                     lane(0, 10, kRange, "GPU 0 stream 7: gpu_user_annotation"),
                     lane(0, 12, kRange, "thread PyTorch Profiler: Trace"),
                     lane(0, 13, kRange, "thread Trace PyTorch Profiler: instant, global"),
                     lane(0, 14, kRange, "thread : instant"),
                     lane(0, 15, kRange, "thread 251: flow"),
                     lane(0, 1, kHost, "thread 2919752 (pt_autograd_0): cpu_op (CPU)"),
                     lane(0, 5, kHost, "thread 2910249 (pt_main_thread): cpu_op (CPU)"),
                     lane(0, 6, kHost, "thread 2910249 (pt_main_thread): python_function (CPU)"),
                     lane(0, 8192, kRuntime, "thread 2919752 (pt_autograd_0): cuda_runtime (CPU)"),
                     lane(0, 8194, kRuntime, "thread 2910249 (pt_main_thread): cuda_runtime (CPU)"),
                     lane(0, 4096, kCompute, "GPU 0 stream 7"),
                     lane(0, 4098, kCommunication, "GPU 0 stream 40: collectives"),
                     lane(0, 4099, kCopy, "GPU 0 stream 7: gpu_memcpy"),
                     lane(0, 12288, kCounter, "GPU memory")};
    return summary;
}

RecordingSummary ranksOf(std::uint32_t count) {
    RecordingSummary summary;
    for (std::uint32_t rank = 0; rank < count; ++rank) {
        summary.ranks.push_back(rankFacts(rank));
        summary.lanes.push_back(lane(rank, 0, LaneRole::kRange, "step"));
        summary.lanes.push_back(lane(rank, 1, LaneRole::kCompute, "compute"));
        summary.lanes.push_back(lane(rank, 2, LaneRole::kHost, "operators"));
        summary.lanes.push_back(lane(rank, 3, LaneRole::kCommunication, "communication"));
    }
    return summary;
}

std::vector<QString> names(const LaneLayout& layout) {
    std::vector<QString> found;
    for (const LaneRow& row : layout.rows) found.push_back(row.name);
    return found;
}

const LaneRow* named(const LaneLayout& layout, const QString& name) {
    for (const LaneRow& row : layout.rows)
        if (row.name == name) return &row;
    return nullptr;
}

TEST(LaneGroups, AThreadOrAStreamHasItsLanesTogetherAndDevicesComeFirst) {
    EXPECT_THAT(names(layOutLanes(imported(), firstOptions(imported()))),
                ElementsAre(u"rank 0"_s, u"summary"_s, u"GPU 0 · stream 7 (compute)"_s,
                            u"annotations"_s, u"kernels"_s, u"copies"_s,
                            u"GPU 0 · stream 40 (communication)"_s, u"collectives"_s,
                            u"main thread 2910249"_s, u"annotations"_s, u"Python"_s, u"operators"_s,
                            u"CUDA runtime"_s, u"thread 2919752 (backward)"_s, u"annotations"_s,
                            u"operators"_s, u"CUDA runtime"_s, u"counters (1)"_s, u"other (4)"_s));
}

TEST(LaneGroups, NamesOfLanesAreReadable) {
    const RankFacts rank = rankFacts(0);
    const auto groupAndName = [&](const char* name, LaneRole role, std::uint32_t id = 1) {
        const LaneIdentity found = identify(lane(0, id, role, name), rank);
        return found.groupName + u'|' + found.name;
    };
    EXPECT_EQ(groupAndName("stream 19: NCCL", LaneRole::kCommunication, 4097), u"stream 19|NCCL"_s);
    EXPECT_EQ(groupAndName("GPU 1 stream 7, context 2: copies", LaneRole::kCopy, 4097),
              u"GPU 1 · stream 7, context 2|copies"_s);
    EXPECT_EQ(groupAndName("CUDA calls (thread 4711)", LaneRole::kRuntime, 8192),
              u"thread 4711|CUDA calls"_s);
    EXPECT_EQ(groupAndName("thread 111 (python3): NVTX, marks", LaneRole::kRange),
              u"thread 111 (python3)|NVTX, marks"_s);
    EXPECT_EQ(groupAndName("thread -549452224: cuda_runtime (CPU)", LaneRole::kRuntime, 8192),
              u"thread -549452224|CUDA runtime"_s);
    EXPECT_EQ(groupAndName("loader: cpu_op", LaneRole::kHost), u"loader|operators"_s);
    EXPECT_EQ(groupAndName("loader: user_annotation", LaneRole::kRange), u"loader|annotations"_s);
    EXPECT_EQ(groupAndName("pt_main_thread: python_function", LaneRole::kHost,
                           lanes::kOperators.id.value),
              u"main thread 2910249|Python"_s);
    EXPECT_EQ(groupAndName("warmup: 3", LaneRole::kRange), u"|warmup: 3"_s);
    EXPECT_EQ(groupAndName("step", LaneRole::kRange, 0), u"|step"_s);
}

TEST(LaneGroups, WhatIsOnlyJunkIsNotFoldedAway) {
    RecordingSummary summary;
    summary.ranks.push_back(rankFacts(0));
    summary.lanes = {lane(0, 1, LaneRole::kRange, "thread 7: instant")};
    const LaneLayout layout = layOutLanes(summary, {});
    EXPECT_NE(layout.row({{0}, {1}}), nullptr);
}

TEST(LaneGroups, CommunicationOfAGroupSaysItsRanks) {
    RecordingSummary summary = ranksOf(6);
    for (std::uint32_t rank : {0U, 1U, 2U, 5U})
        summary.lanes.push_back(
            lane(rank, 6, LaneRole::kCommunication, "communication in group 1"));
    std::ranges::stable_sort(summary.lanes, {}, &LaneFacts::rank);
    EXPECT_NE(named(layOutLanes(summary, {}), u"communication · ranks 0–2, 5 of group 1"_s),
              nullptr);
    run::RunConfig config;
    config.ranks = 6;
    config.tensor = 3;
    summary.run.configJson = run::toJson(config);
    EXPECT_NE(named(layOutLanes(summary, {}), u"communication · tensor group, ranks 0–2, 5"_s),
              nullptr);
    EXPECT_EQ(rankList({{4}}), u"rank 4"_s);
    EXPECT_EQ(rankList({{4}, {5}}), u"ranks 4, 5"_s);
}

TEST(LaneDepths, ARowHasSixLevelsAtFirstAndAllOnDemand) {
    LaneLayoutOptions options;
    const RecordingSummary summary = imported();
    const LaneAddress python{{0}, {6}};
    options.depths[python] = 38;
    LaneLayout layout = layOutLanes(summary, options);
    EXPECT_EQ(layout.row(python)->depths, kFirstDepths);
    EXPECT_EQ(layout.row(python)->allDepths, 38);
    const int before = layout.height;
    options = applied(summary, layout, options, LaneAction::kLevels, layout.row(python));
    layout = layOutLanes(summary, options);
    EXPECT_EQ(layout.row(python)->depths, 38);
    EXPECT_GE(layout.row(python)->height, 38 * 13) << "each of them can be read and clicked";
    EXPECT_GT(layout.height, before);
    const LaneAddress operators{{0}, {5}};
    const auto same = applied(summary, layout, options, LaneAction::kLevels, layout.row(operators));
    EXPECT_EQ(layOutLanes(summary, same).height, layout.height) << "there are no more of it";
}

LaneLayoutOptions nested() {
    LaneLayoutOptions options;
    options.nested = true;
    return options;
}

/// The lanes of `imported` that nest.
constexpr LaneAddress kStreamRange{{0}, {10}}, kKernels{{0}, {4096}}, kCopies{{0}, {4099}};
constexpr LaneAddress kThreadRange{{0}, {4}}, kPython{{0}, {6}}, kOperators{{0}, {5}},
    kCalls{{0}, {8194}};

TEST(LaneTracks, AThreadOrAStreamIsOneRow) {
    const LaneLayout layout = layOutLanes(imported(), nested());
    EXPECT_THAT(
        names(layout),
        ElementsAre(u"rank 0"_s, u"summary"_s, u"GPU 0 · stream 7 (compute)"_s,
                    u"annotations, kernels, copies"_s, u"GPU 0 · stream 40 (communication)"_s,
                    u"collectives"_s, u"main thread 2910249"_s,
                    u"annotations, Python, operators, CUDA runtime"_s,
                    u"thread 2919752 (backward)"_s, u"annotations, operators, CUDA runtime"_s,
                    u"counters (1)"_s, u"other (4)"_s));
    const LaneRow* stream = layout.row(kCopies);
    ASSERT_NE(stream, nullptr);
    EXPECT_EQ(stream->kind, LaneRow::Kind::kTrack) << "before the summary that shows it too";
    EXPECT_THAT(stream->parts, ElementsAre(kStreamRange, kKernels, kCopies));
    EXPECT_TRUE(stream->onDevice);
    const LaneRow* thread = layout.row(kPython);
    EXPECT_THAT(thread->parts, ElementsAre(kThreadRange, kPython, kOperators, kCalls));
    EXPECT_FALSE(thread->onDevice);
    EXPECT_EQ(layout.row({{0}, {4098}})->kind, LaneRow::Kind::kSpans) << "it has one lane only";
    EXPECT_THAT(layout.loadedTracks(thread->y, thread->y + 1), ElementsAre(thread->parts));
    const auto loaded = layout.loadedLanes(thread->y, thread->y + 1);
    EXPECT_EQ(loaded, thread->parts) << "each once";
}

TEST(LaneTracks, WhatSpansOthersWithoutContainingThemKeepsItsRow) {
    RecordingSummary summary;
    summary.ranks.push_back(rankFacts(0));
    using enum LaneRole;
    summary.lanes = {lane(0, 1, kHost, "thread 9: cpu_op"),
                     lane(0, 2, kHost, "thread 9: CUDA overhead"),
                     lane(0, 4096, kCompute, "GPU 0 stream 7"),
                     lane(0, 4097, kCopy, "GPU 0 stream 7: gpu_memcpy"),
                     lane(0, 4098, kSync, "GPU 0 stream 7: cuda_sync"),
                     lane(0, 8192, kRuntime, "thread 9: cuda_runtime"),
                     lane(0, 8193, kSync, "thread 9: cuda_sync")};
    const LaneLayout layout = layOutLanes(summary, nested());
    const auto alone = [&](std::uint32_t id) {
        return layout.row({{0}, {id}})->kind == LaneRow::Kind::kSpans;
    };
    EXPECT_TRUE(alone(4098)) << "waits of a stream";
    EXPECT_TRUE(alone(2)) << "what the tracer cost";
    EXPECT_FALSE(alone(8193)) << "a thread waits in its call";
    EXPECT_EQ(layout.row({{0}, {1}}), layout.row({{0}, {8192}}));
    EXPECT_EQ(layout.row({{0}, {4096}}), layout.row({{0}, {4097}}));
}

TEST(LaneTracks, ATrackHasSixteenLevelsAtFirst) {
    const RecordingSummary summary = imported();
    LaneLayoutOptions options = nested();
    options.depths[kThreadRange] = 3;  // of that lane alone
    options.trackDepths[kThreadRange] = 44;
    LaneLayout layout = layOutLanes(summary, options);
    EXPECT_EQ(layout.row(kPython)->depths, kFirstTrackDepths);
    EXPECT_EQ(layout.row(kPython)->allDepths, 44);
    options = applied(summary, layout, options, LaneAction::kLevels, layout.row(kPython));
    layout = layOutLanes(summary, options);
    EXPECT_EQ(layout.row(kPython)->depths, 44);
    EXPECT_GE(layout.row(kPython)->height, 44 * 13) << "each of them can be read and clicked";
}

TEST(LaneTracks, ATrackIsPinnedHiddenAndMovedAsOne) {
    const RecordingSummary summary = imported();
    LaneLayoutOptions options = nested();
    LaneLayout layout = layOutLanes(summary, options);
    const LaneLayoutOptions pinned =
        applied(summary, layout, options, LaneAction::kPin, layout.row(kOperators));
    layout = layOutLanes(summary, pinned);
    ASSERT_EQ(layout.pinned, 1U);
    EXPECT_EQ(layout.rows[0].name, u"rank 0 · main thread 2910249"_s);
    EXPECT_EQ(layout.row(kPython), &layout.rows[0]) << "and nowhere else";
    EXPECT_EQ(named(layout, u"main thread 2910249"_s), nullptr);
    const auto two = applied(summary, layout, pinned, LaneAction::kPin, layout.row({{0}, {4098}}));
    layout = layOutLanes(summary, two);
    ASSERT_EQ(layout.pinned, 2U);
    const auto moved = applied(summary, layout, two, LaneAction::kMoveDown, &layout.rows[0]);
    layout = layOutLanes(summary, moved);
    EXPECT_EQ(layout.row(kPython), &layout.rows[1]);
    EXPECT_EQ(layout.rows[1].parts.size(), 4U);
    const auto back = applied(summary, layout, moved, LaneAction::kPin, &layout.rows[1]);
    EXPECT_EQ(layOutLanes(summary, back).pinned, 1U);

    layout = layOutLanes(summary, options);
    options = applied(summary, layout, options, LaneAction::kHide, layout.row(kOperators));
    EXPECT_EQ(layOutLanes(summary, options).row(kCalls), nullptr);
    const auto found = revealing(summary, options, kOperators);
    layout = layOutLanes(summary, found);
    EXPECT_EQ(layout.row(kOperators)->kind, LaneRow::Kind::kSpans) << "the others stay hidden";
}

TEST(LaneTracks, AFilterLeavesOfATrackWhatItFinds) {
    LaneLayoutOptions options = nested();
    options.filter = u"python"_s;
    EXPECT_THAT(names(layOutLanes(imported(), options)),
                ElementsAre(u"rank 0"_s, u"main thread 2910249"_s, u"Python"_s));
    options.filter = u"cuda"_s;
    EXPECT_EQ(layOutLanes(imported(), options).row(kCalls)->kind, LaneRow::Kind::kSpans);
}

TEST(LaneTracks, KindsAreShownApartAndNestedAgain) {
    const RecordingSummary summary = imported();
    LaneLayoutOptions options = nested();
    const LaneLayout layout = layOutLanes(summary, options);
    const auto choice = [&] {
        const auto choices = laneChoices(nullptr, options);
        return std::ranges::find(choices, LaneAction::kKinds, &LaneChoice::action)->text;
    };
    const QString apart = choice();
    options = applied(summary, layout, options, LaneAction::kKinds, nullptr);
    EXPECT_EQ(names(layOutLanes(summary, options)), names(layOutLanes(summary, {})));
    EXPECT_NE(choice(), apart);
    options = applied(summary, layout, options, LaneAction::kKinds, nullptr);
    EXPECT_EQ(names(layOutLanes(summary, options)), names(layout));
}

TEST(LaneFolds, ManyRanksAreFoldedAtFirst) {
    EXPECT_THAT(firstOptions(ranksOf(4)).collapsed, IsEmpty());
    const RecordingSummary eight = ranksOf(8);
    const LaneLayout layout = layOutLanes(eight, firstOptions(eight));
    EXPECT_EQ(layout.rows.size(), 16U) << "a name and a summary each";
    EXPECT_FALSE(layout.rows[1].thin);
    LaneLayoutOptions options =
        applied(eight, layout, firstOptions(eight), LaneAction::kUnfoldAll, nullptr);
    EXPECT_NE(layOutLanes(eight, options).row({{7}, {3}}), nullptr);
    options = applied(eight, layout, options, LaneAction::kFoldAll, nullptr);
    EXPECT_EQ(layOutLanes(eight, options).height, layout.height);
}

TEST(LaneFolds, AnImportedRankLeavesASummaryOfItsStreams) {
    LaneLayoutOptions options;
    options.collapsed.insert(RankId{0});
    const LaneLayout layout = layOutLanes(imported(), options);
    ASSERT_EQ(layout.rows.size(), 2U);
    EXPECT_THAT(
        layout.rows[1].parts,
        ElementsAre(LaneAddress{{0}, {4099}}, LaneAddress{{0}, {4098}}, LaneAddress{{0}, {4096}}))
        << "kernels over collectives over copies";
}

TEST(LaneChoices, PinnedLanesStandOnTopAndSayWhoseTheyAre) {
    const RecordingSummary summary = imported();
    LaneLayoutOptions options;
    LaneLayout layout = layOutLanes(summary, options);
    const LaneAddress kernels{{0}, {4096}};
    options = applied(summary, layout, options, LaneAction::kPin, layout.row(kernels));
    layout = layOutLanes(summary, options);
    ASSERT_EQ(layout.pinned, 1U);
    EXPECT_EQ(layout.rows[0].key, kernels);
    EXPECT_EQ(layout.rows[0].name, u"rank 0 · GPU 0 · stream 7 · kernels"_s);
    EXPECT_EQ(layout.row(kernels), &layout.rows[0]) << "and nowhere else";
    EXPECT_GE(layout.rows[1].y, layout.pinnedHeight);
    EXPECT_THAT(layout.loadedLanes(5000, 5001), Contains(kernels)) << "however far one scrolls";
    options = applied(summary, layout, options, LaneAction::kPin, &layout.rows[0]);
    EXPECT_EQ(layOutLanes(summary, options).pinned, 0U);
}

TEST(LaneChoices, HiddenLanesComeBack) {
    const RecordingSummary summary = ranksOf(1);
    LaneLayoutOptions options;
    const LaneLayout layout = layOutLanes(summary, options);
    options = applied(summary, layout, options, LaneAction::kHide, layout.row({{0}, {2}}));
    EXPECT_EQ(layOutLanes(summary, options).row({{0}, {2}}), nullptr);
    const auto choices = laneChoices(nullptr, options);
    EXPECT_EQ(choices.front().action, LaneAction::kShowHidden);
    options = applied(summary, layout, options, LaneAction::kShowHidden, nullptr);
    EXPECT_EQ(layOutLanes(summary, options).height, layout.height);
}

TEST(LaneChoices, LanesMoveWithinTheirGroupAndRanksAmongRanks) {
    const RecordingSummary summary = ranksOf(2);
    LaneLayoutOptions options;
    LaneLayout layout = layOutLanes(summary, options);
    options = applied(summary, layout, options, LaneAction::kMoveUp, layout.row({{0}, {3}}));
    layout = layOutLanes(summary, options);
    EXPECT_THAT(names(layout), ElementsAre(u"rank 0"_s, u"step"_s, u"compute"_s, u"communication"_s,
                                           u"operators"_s, u"rank 1"_s, u"step"_s, u"compute"_s,
                                           u"operators"_s, u"communication"_s));
    options = applied(summary, layout, options, LaneAction::kMoveDown, &layout.rows[0]);
    layout = layOutLanes(summary, options);
    EXPECT_EQ(layout.rows[0].name, u"rank 1"_s);
    options = applied(summary, layout, options, LaneAction::kMoveUp, &layout.rows[0]);
    EXPECT_EQ(layOutLanes(summary, options).rows[0].name, u"rank 1"_s) << "it is at the top";
    EXPECT_EQ(layOutLanes(summary, options).height, layout.height);
}

TEST(LaneChoices, AFilterLooksAtNamesGroupsAndRanks) {
    const auto shown = [](const RecordingSummary& summary, const QString& filter) {
        LaneLayoutOptions options = firstOptions(summary);
        options.filter = filter;
        return names(layOutLanes(summary, options));
    };
    EXPECT_THAT(shown(imported(), u"python"_s),
                ElementsAre(u"rank 0"_s, u"main thread 2910249"_s, u"Python"_s));
    EXPECT_THAT(shown(imported(), u"STREAM 40"_s),
                ElementsAre(u"rank 0"_s, u"GPU 0 · stream 40 (communication)"_s, u"collectives"_s));
    EXPECT_THAT(shown(imported(), u"nowhere"_s), IsEmpty());
    EXPECT_THAT(shown(ranksOf(8), u"rank 7"_s), ElementsAre(u"rank 7"_s, u"step"_s, u"compute"_s,
                                                            u"operators"_s, u"communication"_s));
}

TEST(LaneChoices, WhatARowOffersIsWhatItCanDo) {
    const RecordingSummary summary = imported();
    LaneLayoutOptions options;
    options.depths[{{0}, {6}}] = 20;
    options.toggled.insert({RankId{0}, u"counters"_s});
    const LaneLayout layout = layOutLanes(summary, options);
    const auto offers = [&](const LaneRow* row, LaneAction action) {
        const auto choices = laneChoices(row, options);
        return std::ranges::any_of(
            choices, [action](const LaneChoice& choice) { return choice.action == action; });
    };
    EXPECT_TRUE(offers(layout.row({{0}, {6}}), LaneAction::kLevels));
    EXPECT_FALSE(offers(layout.row({{0}, {5}}), LaneAction::kLevels));
    EXPECT_TRUE(offers(layout.row({{0}, {12288}}), LaneAction::kTaller));
    EXPECT_FALSE(offers(layout.row({{0}, {5}}), LaneAction::kTaller));
    EXPECT_TRUE(offers(&layout.rows[0], LaneAction::kFold));
    EXPECT_FALSE(offers(&layout.rows[0], LaneAction::kPin));
    EXPECT_TRUE(offers(nullptr, LaneAction::kFilter));
}

TEST(StickyHeaders, OfWhatIsInSight) {
    const LaneLayout layout = layOutLanes(imported(), {});
    EXPECT_EQ(layout.stickyAt(0).rank, nullptr) << "it is in its place";
    const LaneRow* operators = named(layout, u"operators"_s);
    const StickyHeaders sticky = layout.stickyAt(operators->y);
    ASSERT_NE(sticky.rank, nullptr);
    EXPECT_EQ(sticky.rank->name, u"rank 0"_s);
    EXPECT_EQ(sticky.rankY, 0);
    ASSERT_NE(sticky.group, nullptr);
    EXPECT_EQ(sticky.group->name, u"main thread 2910249"_s);
    EXPECT_LE(sticky.groupY, sticky.rank->height);
    EXPECT_EQ(layOutLanes({}, {}).stickyAt(10).rank, nullptr);
}

TEST(StickyHeaders, TheNextRankPushesTheOneBefore) {
    const LaneLayout layout = layOutLanes(ranksOf(2), {});
    const LaneRow* next = named(layout, u"rank 1"_s);
    const StickyHeaders sticky = layout.stickyAt(next->y - 10);
    ASSERT_NE(sticky.rank, nullptr);
    EXPECT_EQ(sticky.rank->name, u"rank 0"_s);
    EXPECT_EQ(sticky.rankY, 10 - sticky.rank->height);
    EXPECT_EQ(layout.stickyAt(next->y + 1).rank, next);
}

TEST(HeatMap, AThousandRanksAreThinRowsAndOnlyThoseInSightAreLoaded) {
    const RecordingSummary summary = ranksOf(1024);
    LaneLayoutOptions options = firstOptions(summary);
    options.thinHeight = 8;
    LaneLayout layout = layOutLanes(summary, options);
    EXPECT_EQ(layout.height, 1024 * 8);
    EXPECT_TRUE(layout.rows[5].thin);
    const auto loaded = layout.loadedLanes(800, 1600);
    EXPECT_EQ(loaded.size(), 100U);
    EXPECT_EQ(loaded.front(), (LaneAddress{{100}, {1}}));
    EXPECT_EQ(layout.between(800, 1600).size(), 200U);
    options = applied(summary, layout, options, LaneAction::kFold, layout.rowAt(801));
    layout = layOutLanes(summary, options);
    EXPECT_NE(layout.row({{100}, {2}}), nullptr) << "its lanes are there now";
    EXPECT_EQ(layout.row({{101}, {2}}), nullptr);
}

TEST(HeatMap, RanksStandInTheOrderThatIsAskedFor) {
    const RecordingSummary summary = ranksOf(20);
    LaneLayoutOptions options = firstOptions(summary);
    options.rankOrder = {{7}, {3}, {7}, {99}};
    const LaneLayout layout = layOutLanes(summary, options);
    EXPECT_EQ(layout.rows[0].name, u"rank 7"_s);
    EXPECT_EQ(layout.rows[2].name, u"rank 3"_s);
    EXPECT_EQ(layout.rows[4].name, u"rank 0"_s);
    EXPECT_EQ(layout.rows.size(), 40U);
}

}  // namespace
}  // namespace shardscope::desktop
