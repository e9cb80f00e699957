// `shardscope import`: other tools' traces into a recording.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/interruptible.h"
#include "app/cli/options.h"
#include "storage/interchange/formats.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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
            {"notes", account.sentences()}};
}

std::string accountText(const ImportAccount& account, const std::string& output) {
    std::string text = asLine(fmt::format(
        "{}: {} events read, {} kept ({} repaired), {} rejected", output, countText(account.read),
        countText(account.kept), countText(account.repaired), countText(account.rejected())));
    for (const auto& [reason, count] : account.repairs)
        text += asLine(fmt::format("  repaired  {:>12}  {}", countText(count), reason));
    for (const auto& [reason, count] : account.rejections)
        text += asLine(fmt::format("  rejected  {:>12}  {}", countText(count), reason));
    for (const std::string& note : account.sentences()) text += asLine("  note: " + note);
    return text;
}

int run(ImportCommandOptions options) {
    const InterruptGuard guard;
    Result<ImportAccount> account = failure(ErrorCode::kFailure, "");
    {
        ProgressLine line("importing", !options.quiet && !options.json);
        options.import.progress = [&](double share) {
            line.show(share);
            return !InterruptGuard::interrupted();
        };
        options.import.waits = [](const std::string& sentence) {
            tellError(sentence + "; Ctrl-C ends the import");
        };
        account = interchange::importTraces(options.inputs, options.import);
    }
    if (!account && account.error().code == ErrorCode::kCancelled) {
        tellError("import interrupted, no file was written");
        return static_cast<int>(ErrorCode::kInterrupted);
    }
    if (!account) {
        tellError(account.error().message);
        return exitStatus(account.error());
    }
    if (options.json)
        return printLast(accountJson(*account, options.import.output)
                             .dump(2, ' ', false, Json::error_handler_t::replace) +
                         '\n');
    return options.quiet ? 0 : printLast(accountText(*account, options.import.output));
}

std::string footer() {
    std::string text = "Reads, in constant memory, and recognises by their content:\n";
    for (const interchange::Format& format : interchange::formats())
        if (*format.reads != '\0') text += fmt::format("  {}\n", format.reads);
    return text +
           "Several files, or a folder with one file per rank, become one recording with their\n"
           "clocks aligned; where these share no start, each begins at 0.\n\n"
           "Examples:\n"
           "  shardscope import trace.json.gz --output run.sscope\n"
           "  shardscope import traces/ --output run.sscope --strict\n"
           "  zcat trace.json.gz | shardscope import - --output run.sscope";
}

}  // namespace

Command addImport(CLI::App& root) {
    auto options = std::make_shared<ImportCommandOptions>();
    CLI::App* app = addVerb(root, "import", "make a recording of other tools' traces");
    setFooter(*app, footer());
    addOption(*app, "inputs", options->inputs, "traces, or folders of them; - is standard input")
        .required();
    addOutput(*app, options->import.output, "recording to write").required();
    addForce(*app, options->import.overwrite, kAnOldRecording);
    addFlag(*app, "--strict", options->import.strict, "fail when an event cannot be read");
    addJson(*app, options->json, "shardscope.import/1");
    addQuiet(*app, options->quiet);
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli
