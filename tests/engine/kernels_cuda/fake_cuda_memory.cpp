#include "tests/engine/kernels_cuda/fake_cuda_memory.h"

#include <ATen/ops/from_blob.h>

#include <cstdint>
#include <utility>

namespace shardscope::test {
namespace {

at::Tensor tensorOver(c10::Storage storage, const at::Tensor& like, std::int64_t offset) {
    at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
        std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CUDA), like.dtype());
    made.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), offset);
    return made;
}

void release(void* owner) {
    delete static_cast<at::Tensor*>(owner);
}

}  // namespace

c10::Device fakeCudaDevice() {
    return {at::kCUDA, 0};
}

char* storageOf(const at::Tensor& t) {
    return static_cast<char*>(t.storage().mutable_data());
}

at::Tensor onDevice(const at::Tensor& host) {
    c10::DataPtr data(storageOf(host), new at::Tensor(host), &release, fakeCudaDevice());
    c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), static_cast<std::int64_t>(host.storage().nbytes()),
        std::move(data), nullptr, false));
    return tensorOver(std::move(storage), host, host.storage_offset());
}

at::Tensor viewOnDevice(const at::Tensor& of, const at::Tensor& like) {
    const std::int64_t bytes = static_cast<char*>(like.data_ptr()) - storageOf(of);
    return tensorOver(of.storage(), like, bytes / static_cast<std::int64_t>(like.itemsize()));
}

at::Tensor onHost(const at::Tensor& t) {
    if (!t.defined() || !t.is_cuda()) return t;
    const auto whole = static_cast<std::int64_t>(t.storage().nbytes() / t.itemsize());
    return at::from_blob(storageOf(t), {whole}, at::TensorOptions().dtype(t.dtype()))
        .as_strided(t.sizes(), t.strides(), t.storage_offset());
}

}  // namespace shardscope::test
