// `shardscope agent`: the far end of a run on a host. Not for people: it speaks frames on its
// standard input and output.
#include "engine/launch/agent.h"

#include "app/cli/command.h"
#include "app/cli/version.h"

#include <csignal>

namespace shardscope::cli {
namespace {

int runAgent() {
    // A recorder that has gone shows as an error of write, not as our death.
    std::signal(SIGPIPE, SIG_IGN);
    launch::Agent agent(launch::FrameChannel(launch::FileDescriptor(0), launch::FileDescriptor(1)),
                        productVersion());
    return agent.run();
}

}  // namespace

Command addAgent(CLI::App& root) {
    CLI::App* app = root.add_subcommand("agent", "start ranks for a recorder (internal)");
    app->group("");  // hidden from --help
    return {app, runAgent};
}

}  // namespace shardscope::cli
