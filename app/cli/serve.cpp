// `shardscope serve`: answers who reads a recording from afar. Not for people: it speaks frames on
// its standard input and output (storage/recording/remote).
#include "storage/recording/remote/serve.h"

#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/remote_serving.h"
#include "app/cli/shared_options.h"
#include "storage/recording/file/writer_lock.h"

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>

namespace shardscope::cli {
namespace {

struct ServeArguments {
    bool stdio = false;
    std::string at;
    std::string sshCommand;
};

/// What it still answers, nobody reads.
constexpr unsigned kSecondsAfterHangUp = 5;

int serveHere() {
    // A reader that has gone shows as an error of write, not as our death.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    storage::remote::ServeOptions options;
    options.onHangUp = [] { ::alarm(kSecondsAfterHangUp); };
    options.isBeingWritten = storage::isBeingWritten;
    const auto served = storage::remote::serve(STDIN_FILENO, STDOUT_FILENO, options);
    if (served) return 0;
    tellError(served.error().message);
    return exitStatus(served.error());
}

int run(const ServeArguments& arguments) {
    if (!arguments.at.empty()) return serveFrom(arguments.at, arguments.sshCommand);
    if (arguments.stdio) return serveHere();
    tellError(
        "serve takes --stdio, or --at HOST; people open ssh://HOST/PATH with report, info, "
        "query, export or shardscope-desktop");
    return static_cast<int>(ErrorCode::kUsage);
}

}  // namespace

Command addServe(CLI::App& root) {
    CLI::App* app = root.add_subcommand("serve", "answer who reads recordings (internal)");
    app->group("");  // hidden from --help
    const auto arguments = std::make_shared<ServeArguments>();
    auto* stdio = app->add_flag("--stdio", arguments->stdio,
                                "answer on standard input and output, of files of this machine");
    app->add_option("--at", arguments->at, "the same of another host, through ssh")
        ->type_name("[USER@]HOST")
        ->excludes(stdio);
    addSshCommand(*app, arguments->sshCommand);
    return {app, [arguments] { return run(*arguments); }};
}

}  // namespace shardscope::cli
