#include "app/cli/bench/torch_peer.h"

#include "app/cli/hosts/run_hosts.h"
#include "app/cli/interruptible.h"
#include "engine/launch/process.h"
#include "engine/run/config/measurement_plan.h"
#include "engine/run/config/run_config.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/new_file.h"
#include "storage/recording/file/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace shardscope::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kPython = "SHARDSCOPE_PYTHON";
constexpr std::chrono::milliseconds kGlance{20};

/// With a slash as it is, else where PATH has it; empty: nowhere.
std::string pythonProgram() {
    const char* named = std::getenv(kPython);
    const std::string word = named != nullptr && *named != '\0' ? named : "python3";
    if (word.find('/') != std::string::npos) return word;
    std::istringstream folders(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (const std::string path = folder + '/' + word; ::access(path.c_str(), X_OK) == 0)
            return path;
    return {};
}

std::string scriptPath() {
    return (fs::path(launch::ownProgram()).parent_path() / "share" / "torch_collectives.py")
        .string();
}

std::vector<std::string> argumentsOf(const run::RunConfig& config,
                                     const run::MeasurementPlan& plan) {
    std::vector<std::int64_t> bytes;
    for (const Bytes size : plan.sizes) bytes.push_back(run::payloadOf(size, config.ranks).count);
    std::vector<std::string> words;
    for (const CollectiveOp operation : plan.operations) words.emplace_back(toWord(operation));
    return {scriptPath(),
            "--ranks",
            std::to_string(config.ranks),
            "--operations",
            fmt::format("{}", fmt::join(words, ",")),
            "--bytes",
            fmt::format("{}", fmt::join(bytes, ",")),
            "--rounds",
            std::to_string(plan.rounds),
            "--warmup",
            std::to_string(plan.warmup),
            "--threads",
            std::to_string(config.threads)};
}

bool isPeer(const std::string& path) {
    return readPeer(path).has_value();
}
constexpr storage::Replaceable kPeerTimes{"what PyTorch took", isPeer};

/// Standard output into a new file of this name.
Result<launch::ProcessEnd> runToTheEnd(const std::vector<std::string>& arguments,
                                       const std::string& out, const FileDescriptor& toErr) {
    const FileDescriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const FileDescriptor toOut(openNewFile(out));
    if (!input.valid() || !toOut.valid() || !toErr.valid())
        return failure(ErrorCode::kFailure, fmt::format("{} cannot be written", out));
    launch::SpawnRequest request;
    request.program = pythonProgram();
    request.arguments = arguments;
    request.descriptors = {{input.get(), 0}, {toOut.get(), 1}, {toErr.get(), 2}};
    request.ownGroup = true;
    request.dieWithParent = true;
    const auto pid = launch::spawn(request);
    if (!pid) return failure(pid);
    while (true) {
        if (InterruptGuard::interrupted()) ::kill(-*pid, SIGTERM);
        if (const auto end = launch::reap(*pid)) return *end;
        std::this_thread::sleep_for(kGlance);
    }
}

/// Of its last bytes.
std::string lastLineIn(const FileDescriptor& file) {
    std::string text(4096, '\0');
    const off_t size = ::lseek(file.get(), 0, SEEK_END);
    const off_t from = std::max<off_t>(0, size - static_cast<off_t>(text.size()));
    const ssize_t count = ::pread(file.get(), text.data(), text.size(), from);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
    return launch::lastLineOf(text);
}

}  // namespace

std::string peerPath(const std::string& folder, std::int32_t ranks, std::int32_t repetition) {
    return fmt::format("{}/torch_ranks-{}_{}.json", folder, ranks, repetition);
}

bool hasPeer(const run::RunConfig& config) {
    const auto kind = run::communicatorOf(config);
    return config.hosts.empty() &&
           (kind == run::CommunicatorKind::kSharedMemory || kind == run::CommunicatorKind::kGloo);
}

Result<void> measurePeer(const run::RunConfig& asked, const std::string& path) {
    if (readPeer(path)) return {};
    run::RunConfig config = asked;
    settleThreads(config);
    const auto plan = run::measurementPlan(config);
    if (!plan) return failure(plan);
    if (pythonProgram().empty())
        return failure(ErrorCode::kFailure,
                       fmt::format("there is no python3; {} names another", kPython));
    // What lies there is none of ours, or it would have been read.
    auto file = storage::OutputFile::reserve({path, false, kPeerTimes});
    if (!file) return failure(file);
    const FileDescriptor errors(::memfd_create("errors", MFD_CLOEXEC));
    const auto end = runToTheEnd(argumentsOf(config, *plan), file->part(), errors);
    const std::string why = lastLineIn(errors);
    if (!end) return failure(end);
    if (InterruptGuard::interrupted()) return failure(ErrorCode::kInterrupted, "interrupted");
    if (end->code == 0) return readPeer(file->part()) ? file->commit() : Result<void>();
    return failure(ErrorCode::kFailure,
                   why.empty() ? "Python ended without a message"
                               : fmt::format("{}; {} names another Python", why, kPython));
}

Result<PeerTimes> readPeer(const std::string& path) {
    std::error_code ignored;
    // A FIFO would be waited for.
    if (!fs::is_regular_file(path, ignored))
        return failure(ErrorCode::kUnreadable, path + " is not a regular file");
    std::ifstream file(path);
    const Json json = Json::parse(file, nullptr, false);
    try {
        PeerTimes times;
        times.version = json.at("torch").get<std::string>();
        for (const Json& row : json.at("rows"))
            if (row.contains("ns"))
                times.rounds[{row.at("operation").get<std::string>(),
                              row.at("bytes").get<std::int64_t>()}] =
                    row.at("ns").get<std::vector<double>>();
        return times;
    } catch (const Json::exception& error) {
        return failure(ErrorCode::kUnreadable, fmt::format("{}: {}", path, error.what()));
    }
}

}  // namespace shardscope::cli
