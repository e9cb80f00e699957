// The live line, plain lines and quiet kinds of RunProgress.
#include "app/cli/console.h"
#include "app/cli/record/run_progress.h"
#include "engine/run/config/run_settings.h"
#include "storage/model/plain_text.h"
#include "storage/model/quantity_text.h"
#include "storage/model/shell_word.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

namespace shardscope::cli {
namespace {

constexpr std::chrono::seconds kPlainInterval{10};

std::string clockText(double time) {
    const std::int64_t seconds = std::llround(time);
    if (seconds >= 3600) {
        return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    }
    return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
}

std::string stepText(const StepProgress& progress) {
    std::string text = fmt::format("{}/{} steps", progress.step + 1, progress.steps);
    if (progress.loss) text += fmt::format("  loss {:.4f}", *progress.loss);
    if (progress.tokensPerSecond)
        text += fmt::format("  {} tokens/s", grouped(std::llround(*progress.tokensPerSecond)));
    if (progress.memory && progress.memory->count > 0) {
        text += fmt::format("  memory {:.0f} MiB", progress.memory->mebibytes());
    }
    if (progress.blockedFraction) {
        text += fmt::format("  blocked {:.1f} %", 100 * *progress.blockedFraction);
    }
    return text + fmt::format("  ETA {}", clockText(progress.secondsLeft.value_or(0)));
}

/// "node-b: sending the program, 12.1 of 20.4 MB"
std::string hostText(const run::HostChanged& changed) {
    std::string text = fmt::format("{}: {}", changed.name, changed.state);
    if (!changed.detail.empty()) text += ' ' + changed.detail;
    text = printableLine(std::move(text));
    if (changed.all.count > 0)
        text += fmt::format(", {:.1f} of {:.1f} MB", static_cast<double>(changed.sent.count) * 1e-6,
                            static_cast<double>(changed.all.count) * 1e-6);
    else if (changed.sent.count > 0)
        text += fmt::format(", {:.1f} MB", static_cast<double>(changed.sent.count) * 1e-6);
    return text;
}

void printLog(const std::string& level, const std::string& text) {
    const std::string shown = quotedLines(text);
    tell(level == "info" ? shown + '\n' : fmt::format("shardscope: {}: {}\n", level, shown));
}

void printEnd(const RunEnd& end) {
    if (!end.message.empty()) tellError(end.message);
    if (end.output.empty() || !end.kept) return;
    const std::string trained =
        end.stepsKept < end.stepsDone ? fmt::format(" of {} trained", end.stepsDone) : "";
    tellLine(fmt::format("{} {} step{}{}, {} events in {}.",
                         end.status == RunStatus::kFinished ? "Recorded" : "Kept", end.stepsKept,
                         end.stepsKept == 1 ? "" : "s", trained,
                         grouped(static_cast<std::int64_t>(end.events)), end.output));
    tellLine("Next: shardscope report " + typedWord(end.output));
}

class QuietProgress : public RunProgress {
public:
    void started(const run::RunConfig&, std::int64_t) override {}
    void step(const StepProgress&) override {}
    void validation(std::int32_t, double) override {}
    void rank(RankId, const char*, std::int64_t) override {}
    void host(const run::HostChanged&) override {}
    void log(const std::string& level, const std::string& text) override {
        if (level != "info") printLog(level, text);
    }
    void finished(const RunEnd& end) override {
        if (!end.message.empty()) tellError(end.message);
    }
};

class TerminalProgress : public RunProgress {
public:
    explicit TerminalProgress(bool live) : m_live(live) {}

    void started(const run::RunConfig& config, std::int64_t parameters) override {
        const std::int32_t hosts = run::placesOf(config).hosts();
        const std::string threads = config.threads == 0
                                        ? ""
                                        : fmt::format(" of {} {}", config.threads,
                                                      config.threads == 1 ? "thread" : "threads");
        write(fmt::format("Training {} ({} parameters) with {} on {} {}{}{} for {} step{}.",
                          run::modelTitle(config.model), grouped(parameters),
                          toWord(config.strategy), config.ranks,
                          config.ranks == 1 ? "rank" : "ranks", threads,
                          hosts == 1 ? "" : fmt::format(" on {} hosts", hosts), config.steps,
                          config.steps == 1 ? "" : "s"));
    }
    void step(const StepProgress& progress) override {
        if (m_live) {
            m_line = stepText(progress);
            drawLine();
            return;
        }
        const auto now = std::chrono::steady_clock::now();
        if (now < m_nextPlain) return;
        m_nextPlain = now + kPlainInterval;
        write(stepText(progress));
    }
    void validation(std::int32_t step, double loss) override {
        write(fmt::format("step {}: validation loss {:.4f}", step, loss));
    }
    void rank(RankId, const char*, std::int64_t) override {}
    /// Why one has failed is reported at the end.
    void host(const run::HostChanged& changed) override {
        if (changed.state == "failed") return;
        if (m_live) {
            m_line = changed.state == "ready" ? "" : hostText(changed);
            if (m_line.empty()) draw("\r\x1b[K");
            return drawLine();
        }
        run::HostChanged plain = changed;
        plain.sent = plain.all = {};
        const std::string text = hostText(plain);
        if (std::exchange(m_hostTexts[changed.host], text) != text) write(text);
    }
    void log(const std::string& level, const std::string& text) override {
        eraseLine();
        printLog(level, text);
        drawLine();
    }
    void finished(const RunEnd& end) override {
        if (m_live && !m_line.empty()) tell("\n");
        m_line.clear();
        printEnd(end);
    }

private:
    void write(const std::string& text) {
        eraseLine();
        tellLine(text);
        drawLine();
    }
    void eraseLine() const {
        if (m_live && !m_line.empty()) draw("\r\x1b[K");
    }
    void drawLine() const {
        if (!m_live || m_line.empty()) return;
        // A line that wraps could not be erased. The last column stays free: a cursor behind it
        // wraps too.
        const auto columns = terminalColumns(STDERR_FILENO);
        draw(fmt::format("\r{}\x1b[K", columns ? fitted(m_line, *columns - 1) : m_line));
    }

    bool m_live;
    std::string m_line;
    std::map<std::int32_t, std::string> m_hostTexts;  ///< last plain line of each
    std::chrono::steady_clock::time_point m_nextPlain = std::chrono::steady_clock::now();
};

bool isLiveTerminal() {
    const char* terminal = std::getenv("TERM");
    return ::isatty(STDERR_FILENO) == 1 && terminal != nullptr &&
           std::string_view(terminal) != "dumb";
}

}  // namespace

std::unique_ptr<RunProgress> terminalProgress() {
    return std::make_unique<TerminalProgress>(isLiveTerminal());
}

std::unique_ptr<RunProgress> quietProgress() {
    return std::make_unique<QuietProgress>();
}

}  // namespace shardscope::cli
