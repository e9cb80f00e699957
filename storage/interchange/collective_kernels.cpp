#include "storage/interchange/collective_kernels.h"

#include <algorithm>
#include <iterator>

namespace shardscope::interchange {
namespace {

/// A kernel that communicates has `text` in its name, or begins with it.
struct Pattern {
    std::string_view text;
    bool front = false;
    std::optional<CollectiveOp> operation{};  ///< where the name does not say it
};
// Generic words ("all_reduce") are no patterns: compilers name kernels of pointwise work by all
// operators that they fused, those that only feed a collective too.
constexpr Pattern kPatterns[] = {
    // NCCL src/device/generate.py; RCCL and HCCL keep the form.
    {"nccl", true},
    {"rccl", true},
    {"hccl", true},
    {"ncclKernel"},
    {"ncclDevKernel"},
    {"pcclKernel"},
    // MSCCL in RCCL src/include/msccl/msccl_kernel.h; MSCCL++ src/executor/execution_kernel.hpp
    {"mscclKernel"},
    {"mscclpp::"},
    // oneCCL src/coll/algorithms/sycl
    {"oneccl_"},
    {"ccl::v1::"},
    // vLLM, SGLang csrc/custom_all_reduce.cuh; AITER csrc/include/custom_all_reduce.cuh
    {"cross_device_reduce", false, CollectiveOp::kAllReduce},
    {"reduce_scatter_cross_device_store"},
    // QuickReduce in vLLM and SGLang: csrc/quickreduce/quick_reduce.h
    {"allreduce_prototype_"},
    // FlashInfer include/flashinfer/comm, TensorRT-LLM cpp/tensorrt_llm/kernels
    {"allreduce_fusion"},
    {"oneshotAllreduceFusionKernel"},
    {"oneShotAllReduceKernel"},
    {"twoShotAllReduceKernel"},
    {"twoshotAllreduceKernel"},
    {"moeA2ADispatchKernel", false, CollectiveOp::kAllToAll},
    {"moeA2ACombineKernel", false, CollectiveOp::kAllToAll},
    // DeepEP csrc/kernels
    {"deep_ep::"},
    // PyTorch torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemoryOps.cu
    {"one_shot_all_reduce_kernel"},
    {"two_shot_all_reduce_kernel"},
    {"multimem_all_reduce_kernel"},
    {"multimem_one_shot_all_reduce_kernel"},
    {"multimem_all_gather_kernel"},
    {"one_shot_reduce_scatter"},
    // NVSHMEM src/device/coll, src/include/non_abi/device
    {"nvshmem"},
    // Transformer Engine transformer_engine/common/comm_gemm_overlap/userbuffers/userbuffers.cu
    {"userbuffers_"},
    // XLA xla/service/gpu/kernels/all_reduce_kernel*.cc
    {"xla::gpu::AllReduceKernel"},
};

}  // namespace

bool isCollectiveKernel(std::string_view name) {
    return std::any_of(std::begin(kPatterns), std::end(kPatterns), [&](const Pattern& pattern) {
        return pattern.front ? name.starts_with(pattern.text)
                             : name.find(pattern.text) != std::string_view::npos;
    });
}

std::optional<CollectiveOp> impliedOperation(std::string_view name) {
    for (const Pattern& pattern : kPatterns)
        if (pattern.operation && name.find(pattern.text) != std::string_view::npos)
            return pattern.operation;
    // What experts are sent and what comes back.
    const bool moves = name.find("::dispatch") != std::string_view::npos ||
                       name.find("::combine") != std::string_view::npos;
    if (moves && name.find("deep_ep::") != std::string_view::npos) return CollectiveOp::kAllToAll;
    return std::nullopt;
}

bool CollectiveNames::has(std::string_view name) {
    if (const auto known = m_known.find(name); known != m_known.end()) return known->second;
    if (m_known.size() >= kMost) m_known.clear();
    return m_known.emplace(std::string(name), isCollectiveKernel(name)).first->second;
}

}  // namespace shardscope::interchange
