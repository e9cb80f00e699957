// What a page is told of communication is what the command line says.
#include "profiler/questions/communication.h"

#include "engine/run/config/run_config.h"
#include "profiler/analysis/findings.h"
#include "profiler/planning/calibration_store.h"
#include "profiler/questions/calibrated_limit.h"
#include "profiler/questions/report_reader.h"
#include "storage/columns/chunk.h"
#include "storage/model/host_facts.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/profiler/analysis/made_run.h"
#include "tests/profiler/questions/asking.h"
#include "tests/support/result_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace shardscope::questions {
namespace {

class CommunicationTest : public Questions {
protected:
    Communication read(const Selection& selection = {}) {
        const auto selected = selection.of(m_summary);
        EXPECT_TRUE(selected);
        auto told = readCommunication({*m_reader, *selected, selection});
        EXPECT_TRUE(told);
        return std::move(*told);
    }
    static const Table& tableOf(const Answer& answer, std::string_view key) {
        return *std::find_if(answer.tables.begin(), answer.tables.end(),
                             [&](const Table& table) { return key == table.key; });
    }
};

class LateTest : public CommunicationTest {
protected:
    void write(const test::MadeRun& made) {
        RunFacts run = made.summary.run;
        run.id = "late";
        auto writer = storage::RecordingWriter::create(m_path, run, true);
        ASSERT_THAT(writer, test::IsOk());
        ASSERT_THAT(writer->addHost({}), test::IsOk());
        for (const StepFacts& step : made.summary.steps)
            ASSERT_THAT(writer->addStep(step), test::IsOk());
        for (const RankEvents& each : made.ranks) add(*writer, each);
        ASSERT_THAT(writer->finalise(RunStatus::kFinished, made.summary.steps.back().end),
                    test::IsOk());
    }
    static void add(storage::RecordingWriter& writer, const RankEvents& events) {
        const RankId rank = events.rank;
        RankFacts facts;
        facts.rank = rank;
        ASSERT_THAT(writer.putRank(facts), test::IsOk());
        ASSERT_THAT(writer.addLane({rank, lanes::kPhases.id, LaneRole::kCompute, "compute", "", 0}),
                    test::IsOk());
        ASSERT_THAT(writer.addStrings(rank, {1}, {"phase"}), test::IsOk());
        std::vector<SpanEvent> phases = events.phases;
        for (SpanEvent& phase : phases) {
            phase.lane = lanes::kPhases.id;
            phase.name = {1};
        }
        ASSERT_THAT(writer.addChunk(columns::encodeSpans(rank, phases)), test::IsOk());
        ASSERT_THAT(writer.addChunk(columns::encodeCollectives(rank, events.collectives)),
                    test::IsOk());
    }
};

TEST_F(LateTest, IsAsLateInAReportAsWhereItIsAskedFor) {
    test::MadeRun made([](int) { return test::Lateness{1, 300'000}; }, true, 3);
    for (SpanEvent& phase : made.ranks[0].phases)  // which sets its step aside
        if (phase.step == StepIndex{7}) phase.phase = Phase::kEvaluation;
    write(made);
    auto reader = storage::openRecording(m_path);
    ASSERT_THAT(reader, test::IsOk());
    m_reader = std::move(*reader);
    m_summary = *m_reader->summary();
    const auto report = readReport(*m_reader, m_summary);
    ASSERT_THAT(report, test::IsOk());
    const auto found = std::find_if(report->findings.begin(), report->findings.end(),
                                    [](const auto& each) { return each.code == "late-rank"; });
    ASSERT_NE(found, report->findings.end());
    const auto evidence = [&](std::string_view name) {
        return std::find_if(found->evidence.begin(), found->evidence.end(),
                            [&](const auto& each) { return each.name == name; })
            ->value;
    };
    const Answer answer = ask("late");
    const Table& ranks = tableOf(answer, "ranks");
    EXPECT_EQ(whole(ranks, 0, "blocked_ns"), evidence("blocked_ns"));
    EXPECT_EQ(whole(ranks, 0, "steps_led"), evidence("steps_led"));
    EXPECT_EQ(evidence("steps"), test::kSteps - 2 - 1) << "warm-up, and what is set aside";
    EXPECT_EQ(number(ranks, 0, "share_pct"), 100 * evidence("share"));
    const auto figure = [&](std::string_view key) {
        return *std::find_if(answer.figures.begin(), answer.figures.end(), [&](const Figure& each) {
                    return key == each.what.key;
                })->value.integer();
    };
    EXPECT_EQ(figure("cost_ns"), found->cost->ns);
    EXPECT_EQ(2 * figure("lateness_ns"), whole(ranks, 0, "blocked_ns"));
    EXPECT_THAT(found->detail, testing::HasSubstr(durationText({whole(ranks, 0, "blocked_ns")})));
}

TEST_F(CommunicationTest, SaysOfLayersWhatOverlapSays) {
    record();
    Selection steps;
    steps.steps = {{{2}, {4}}};
    for (const Selection& selection : {Selection{}, steps}) {
        const Communication told = read(selection);
        const Answer answer = ask("overlap", Mode::kExact, selection);
        const Table& layers = tableOf(answer, "layers");
        std::size_t row = 0;
        for (const auto& [kind, sum] : told.byLayer) {
            if (kind.first == kNoLayer) continue;
            ASSERT_LT(row, layers.rows.size());
            EXPECT_EQ(whole(layers, row, "layer"), kind.first.value);
            EXPECT_EQ(whole(layers, row, "count"), sum.count);
            EXPECT_EQ(whole(layers, row, "hidden_ns"), sum.hidden.ns);
            EXPECT_EQ(whole(layers, row, "waiting_ns"), sum.waiting.ns);
            EXPECT_EQ(whole(layers, row, "moving_ns"), sum.moving.ns);
            ++row;
        }
        EXPECT_EQ(row, layers.rows.size());
        EXPECT_GT(row, 0u);
    }
}

TEST_F(CommunicationTest, HasTheCollectivesThatAreListed) {
    record();
    const Communication told = read();
    const Answer answer = ask("collectives");
    const Table& listed = tableOf(answer, "collectives");
    ASSERT_EQ(told.transfers.size(), listed.rows.size());
    std::int64_t waited = 0, waitedThere = 0;
    for (std::size_t row = 0; row < listed.rows.size(); ++row) {
        waited += told.transfers[row].waited.ns;
        waitedThere += whole(listed, row, "waited_ns");
    }
    EXPECT_EQ(waited, waitedThere);
    EXPECT_GT(waited, 0);
    EXPECT_EQ(told.classes.size(), tableOf(answer, "operations").rows.size());
    ASSERT_TRUE(told.groups.contains(0));
    EXPECT_EQ(told.groups.at(0), (std::vector<RankId>{{0}, {1}}));
}

TEST_F(CommunicationTest, NamesLastComersAsTheReportDoes) {
    test::SampleOptions options;
    options.ranks = 4;
    record(options);
    const Communication told = read();
    const auto report = readReport(*m_reader, m_summary);
    ASSERT_TRUE(report);
    ASSERT_EQ(told.skew.ranks.size(), report->waiting.size());
    ASSERT_FALSE(report->waiting.empty());
    for (std::size_t i = 0; i < report->waiting.size(); ++i) {
        EXPECT_EQ(told.skew.ranks[i].rank, report->waiting[i].late);
        EXPECT_EQ(told.skew.ranks[i].waited, report->waiting[i].waited);
        EXPECT_EQ(told.skew.ranks[i].collectives, report->waiting[i].collectives);
    }
    EXPECT_EQ(told.skew.unknown, report->unknown.collectives);
}

TEST_F(CommunicationTest, ReasonsAddUpToWhatIsExposed) {
    record();
    const Communication told = read();
    Duration byLayer, byReason;
    for (const auto& [kind, sum] : told.byLayer) byLayer += sum.exposed();
    for (const auto& sum : told.reasons) byReason += sum.exposed;
    EXPECT_EQ(byLayer, byReason);
    EXPECT_GT(byReason.ns, 0);
}

TEST_F(CommunicationTest, OfOneRankCollectivesAreTimedOverAllRanksThatTookPart) {
    record();
    Selection one;
    one.ranks = {RankId{1}};
    EXPECT_EQ(toJson({ask("collectives")}), toJson({ask("collectives", Mode::kExact, one)}));
    one.steps = {{StepIndex{3}, StepIndex{4}}};
    Selection steps = one;
    steps.ranks.clear();
    EXPECT_EQ(toJson({ask("collectives", Mode::kExact, steps)}),
              toJson({ask("collectives", Mode::kExact, one)}));
}

TEST_F(CommunicationTest, SaysOfHowManyStepsAndRanksItsSumsAre) {
    record();
    EXPECT_EQ(read().rankSteps, m_summary.steps.size());
    Selection some;
    some.ranks = {RankId{1}};
    some.steps = {{StepIndex{3}, StepIndex{4}}};
    EXPECT_EQ(read(some).rankSteps, 2U);
}

TEST_F(CommunicationTest, OfOneRankNothingIsTold) {
    test::SampleOptions options;
    options.ranks = 1;
    record(options);
    const Communication told = read();
    EXPECT_EQ(told.skew.known, 0);
    for (const auto& transfer : told.transfers) EXPECT_FALSE(transfer.transfer);
}

// The most that could be hidden over a link as it was calibrated.

class CalibratedLimits : public Questions {
protected:
    void SetUp() override {
        ::setenv("XDG_STATE_HOME", m_folder.file("state").c_str(), 1);
        record();
        for (const RankFacts& rank : m_summary.ranks)
            m_ranks.push_back(*m_reader->rankEvents(rank.rank, m_summary.bounds));
        m_config = *run::parseRunConfigJson(m_summary.run.configJson);
    }
    void TearDown() override { ::unsetenv("XDG_STATE_HOME"); }

    planning::Calibration costing(double alphaNs, double nsPerByte) const {
        planning::Calibration calibration;
        calibration.host = m_summary.hosts.front().name;
        calibration.kind = m_config.device;
        calibration.cores = 2;
        for (const CollectiveOp operation : kAll<CollectiveOp>) {
            planning::CollectiveCost cost;
            cost.operation = operation;
            cost.communicator = run::communicatorOf(m_config);
            cost.ranks = m_config.ranks;
            cost.hosts = std::max(1, run::placesOf(m_config).hosts());
            cost.fit = {alphaNs, nsPerByte, 3};
            cost.unixS = 1;
            calibration.collectives.push_back(cost);
        }
        return calibration;
    }
    std::vector<RankEvents> m_ranks;
    run::RunConfig m_config;
};

TEST_F(CalibratedLimits, AFasterLinkHidesNoLessThanASlowerOne) {
    const auto slow = calibratedLimit(m_summary, m_ranks, costing(1e6, 10));
    const auto fast = calibratedLimit(m_summary, m_ranks, costing(1, 1e-6));
    ASSERT_TRUE(slow && fast);
    EXPECT_GT(slow->collectives, 0);
    EXPECT_EQ(slow->collectives, fast->collectives);
    EXPECT_FALSE(slow->estimated);
    EXPECT_GT(fast->share, slow->share);
    EXPECT_LE(fast->share, 1);
}

TEST_F(CalibratedLimits, WithoutCollectivesOfItsKindThereIsNone) {
    planning::Calibration none = costing(1, 1);
    none.collectives.clear();
    EXPECT_FALSE(calibratedLimit(m_summary, m_ranks, none));
    RecordingSummary foreign = m_summary;
    foreign.run.configJson.clear();
    EXPECT_FALSE(calibratedLimit(foreign, m_ranks, costing(1, 1)));
}

TEST_F(CalibratedLimits, IsSaidOnlyOfAMachineThatWasCalibrated) {
    const auto keys = [](const Answer& answer) {
        std::vector<std::string> all;
        for (const Figure& figure : answer.figures) all.emplace_back(figure.what.key);
        return all;
    };
    EXPECT_THAT(keys(ask("overlap")), testing::Not(testing::Contains("calibrated_limit_pct")));
    ASSERT_TRUE(planning::keepCalibration(costing(1000, 0.1)));
    EXPECT_THAT(keys(ask("overlap")), testing::Contains("calibrated_limit_pct"));
}

}  // namespace
}  // namespace shardscope::questions
