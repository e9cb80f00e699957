#include "engine/control/observer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace shardscope::control {
namespace {

/// Keeps what is open, as a line each.
class Kept final : public Observer {
public:
    void stepBegin(std::int32_t) override {}
    void stepEnd(const StepReport&) override {}
    void phaseBegin(Phase phase, LayerIndex layer) override {
        lines.push_back("begin " + text(phase, layer));
    }
    void phaseEnd(const PhaseReport& report) override {
        lines.push_back("end " + text(report.phase, report.layer));
        EXPECT_GE(report.startNs, lastNs);
        EXPECT_GE(report.endNs, report.startNs);
        lastNs = report.endNs;
    }
    void collective(const CollectiveReport&) override {}
    void buffer(const BufferReport&) override {}
    void metric(Metric, std::int32_t, double) override {}

    static std::string text(Phase phase, LayerIndex layer) {
        return std::string(toWord(phase)) + " " + std::to_string(layer.value);
    }
    std::vector<std::string> lines;
    std::int64_t lastNs = 0;  ///< phases never overlap
};

TEST(PhaseBreak, EndsTheOpenPhaseAndGoesOnWithIt) {
    Kept kept;
    {
        const PhaseScope forward(&kept, Phase::kForward, LayerIndex{3});
        const PhaseBreak wait(&kept, Phase::kWaitOther, LayerIndex{3});
    }
    const std::string forward = Kept::text(Phase::kForward, {3});
    const std::string wait = Kept::text(Phase::kWaitOther, {3});
    EXPECT_EQ(kept.lines,
              (std::vector<std::string>{"begin " + forward, "end " + forward, "begin " + wait,
                                        "end " + wait, "begin " + forward, "end " + forward}));
}

TEST(PhaseBreak, IsAPhaseWhereNoneIsOpen) {
    Kept kept;
    { const PhaseScope before(&kept, Phase::kForward, LayerIndex{0}); }
    kept.lines.clear();
    { const PhaseBreak wait(&kept, Phase::kWaitOther, LayerIndex{1}); }
    EXPECT_EQ(kept.lines.size(), 2u);
    { const PhaseBreak unseen(nullptr, Phase::kWaitOther, LayerIndex{1}); }
    EXPECT_EQ(kept.lines.size(), 2u);
}

}  // namespace
}  // namespace shardscope::control
