// `--control stdio`: what happens, one JSON object a line on standard output.
#include "app/cli/console.h"
#include "app/cli/run_progress.h"

#include <nlohmann/json.hpp>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;

Json orNull(const std::optional<double>& value) {
    return value ? Json(*value) : Json();
}

class ControlProgress : public RunProgress {
public:
    void started(const run::RunConfig& config, std::int64_t parameters) override {
        write({{"event", "started"},
               {"output", config.output},
               {"model", config.model.name},
               {"strategy", toWord(config.strategy)},
               {"ranks", config.ranks},
               {"steps", config.steps},
               {"parameters", parameters}});
    }
    void step(const StepProgress& progress) override {
        write({{"event", "step"},
               {"step", progress.step},
               {"steps", progress.steps},
               {"loss", orNull(progress.loss)},
               {"tokens_per_s", orNull(progress.tokensPerSecond)},
               {"learning_rate", orNull(progress.learningRate)},
               {"gradient_norm", orNull(progress.gradientNorm)},
               {"memory_bytes", progress.memory.count},
               {"blocked_fraction", orNull(progress.blockedFraction)},
               {"eta_s", progress.eta.seconds()},
               {"time_s", progress.time.seconds()}});
    }
    void validation(std::int32_t step, double loss) override {
        write({{"event", "validation"}, {"step", step}, {"loss", loss}});
    }
    void rank(RankId rank, const char* state, std::int64_t pid) override {
        write({{"event", "rank"}, {"rank", rank.value}, {"state", state}, {"pid", pid}});
    }
    void log(const std::string& level, const std::string& text) override {
        write({{"event", "log"}, {"level", level}, {"text", text}});
    }
    void finished(const RunEnd& end) override {
        write({{"event", "finished"},
               {"status", endWord(end.status)},
               {"output", end.output},
               {"exit_code", end.exitStatus},
               {"message", end.message}});
    }

private:
    static void write(const Json& json) {
        // Who reads it and goes closes our input too, which stops the run in order.
        static_cast<void>(print(json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'));
    }
};

}  // namespace

std::unique_ptr<RunProgress> controlProgress() {
    return std::make_unique<ControlProgress>();
}

const char* endWord(RunStatus status) {
    switch (status) {
        case RunStatus::kFinished:
            return "finished";
        case RunStatus::kStopped:
            return "stopped";
        case RunStatus::kKilled:
            return "killed";
        case RunStatus::kRecording:
        case RunStatus::kFailed:
            break;
    }
    return "failed";
}

}  // namespace shardscope::cli
