#include "engine/launch/ssh/payload.h"

#include "engine/launch/ssh/content_sums.h"
#include "engine/launch/ssh/host_look.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace shardscope::launch {
namespace {

constexpr const char* kRank = "bin/shardscope-rank";
constexpr const char* kGpuPart = "bin/libshardscope_cuda.so";
constexpr std::size_t kFolderLetters = 16;

Result<GlibcVersion> neededBy(const Package& package) {
    GlibcVersion newest;
    for (const PackageFile& file : package.files) {
        const auto needed = neededGlibc(file.path);
        if (!needed) return failure(needed);
        newest = std::max(newest, *needed);
    }
    return newest;
}

bool holds(const Package& package, std::string_view name) {
    return std::any_of(package.files.begin(), package.files.end(),
                       [name](const PackageFile& file) { return file.name == name; });
}

/// These files, and libraries that no system brings.
Result<Payload> payloadOf(PackageNames names, const std::vector<std::string>& libraries) {
    for (const std::string& library : libraries)
        names.emplace_back(library, "lib/" + std::filesystem::path(library).filename().string());
    Payload payload;
    auto program = packageOf(names, contentSumsMemory());
    if (!program) return failure(program);
    payload.program = std::move(*program);
    const auto glibc = neededBy(payload.program);
    if (!glibc) return failure(glibc);
    payload.glibc = *glibc;
    return payload;
}

/// All libraries of `root`'s CUDA part: what ldd does not see is loaded by them. Empty: it is not
/// whole there.
std::vector<std::string> cudaLibraries(const std::string& root) {
    namespace fs = std::filesystem;
    // The last one that fetch-libtorch --cuda puts in place.
    if (::access((root + "/nvidia/nvshmem/lib/libnvshmem_host.so.3").c_str(), R_OK) != 0) return {};
    std::vector<std::string> found;
    std::error_code ended;
    for (const char* below : {"torch/lib", "nvidia"})
        for (const auto& each : fs::recursive_directory_iterator(fs::path(root) / below, ended))
            if (each.path().filename().string().find(".so") != std::string::npos &&
                each.is_regular_file(ended))
                found.push_back(each.path().string());
    return found;
}

/// By the names that fetch-libtorch gives them below its folder.
Result<Package> libTorchPackage(const std::string& root, std::vector<std::string> libraries,
                                const std::string& sumsMemory) {
    std::sort(libraries.begin(), libraries.end());
    libraries.erase(std::unique(libraries.begin(), libraries.end()), libraries.end());
    PackageNames names;
    for (const std::string& library : libraries)
        names.emplace_back(library, library.substr(root.size() + 1));
    // Loaded at run time, if it is there.
    const std::string oneDnn = "onednn_cpu_gomp-2023.2.0.data/data/lib/libdnnl.so.3";
    if (::access((root + "/" + oneDnn).c_str(), R_OK) == 0)
        names.emplace_back(root + "/" + oneDnn, oneDnn);
    std::stable_partition(names.begin(), names.end(), [](const auto& name) {
        return name.second == "torch/lib/libtorch_cpu.so";
    });
    auto package = packageOf(names, sumsMemory);
    if (package) package->folder = std::string("libtorch-") + libTorchVersion();
    return package;
}

/// Whether it is there.
bool addFetchScript(const std::string& folder, PackageNames& names) {
    for (const char* each : {kFetchScript, kFetchList})
        if (::access((folder + "/" + each).c_str(), R_OK) != 0) return false;
    for (const char* each : {kFetchScript, kFetchList})
        names.emplace_back(folder + "/" + each, each);
    return true;
}

}  // namespace

Bytes Package::size() const {
    Bytes sum{};
    for (const PackageFile& file : files) sum += file.size;
    return sum;
}

std::string Package::sums() const {
    std::string text;
    for (const PackageFile& file : files) text += fmt::format("{}  {}\n", file.sum, file.name);
    return text;
}

bool Payload::hasRank() const {
    return holds(program, kRank);
}

bool Payload::hasGpuPart() const {
    return holds(program, kGpuPart);
}

Result<Package> packageOf(const PackageNames& names, const std::string& sumsMemory) {
    std::vector<std::string> paths;
    for (const auto& [path, name] : names) paths.push_back(path);
    const auto sums = contentSums(paths, sumsMemory);
    if (!sums) return failure(sums);
    Package package;
    for (std::size_t i = 0; i < names.size(); ++i) {
        std::error_code error;
        const auto size = std::filesystem::file_size(names[i].first, error);
        package.files.push_back({names[i].first, names[i].second, (*sums)[i],
                                 Bytes{static_cast<std::int64_t>(error ? 0 : size)}});
    }
    const auto folder = contentSum(package.sums());
    if (!folder) return failure(folder);
    package.folder = folder->substr(0, kFolderLetters);
    return package;
}

FetchRoom fetchRoom(const std::string& list) {
    const auto megabytes = [&list](const std::string& name) {
        std::ifstream file(list);
        for (std::string line; std::getline(file, line);)
            if (line.starts_with(name + "="))
                return Bytes{std::atoll(line.c_str() + name.size() + 1) * 1'000'000};
        return Bytes{};
    };
    return {megabytes("LIBTORCH_DISK_MB"), megabytes("LIBTORCH_CUDA_DISK_MB")};
}

Result<void> addLibTorch(const SharedLibraries& found, LibTorchPart part,
                         const std::string& sumsMemory, Payload& payload) {
    const std::string& root = found.libTorchRoot;
    if (part == LibTorchPart::kNone || root.empty()) return {};
    std::vector<std::string> libraries = found.libTorch;
    if (part == LibTorchPart::kCuda) {
        const std::vector<std::string> more = cudaLibraries(root);
        libraries.insert(libraries.end(), more.begin(), more.end());
        payload.libTorchCuda = !more.empty();
    }
    auto package = libTorchPackage(root, std::move(libraries), sumsMemory);
    if (!package) return failure(package);
    // Beside a CPU part that may be there and in use.
    if (payload.libTorchCuda) package->folder += kCudaFolder;
    payload.libTorch = std::move(*package);
    return {};
}

Result<Payload> findPayload(const std::string& folder, LibTorchPart libTorchPart) {
    PackageNames names = {{folder + "/shardscope", "bin/shardscope"}};
    for (const char* each : {"shardscope-rank", "libshardscope_cuda.so"})
        if (::access((folder + "/" + each).c_str(), R_OK) == 0)
            names.emplace_back(folder + "/" + each, std::string("bin/") + each);
    const bool fetches = addFetchScript(folder, names);
    const auto libraries = sharedLibraries({folder + "/shardscope", folder + "/shardscope-rank"});
    if (!libraries) return failure(libraries);
    auto payload = payloadOf(std::move(names), libraries->own);
    if (!payload) return payload;
    if (fetches) payload->fetch = fetchRoom(folder + "/" + kFetchList);
    if (auto added = addLibTorch(*libraries, libTorchPart, contentSumsMemory(), *payload); !added)
        return failure(added);
    return payload;
}

Result<Payload> findProgramPayload(const std::string& folder) {
    namespace fs = std::filesystem;
    const auto libraries = sharedLibraries({folder + "/shardscope"});
    if (!libraries) return failure(libraries);
    PackageNames names = {{folder + "/shardscope", "bin/shardscope"}};
    std::error_code error;
    // In a build the modules are those of the source tree, through a link.
    constexpr auto kLinks = fs::directory_options::follow_directory_symlink;
    for (fs::recursive_directory_iterator each(folder + "/inject", kLinks, error), end;
         !error && each != end; each.increment(error)) {
        if (each->path().filename() == "__pycache__") each.disable_recursion_pending();
        if (each->is_regular_file(error))
            names.emplace_back(each->path().string(),
                               "bin/" + each->path().lexically_relative(folder).string());
    }
    if (error)
        return failure(ErrorCode::kLaunch,
                       fmt::format("{}/inject cannot be read: {}; install Shardscope again", folder,
                                   error.message()));
    std::sort(names.begin() + 1, names.end());
    return payloadOf(std::move(names), libraries->own);
}

Result<Payload> findServingPayload(const std::string& folder) {
    const auto libraries = sharedLibraries({folder + "/shardscope"});
    if (!libraries) return failure(libraries);
    auto payload = payloadOf({{folder + "/shardscope", "bin/shardscope"}}, libraries->own);
    if (payload) payload->verb = "serve --stdio";
    return payload;
}

}  // namespace shardscope::launch
