// `shardscope doctor`: what is present, what is missing, what is in the way, and what fixes it.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/doctor/doctor_checks.h"
#include "app/cli/doctor/doctor_probe.h"
#include "app/cli/doctor/doctor_report.h"
#include "app/cli/hosts/run_hosts.h"
#include "app/cli/options.h"
#include "app/cli/version.h"
#include "engine/launch/process.h"
#include "storage/model/result.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

namespace shardscope::cli {
namespace {

namespace fs = std::filesystem;

/// A first load of LibTorch's CUDA part from a slow disk takes a few seconds.
constexpr std::chrono::seconds kPatience{10};

struct DoctorOptions {
    std::string device = "cpu";
    DoctorHosts hosts;
    bool json = false;
};

std::string contents(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string toolkit() {
    for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
        const char* folder = std::getenv(name);
        if (folder == nullptr) continue;
        std::string nvcc = std::string(folder) + "/bin/nvcc";
        if (::access(nvcc.c_str(), X_OK) == 0) return nvcc;
    }
    const std::string found = inPath("nvcc");
    const std::string usual = "/usr/local/cuda/bin/nvcc";
    return found.empty() && ::access(usual.c_str(), X_OK) == 0 ? usual : found;
}

GpuSurroundings surroundings(const std::string& rank, bool wanted) {
    GpuSurroundings around;
    around.wanted = wanted;
    around.moduleFile = fs::exists(fs::path(rank).parent_path() / "libshardscope_cuda.so");
    around.toolkit = toolkit();
    around.toolkitVersion = toolkitVersion(around.toolkit);
    around.pci = pciGpus("");
    for (char** entry = environ; *entry != nullptr; ++entry)
        around.environment.emplace_back(*entry);
    around.profilingRule = contents("/proc/driver/nvidia/params");
    around.root = ::geteuid() == 0;
    return around;
}

Check programCheck(const std::string& rank) {
    if (::access(rank.c_str(), X_OK) == 0) return {"engine.program", CheckStatus::kOk, rank, ""};
    return {"engine.program", CheckStatus::kMissing, "no shardscope-rank at " + rank,
            "packaging/quickstart, which fetches LibTorch and builds it"};
}

std::string known(const std::string& word) {
    return word.empty() ? "?" : word;
}

Check libraryCheck(const ProbeOutcome& probe) {
    const auto* engine = probe.part<run::EnginePart>();
    if (engine == nullptr) {
        return {"engine.libtorch", CheckStatus::kProblem, "shardscope-rank " + probe.problem,
                "packaging/fetch-libtorch, then configure and build again"};
    }
    std::string found =
        fmt::format("LibTorch {}, oneDNN {}, kernels for {}", known(engine->libtorch),
                    known(engine->oneDnn), known(engine->cpuCapability));
    if (engine->computes) return {"engine.libtorch", CheckStatus::kOk, found, ""};
    return {"engine.libtorch", CheckStatus::kProblem,
            found + ": a matrix product gave a wrong result",
            "packaging/fetch-libtorch; look for failing memory when that does not help"};
}

int exitCode(const Diagnosis& diagnosis, bool wanted) {
    if (!diagnosis.cpu) return static_cast<int>(ErrorCode::kFailure);
    return wanted && !diagnosis.cuda ? static_cast<int>(ErrorCode::kLaunch) : 0;
}

Diagnosis diagnose(bool wanted) {
    const std::string rank = rankProgram();
    Diagnosis diagnosis;
    const auto add = [&](Check check) { diagnosis.checks.push_back(std::move(check)); };
    const auto addAll = [&](const std::vector<Check>& checks) {
        for (const Check& check : checks) add(check);
    };
    add({"shardscope.version", CheckStatus::kOk, productVersion(), ""});
    addAll(hostChecks(""));
    add(programCheck(rank));
    ProbeOutcome probe;
    if (diagnosis.checks.back().status == CheckStatus::kOk) {
        probe = runProbe(rank, kPatience);
        add(libraryCheck(probe));
        diagnosis.cpu = diagnosis.checks.back().status == CheckStatus::kOk;
    }
    addGpuChecks(probe, surroundings(rank, wanted), diagnosis);
    diagnosis.cuda = diagnosis.cuda && diagnosis.cpu;
    addAll(toolChecks(fs::path(launch::ownProgram()).parent_path().string()));
    diagnosis.exitCode = exitCode(diagnosis, wanted);
    return diagnosis;
}

/// As ssh prints them; anything else would be an answer to another question.
std::string isFingerprint(const std::string& text) {
    const bool good = text.starts_with("SHA256:") && text.size() > 20 &&
                      text.find_first_not_of(
                          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                          "0123456789+/=:") == std::string::npos;
    return good ? "" : "is not a fingerprint as `shardscope doctor --hosts` prints it: SHA256:...";
}

/// A check of this machine alone trusts no host key.
Result<void> checkHostsNamed(const DoctorOptions& options) {
    if (!options.hosts.hosts.empty() || options.hosts.acceptKey.empty()) return {};
    return failure(ErrorCode::kUsage, "--accept-key is about other hosts; name them with --hosts");
}

int run(const DoctorOptions& options) {
    if (const auto named = checkHostsNamed(options); !named) {
        tellError(named.error().message);
        return exitStatus(named.error());
    }
    if (!options.hosts.hosts.empty()) {
        DoctorHosts hosts = options.hosts;
        hosts.json = options.json;
        return diagnoseHosts(hosts);
    }
    const Diagnosis diagnosis = diagnose(options.device == "cuda");
    return printLast(options.json ? doctorJson(diagnosis) + '\n' : doctorText(diagnosis),
                     diagnosis.exitCode);
}

}  // namespace

Command addDoctor(CLI::App& root) {
    auto options = std::make_shared<DoctorOptions>();
    CLI::App* app = addVerb(root, "doctor",
                            "say what is present, what is missing, and the command that fixes it");
    setFooter(
        *app,
        "Exit status: 0 training on the CPU works, 1 it does not, 4 (--device cuda) training on\n"
        "a GPU does not, or (--hosts) a host cannot run ranks.\n\nExamples:\n"
        "  shardscope doctor\n  shardscope doctor --device cuda\n"
        "  shardscope doctor --hosts node-a,node-b");
    addOption(*app, "--device", options->device, "what has to work: cpu or cuda (default: cpu)")
        .oneOf({"cpu", "cuda"});
    addOption(*app, "--hosts", options->hosts.hosts,
              "check these hosts instead of this one: a host file or a list")
        .takes("FILE|LIST");
    addOption(*app, "--ssh-command", options->hosts.sshCommand,
              "ssh and its first arguments, as 'ssh -F FILE' [ssh]")
        .takes("WORDS");
    addOption(*app, "--accept-key", options->hosts.acceptKey,
              "(--hosts) trust the unknown host key with this fingerprint from now on")
        .takes("SHA256:...")
        .checkedBy(isFingerprint);
    addJson(*app, options->json, "shardscope.doctor/1");
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli
