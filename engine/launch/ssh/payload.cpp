#include "engine/launch/ssh/payload.h"

#include "engine/launch/ssh/content_sums.h"
#include "engine/launch/ssh/host_look.h"
#include "engine/launch/ssh/shared_libraries.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <utility>

namespace shardscope::launch {
namespace {

constexpr const char* kRank = "bin/shardscope-rank";
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

/// By the names that fetch-libtorch gives them below its folder.
Result<Package> libTorchPackage(const std::string& root, const std::vector<std::string>& libraries,
                                const std::string& sumsMemory) {
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
    return std::any_of(program.files.begin(), program.files.end(),
                       [](const PackageFile& file) { return file.name == kRank; });
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

Result<Payload> findPayload(const std::string& folder, bool withLibTorch) {
    PackageNames names = {{folder + "/shardscope", "bin/shardscope"}};
    for (const char* each : {"shardscope-rank", "libshardscope_cuda.so"})
        if (::access((folder + "/" + each).c_str(), R_OK) == 0)
            names.emplace_back(folder + "/" + each, std::string("bin/") + each);
    const auto libraries = sharedLibraries({folder + "/shardscope", folder + "/shardscope-rank"});
    if (!libraries) return failure(libraries);
    auto payload = payloadOf(std::move(names), libraries->own);
    if (!payload || !withLibTorch || libraries->libTorchRoot.empty()) return payload;
    auto libTorch =
        libTorchPackage(libraries->libTorchRoot, libraries->libTorch, contentSumsMemory());
    if (!libTorch) return failure(libTorch);
    payload->libTorch = std::move(*libTorch);
    return payload;
}

Result<Payload> findServingPayload(const std::string& folder) {
    const auto libraries = sharedLibraries({folder + "/shardscope"});
    if (!libraries) return failure(libraries);
    auto payload = payloadOf({{folder + "/shardscope", "bin/shardscope"}}, libraries->own);
    if (payload) payload->verb = "serve --stdio";
    return payload;
}

}  // namespace shardscope::launch
