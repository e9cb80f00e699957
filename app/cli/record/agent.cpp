// `shardscope agent`: the far end of a run on a host. Not for people: it speaks frames on its
// standard input and output.
#include "engine/launch/agent.h"

#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/options.h"
#include "app/cli/record/program_peak.h"
#include "app/cli/version.h"
#include "engine/launch/agent_file.h"
#include "engine/launch/process.h"
#include "engine/launch/tasks/task_member.h"

#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace shardscope::cli {
namespace {

int runAgent(bool local, bool launched) {
    // A recorder that has gone shows as an error of write, not as our death.
    std::signal(SIGPIPE, SIG_IGN);
    // The terminal is the recorder's business; ranks inherit this.
    std::signal(SIGHUP, SIG_IGN);
    if (launched) {
        // A launcher's signals go to all that it finds; what they mean is the recorder's business.
        std::signal(SIGINT, SIG_IGN);
        std::signal(SIGTERM, SIG_IGN);
    }
    // Of a folder that is gone, libraries of ranks find nothing by its name.
    std::error_code gone;
    static_cast<void>(std::filesystem::current_path(gone));
    if (gone) std::filesystem::current_path("/", gone);
    launch::AgentTimes times;
    times.leased = !local;
    // Where the program was put, beside it: /tmp may be memory.
    if (!local)
        times.spillFolder =
            std::filesystem::path(launch::ownProgram()).parent_path().parent_path().string();
    if (!local)
        if (auto folder = launch::makeUserFolder("agents")) times.stateFolder = *folder;
    launch::FrameChannel recorder(FileDescriptor(0), FileDescriptor(1));
    std::optional<run::TaskTerms> terms;
    // Reached over a network, by a recorder that a task has met.
    if (launched && !local) {
        auto taken = launch::takeTaskTerms(recorder);
        if (!taken) {
            tellError(taken.error().message);
            return exitStatus(taken.error());
        }
        terms = std::move(*taken);
    }
    launch::Agent agent(std::move(recorder), productVersion(), times,
                        {launch::ownProgram(), "data-sum"}, std::move(terms));
    agent.setPeak(programPeaks());
    return agent.run();
}

}  // namespace

Command addAgent(CLI::App& root) {
    CLI::App* app = addVerb(root, "agent", "start ranks for a recorder (internal)");
    hide(*app);
    struct Flags {
        bool local = false, launched = false;
    };
    const auto flags = std::make_shared<Flags>();
    addFlag(*app, "--local", flags->local, "the recorder is on this host");
    addFlag(*app, "--launched", flags->launched, "of a task of torchrun, mpirun or srun");
    return {app, [flags] { return runAgent(flags->local, flags->launched); }};
}

}  // namespace shardscope::cli
