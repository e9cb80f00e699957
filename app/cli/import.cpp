// `shardscope import`: other tools' traces into a recording.
#include "storage/interchange/import.h"

#include "app/cli/command.h"
#include "app/cli/report_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>

namespace shardscope::cli {
namespace {

using interchange::ImportAccount;
using Json = nlohmann::ordered_json;

struct ImportCommandOptions {
    std::vector<std::string> inputs;
    interchange::ImportOptions import;
    bool json = false;
    bool quiet = false;
};

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void onInterrupt(int) {
    interrupted = true;
}

/// SIGINT and SIGTERM end the import at its next look, so that it can remove its file.
class InterruptGuard {
public:
    InterruptGuard() {
        interrupted = false;
        struct sigaction action {};
        action.sa_handler = onInterrupt;
        sigaction(SIGINT, &action, &m_interrupt);
        sigaction(SIGTERM, &action, &m_terminate);
    }
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;
    ~InterruptGuard() {
        sigaction(SIGINT, &m_interrupt, nullptr);
        sigaction(SIGTERM, &m_terminate, nullptr);
    }

private:
    struct sigaction m_interrupt {};
    struct sigaction m_terminate {};
};

/// A live line on a terminal, nothing elsewhere.
class ProgressLine {
public:
    explicit ProgressLine(bool wanted) : m_wanted(wanted && isatty(STDERR_FILENO) != 0) {}
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
    ~ProgressLine() {
        if (m_shown) fmt::print(stderr, "\r\033[K");
    }
    void show(double share) {
        const auto now = std::chrono::steady_clock::now();
        if (!m_wanted || now - m_last < std::chrono::milliseconds(100)) return;
        m_last = now;
        m_shown = true;
        // Standard input has no size, so its share is not known.
        if (share > 0)
            fmt::print(stderr, "\r\033[Kimporting: {:.0f} %", share * 100);
        else
            fmt::print(stderr, "\r\033[Kimporting ...");
        std::fflush(stderr);
    }

private:
    bool m_wanted;
    bool m_shown = false;
    std::chrono::steady_clock::time_point m_last;
};

Json accountJson(const ImportAccount& account, const std::string& output) {
    return {{"schema", "shardscope.import/1"},
            {"output", output},
            {"events",
             {{"read", account.read},
              {"kept", account.kept},
              {"repaired", account.repaired},
              {"rejected", account.rejected()}}},
            {"repairs", account.repairs},
            {"rejections", account.rejections},
            {"notes", account.notes}};
}

std::string accountText(const ImportAccount& account, const std::string& output) {
    std::string text = fmt::format("{}: {} events read, {} kept ({} repaired), {} rejected\n",
                                   output, countText(account.read), countText(account.kept),
                                   countText(account.repaired), countText(account.rejected()));
    for (const auto& [reason, count] : account.repairs)
        text += fmt::format("  repaired  {:>12}  {}\n", countText(count), reason);
    for (const auto& [reason, count] : account.rejections)
        text += fmt::format("  rejected  {:>12}  {}\n", countText(count), reason);
    for (const std::string& note : account.notes) text += fmt::format("  note: {}\n", note);
    return text;
}

int run(ImportCommandOptions options) {
    const InterruptGuard guard;
    Result<ImportAccount> account = failure(ErrorCode::kFailure, "");
    {
        ProgressLine line(!options.quiet && !options.json);
        options.import.progress = [&](double share) {
            line.show(share);
            return !interrupted;
        };
        account = interchange::importTraces(options.inputs, options.import);
    }
    if (!account && account.error().code == ErrorCode::kCancelled) {
        fmt::print(stderr, "shardscope: import interrupted, no file was written\n");
        return static_cast<int>(ErrorCode::kInterrupted);
    }
    if (!account) {
        fmt::print(stderr, "shardscope: {}\n", account.error().message);
        return exitStatus(account.error());
    }
    if (options.json)
        fmt::print("{}\n", accountJson(*account, options.import.output)
                               .dump(2, ' ', false, Json::error_handler_t::replace));
    else if (!options.quiet)
        fmt::print("{}", accountText(*account, options.import.output));
    return 0;
}

}  // namespace

Command addImport(CLI::App& root) {
    auto options = std::make_shared<ImportCommandOptions>();
    CLI::App* app = root.add_subcommand("import", "make a recording of other tools' traces");
    app->footer(
        "Reads traces of PyTorch's profiler (Kineto, Chrome JSON), plain or gzip, and exports of\n"
        "Nsight Systems (nsys export --type sqlite), in constant memory. What a file is,\n"
        "is recognised by its content. Several files, or a folder with one file a rank, become one\n"
        "recording with their clocks aligned.\n\n"
        "Examples:\n"
        "  shardscope import trace.json.gz --output run.sscope\n"
        "  shardscope import traces/ --output run.sscope --strict\n"
        "  zcat trace.json.gz | shardscope import - --output run.sscope");
    app->add_option("inputs", options->inputs, "traces, or folders of them; - is standard input")
        ->required();
    app->add_option("-o,--output", options->import.output, "recording to write")->required();
    app->add_flag("--force", options->import.overwrite, "replace an existing file");
    app->add_flag("--strict", options->import.strict, "fail when an event cannot be read");
    app->add_flag("--json", options->json,
                  "print the account as one JSON document, schema shardscope.import/1");
    app->add_flag("--quiet", options->quiet, "print errors only");
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli
