// Tensors of the fake CUDA backend: a storage that says CUDA over memory of a CPU tensor.
#pragma once

#include <ATen/core/Tensor.h>

namespace shardscope::test {

[[nodiscard]] c10::Device fakeCudaDevice();

/// Where its storage begins.
[[nodiscard]] char* storageOf(const at::Tensor& t);

/// On the device, in the memory of a CPU tensor.
[[nodiscard]] at::Tensor onDevice(const at::Tensor& host);
/// Another view of the same storage, shaped as `like` is and at the address where it begins.
[[nodiscard]] at::Tensor viewOnDevice(const at::Tensor& of, const at::Tensor& like);

/// The same memory for CPU operators; what is on the host already stays.
[[nodiscard]] at::Tensor onHost(const at::Tensor& t);

}  // namespace shardscope::test
