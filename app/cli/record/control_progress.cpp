// `--control stdio`: what happens, one JSON object a line on standard output.
#include "app/cli/console.h"
#include "app/cli/record/run_progress.h"
#include "engine/run/config/run_settings.h"
#include "storage/model/plain_text.h"

namespace shardscope::cli {
namespace {

class ControlProgress : public RunProgress {
public:
    void started(const run::RunConfig& config, std::int64_t parameters) override {
        write(run::RunStarted{config.output,
                              run::modelTitle(config.model),
                              toWord(config.strategy),
                              config.ranks,
                              config.steps,
                              parameters,
                              {}});
    }
    void programStarted(const run::RunStarted& started) override { write(started); }
    void programFigures(const run::ProgramFigures& figures) override { write(figures); }
    void step(const StepProgress& progress) override { write(progress); }
    void validation(std::int32_t step, double loss) override {
        write(run::ValidationDone{step, loss});
    }
    void rank(RankId rank, const char* state, std::int64_t pid) override {
        write(run::RankChanged{static_cast<std::int32_t>(rank.value), state, pid});
    }
    void figures(const run::RankFigures& figures) override { write(figures); }
    void sample(std::int32_t step, const std::string& text) override {
        write(run::SampleText{step, text});
    }
    void host(const run::HostChanged& changed) override { write(changed); }
    void log(const std::string& level, const std::string& text) override {
        write(run::RecorderLog{level, text});
    }
    void finished(const RunEnd& end) override {
        write(run::RunFinished{endWord(end.status), end.output, end.exitStatus, end.message});
    }

private:
    static void write(const run::ProgressEvent& event) {
        // Who reads it and goes closes our input too, which stops the run in order.
        static_cast<void>(print(printableDocument(run::encodeProgress(event)) + '\n'));
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
