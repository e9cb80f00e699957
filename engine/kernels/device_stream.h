// The native stream (cudaStream_t) that tensor operators of the calling thread go to.
#pragma once

#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace shardscope::kernels {

[[nodiscard]] inline void* nativeStream(c10::Device device) {
    return c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle();
}

}  // namespace shardscope::kernels
