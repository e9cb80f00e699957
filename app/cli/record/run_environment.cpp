#include "app/cli/record/run_environment.h"

#include "engine/run/config/host_list.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace shardscope::cli {
namespace {

// clang-format off
constexpr const char* kNames[] = {
    "ATEN_CPU_CAPABILITY",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_CACHE_DISABLE",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_VISIBLE_DEVICES",
    "DNNL_MAX_CPU_ISA",
    "GLOO_SOCKET_IFNAME",
    "GOMP_CPU_AFFINITY",
    "GOMP_SPINCOUNT",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MALLOC_ARENA_MAX",
    "MKL_CBWR",
    "MKL_DYNAMIC",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_NUM_THREADS",
    "MKL_THREADING_LAYER",
    "NCCL_ALGO",
    "NCCL_BUFFSIZE",
    "NCCL_CROSS_NIC",
    "NCCL_CUMEM_ENABLE",
    "NCCL_DEBUG",
    "NCCL_IB_DISABLE",
    "NCCL_IB_HCA",
    "NCCL_MAX_CTAS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_CTAS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_NET_GDR_LEVEL",
    "NCCL_NTHREADS",
    "NCCL_NVLS_ENABLE",
    "NCCL_P2P_DISABLE",
    "NCCL_P2P_LEVEL",
    "NCCL_PROTO",
    "NCCL_SHM_DISABLE",
    "NCCL_SOCKET_IFNAME",
    "NCCL_TOPO_FILE",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_DYNAMIC",
    "OMP_NUM_THREADS",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "OMP_SCHEDULE",
    "OMP_WAIT_POLICY",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "PYTORCH_CUDA_ALLOC_CONF",
    "SHARDSCOPE_RANK_PROGRAM",
    "SLURM_JOB_ID",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_CUDNN_V8_API_DISABLED",
};
// clang-format on

}  // namespace

std::string environmentJson(const std::map<std::string, std::string>& passed) {
    using Json = nlohmann::ordered_json;
    Json json = Json::object();
    for (const char* name : kNames)
        if (const char* value = std::getenv(name)) json[name] = value;
    for (const auto& [name, value] : passed) json[name] = value;
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::map<std::string, std::string> passedEnvironment() {
    std::map<std::string, std::string> passed;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (equals != text.npos && run::HostConfig::mayPass(text.substr(0, equals)))
            passed.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return passed;
}

}  // namespace shardscope::cli
