#include "engine/worker/cuda_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

namespace shardscope::worker {
namespace {

constexpr const char* kLibrary = "libshardscope_cuda.so";
constexpr std::int32_t kInsufficientDriver = 35;  // cudaErrorInsufficientDriver
constexpr std::int32_t kNoDevice = 100;
constexpr std::int32_t kOldestDriver = 13000;  // CUDA 13.0: r580

std::string ownFolder() {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

tl::unexpected<run::Obstacle> obstacle(const char* code, std::string found, const char* remedy) {
    return tl::unexpected(run::Obstacle{code, std::move(found), remedy});
}

}  // namespace

LoadedModule loadCudaModule() {
    return loadCudaModule(ownFolder());
}

LoadedModule loadCudaModule(const std::string& folder) {
    const std::string path = folder + "/" + kLibrary;
    if (::access(path.c_str(), F_OK) != 0) {
        return obstacle(
            "module-missing",
            fmt::format("this build has no GPU part: {} is not in {}", kLibrary, folder),
            "build it where the CUDA 13 toolkit is (`shardscope doctor` says what is "
            "missing), or use --device cpu");
    }
    // Global: LibTorch's CUDA part looks for its own pieces by name.
    void* library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
    if (library == nullptr) {
        return obstacle("module-not-loadable",
                        fmt::format("{} cannot be loaded: {}", path, ::dlerror()),
                        "run packaging/fetch-libtorch --cuda, which fetches the libraries that it "
                        "needs");
    }
    const auto table = reinterpret_cast<CudaModuleFunction>(::dlsym(library, kCudaModuleSymbol));
    const CudaModule* module = table != nullptr ? table() : nullptr;
    if (module == nullptr || module->version != CudaModule::kVersion) {
        return obstacle("module-of-another-build",
                        fmt::format("{} is of another build than shardscope-rank", path),
                        "build both again");
    }
    return module;
}

run::Obstacle whyNoDevice(const CudaProbe& probe) {
    if (probe.deviceError == kInsufficientDriver && probe.driverVersion == 0) {
        return {run::kNoDriverCode, "there is no NVIDIA driver on this host",
                "install r580 or newer, or use --device cpu"};
    }
    if (probe.deviceError == kInsufficientDriver ||
        (probe.driverVersion != 0 && probe.driverVersion < kOldestDriver)) {
        return {"driver-too-old",
                fmt::format("the NVIDIA driver knows CUDA up to {}.{}, which is too old",
                            probe.driverVersion / 1000, probe.driverVersion % 1000 / 10),
                "install r580 or newer"};
    }
    if (probe.deviceError == kNoDevice || (probe.deviceError == 0 && probe.devices.empty())) {
        return {"no-device", "the NVIDIA driver shows no GPU",
                "look at nvidia-smi and at CUDA_VISIBLE_DEVICES, or use --device cpu"};
    }
    if (probe.deviceError != 0) {
        return {"cuda-error",
                fmt::format("CUDA cannot be used: {} (error {})", probe.deviceErrorText,
                            probe.deviceError),
                "look at nvidia-smi"};
    }
    return {};
}

Result<std::int32_t> chooseDevice(const CudaProbe& probe, std::int32_t localRank,
                                  std::int32_t localRanks, bool share) {
    const auto devices = static_cast<std::int32_t>(probe.devices.size());
    if (localRanks > devices && !share) {
        return failure(ErrorCode::kLaunch,
                       fmt::format("{} ranks need {} GPUs, this host has {}; use --ranks {}, or "
                                   "--share-device to try it out on fewer",
                                   localRanks, localRanks, devices, devices));
    }
    return localRank % devices;
}

}  // namespace shardscope::worker
