#include "engine/kernels/device_kernels.h"

#include <atomic>

namespace shardscope::kernels {
namespace {

std::atomic<const DeviceKernels*> g_table{nullptr};  // set before the first step, then constant

}  // namespace

const DeviceKernels* deviceKernels() {
    return g_table.load(std::memory_order_acquire);
}

void useDeviceKernels(const DeviceKernels* table) {
    g_table.store(table, std::memory_order_release);
}

}  // namespace shardscope::kernels
