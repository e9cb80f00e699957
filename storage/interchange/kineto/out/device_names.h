// How Kineto names what a recording of our own has on its devices.
#pragma once

#include "storage/model/recording.h"

#include <optional>
#include <string>
#include <string_view>

namespace shardscope::interchange::kineto_out {

/// "all_gather", as in Kineto's `Collective name`.
[[nodiscard]] const char* collectiveName(CollectiveOp operation);
/// A kernel's name that HTA, TraceLens and PyTorch's plugin take for communication, for ranks whose
/// collectives ran on the CPU: "ncclKernel_AllGather_CPU".
[[nodiscard]] const std::string& collectiveKernelName(CollectiveOp operation);
/// c10::ScalarType: "BFloat16".
[[nodiscard]] const char* scalarTypeName(DataType dtype);

/// "Memcpy HtoD (Pinned -> Device)" of "copy host to device" and its arguments' memories; names
/// that are Kineto's already stay.
[[nodiscard]] std::string copyName(std::string_view name, std::string_view from,
                                   std::string_view to);

/// "cudaLaunchKernel" of "cudaLaunchKernel_v7000", as Kineto writes it.
[[nodiscard]] std::string_view callName(std::string_view name);

/// 19 of "stream 19: NCCL".
[[nodiscard]] std::optional<std::int64_t> streamInName(std::string_view laneName);

}  // namespace shardscope::interchange::kineto_out
