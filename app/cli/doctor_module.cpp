#include "app/cli/doctor_module.h"

#include "app/cli/doctor_versions.h"

#include <fmt/format.h>

namespace shardscope::cli {
namespace {

constexpr const char* kBuildModule =
    "packaging/fetch-libtorch --cuda && cmake --preset release -D SHARDSCOPE_WITH_CUDA=ON && "
    "cmake --build --preset release";
constexpr const char* kGetToolkit =
    "install the CUDA 13.0 toolkit (apt-get install cuda-toolkit-13-0, from NVIDIA's repository) "
    "and name it in CUDA_HOME";

/// A library of CUDA that the module works with.
struct Library {
    const char* id;
    const char* name;
    const char* file;
    std::int64_t run::CudaPart::*version;
    std::int64_t wanted;
    std::string (*text)(std::int64_t);
};
constexpr Library kLibraries[] = {
    {"gpu.runtime", "CUDA runtime", "libcudart.so.13", &run::CudaPart::runtimeVersion,
     kRuntimeVersion, cudaVersionText},
    {"gpu.cupti", "CUPTI", "libcupti.so.13", &run::CudaPart::cuptiVersion, kCuptiVersion,
     cuptiVersionText},
    {"gpu.nccl", "NCCL", "libnccl.so.2", &run::CudaPart::ncclVersion, kNcclVersion,
     ncclVersionText},
};

Check libraryCheck(const Library& library, const run::CudaPart& cuda) {
    const std::int64_t version = cuda.*library.version;
    const std::string found = fmt::format("{} {}", library.name, library.text(version));
    if (version == library.wanted) return {library.id, CheckStatus::kOk, found, ""};
    const auto path = cuda.loadedFrom.find(library.file);
    const bool known = path != cuda.loadedFrom.end() && !path->second.empty();
    return {library.id, CheckStatus::kProblem,
            fmt::format("{}{}; this build needs {}", found, known ? " from " + path->second : "",
                        library.text(library.wanted)),
            fmt::format("env -u LD_LIBRARY_PATH, or let the folder of the right {} come first in "
                        "it",
                        library.file)};
}

/// What the GPU part could be built with.
Check toolkitCheck(const GpuSurroundings& around) {
    const CheckStatus absent = around.without(CheckStatus::kMissing);
    if (around.toolkit.empty())
        return {"gpu.toolkit", absent, "no nvcc, so the GPU part cannot be built here",
                kGetToolkit};
    if (around.toolkitVersion == kRuntimeVersion)
        return {"gpu.toolkit", CheckStatus::kOk, around.toolkit, ""};
    const std::string version = around.toolkitVersion != 0 ? cudaVersionText(around.toolkitVersion)
                                                           : "a version that is not known";
    return {"gpu.toolkit", absent,
            fmt::format("{} is of CUDA {}, and the GPU part is built with {}", around.toolkit,
                        version, cudaVersionText(kRuntimeVersion)),
            kGetToolkit};
}

/// Nothing where the probe did not get there: "gpu.probe" says so.
std::vector<Check> presenceChecks(const run::CudaPart* cuda, const GpuSurroundings& around) {
    if (!around.moduleFile) {
        return {{"gpu.module", around.without(CheckStatus::kMissing),
                 "libshardscope_cuda.so is not beside shardscope-rank", kBuildModule},
                toolkitCheck(around)};
    }
    if (cuda == nullptr) return {};
    if (cuda->loaded) return {{"gpu.module", CheckStatus::kOk, "libshardscope_cuda.so", ""}};
    return {{"gpu.module", around.without(CheckStatus::kProblem), cuda->problem.found,
             cuda->problem.remedy}};
}

}  // namespace

std::vector<Check> moduleChecks(const ProbeOutcome& probe, const GpuSurroundings& around) {
    const auto* cuda = probe.part<run::CudaPart>();
    std::vector<Check> checks = presenceChecks(cuda, around);
    // Beside a link to shardscope-rank no module is seen, though it was loaded.
    if (cuda != nullptr && cuda->loaded)
        for (const Library& library : kLibraries) checks.push_back(libraryCheck(library, *cuda));
    return checks;
}

}  // namespace shardscope::cli
