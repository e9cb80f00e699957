// `shardscope agent`: the far end of a run on a host. Not for people: it speaks frames on its
// standard input and output.
#include "engine/launch/agent.h"

#include "app/cli/command.h"
#include "app/cli/version.h"
#include "engine/launch/process.h"
#include "engine/launch/user_folder.h"

#include <csignal>
#include <filesystem>
#include <memory>

namespace shardscope::cli {
namespace {

int runAgent(bool local) {
    // A recorder that has gone shows as an error of write, not as our death.
    std::signal(SIGPIPE, SIG_IGN);
    // The terminal is the recorder's business; ranks inherit this.
    std::signal(SIGHUP, SIG_IGN);
    launch::AgentTimes times;
    times.leased = !local;
    // Where the program was put, beside it: /tmp may be memory.
    if (!local)
        times.spillFolder =
            std::filesystem::path(launch::ownProgram()).parent_path().parent_path().string();
    if (!local)
        if (auto folder = launch::makeUserFolder("agents")) times.stateFolder = *folder;
    launch::Agent agent(launch::FrameChannel(launch::FileDescriptor(0), launch::FileDescriptor(1)),
                        productVersion(), times, {launch::ownProgram(), "data-sum"});
    return agent.run();
}

}  // namespace

Command addAgent(CLI::App& root) {
    CLI::App* app = root.add_subcommand("agent", "start ranks for a recorder (internal)");
    app->group("");  // hidden from --help
    const auto local = std::make_shared<bool>(false);
    app->add_flag("--local", *local, "the recorder is on this host");
    return {app, [local] { return runAgent(*local); }};
}

}  // namespace shardscope::cli
