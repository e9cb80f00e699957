#include "engine/launch/program/process_evidence.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <vector>

namespace shardscope::launch {
namespace {

// As profiler/inject/python/shardscope/_hook/roles.py has them, for processes without that hook.
constexpr std::array<std::string_view, 5> kLauncherScripts = {"torchrun", "accelerate-launch",
                                                              "deepspeed", "horovodrun", "mpirun"};
constexpr std::array<std::string_view, 5> kLauncherModules = {
    "torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch",
    "deepspeed.launcher.runner", "deepspeed.launcher.launch"};
/// Of multiprocessing and PyTorch, anywhere on the command line.
constexpr std::array<std::string_view, 5> kHelpers = {"resource_tracker", "semaphore_tracker",
                                                      "multiprocessing.forkserver",
                                                      "torch_shm_manager", "compile_worker"};

std::string_view fileName(std::string_view path) {
    return path.substr(path.rfind('/') + 1);  // none: npos + 1 is 0
}

template <std::size_t N>
bool isOneOf(std::string_view word, const std::array<std::string_view, N>& list) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

/// Of "torchrun ...", "python /usr/bin/torchrun ..." and "python -m torch.distributed.run ...".
bool isLauncher(const std::vector<std::string>& words) {
    for (std::size_t at = 0; at < std::min<std::size_t>(words.size(), 4); ++at) {
        const std::string_view file = fileName(words[at]);
        if (isOneOf(file, kLauncherScripts) || isOneOf(words[at], kLauncherModules)) return true;
        if (file == "accelerate") return at + 1 < words.size() && words[at + 1] == "launch";
        if (at > 0 && words[at].front() != '-' && words[at - 1] != "-m") return false;
    }
    return false;
}

}  // namespace

ProcessRole roleByCommand(const std::string& name, const std::string& command) {
    // PyTorch calls them so since 2.6.
    if (name.starts_with("pt_data_worker")) return ProcessRole::kLoader;
    for (const std::string_view each : kHelpers)
        if (command.find(each) != std::string::npos) return ProcessRole::kHelper;
    std::istringstream in(command);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return isLauncher(words) ? ProcessRole::kLauncher : ProcessRole::kOther;
}

}  // namespace shardscope::launch
