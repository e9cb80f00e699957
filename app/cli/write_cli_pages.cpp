// Writes manual pages and completions of `shardscope` into a folder, and the page of
// shardscope-rank into another. Run by the build.
#include "app/cli/cli_help.h"
#include "app/cli/root_command.h"
#include "app/cli/version.h"
#include "app/manual/write_pages.h"

#include <CLI/CLI.hpp>

#include <cstdio>

namespace {

/// It takes nothing that a person would type.
shardscope::manual::Program rankHelp() {
    using namespace shardscope;
    manual::Program program{"shardscope-rank", cli::productVersion(), {}, {}};
    program.itself.summary = "one training rank of shardscope";
    program.itself.sections = {
        {"Description",
         {"Started by shardscope record, one process per rank, and by shardscope doctor;",
          "never by hand. It trains with LibTorch, and records what it does."}}};
    return program;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace shardscope;
    if (argc != 3) {
        std::fputs("shardscope_cli_pages FOLDER FOLDER-OF-RANK\n", stderr);
        return 2;
    }
    CLI::App root;
    const auto commands = cli::addCommands(root);
    auto done = manual::writePages(cli::programHelp(root), {"shardscope-desktop(1)"}, argv[1]);
    if (done) done = manual::writeManPages(rankHelp(), {"shardscope-record(1)"}, argv[2]);
    if (done) return 0;
    std::fprintf(stderr, "shardscope_cli_pages: %s\n", done.error().message.c_str());
    return 1;
}
