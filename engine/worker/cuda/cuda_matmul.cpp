#include "engine/worker/cuda/cuda_parts.h"

#include "engine/kernels/cuda/cuda_error.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <limits>
#include <string>

namespace shardscope::worker {
namespace {

using control::DeviceError;
using control::DeviceFault;
using kernels::device::check;

class Event {
public:
    Event() { check(cudaEventCreate(&m_event), "creating an event"); }
    ~Event() { static_cast<void>(cudaEventDestroy(m_event)); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    void record() {
        check(cudaEventRecord(m_event, c10::cuda::getCurrentCUDAStream().stream()),
              "recording an event");
    }
    /// Waits for `end`.
    [[nodiscard]] double secondsTo(const Event& end) const {
        float milliseconds = 0;
        check(cudaEventSynchronize(end.m_event), "waiting for a matrix product");
        check(cudaEventElapsedTime(&milliseconds, m_event, end.m_event),
              "reading the time between two events");
        return static_cast<double>(milliseconds) * 1e-3;
    }

private:
    cudaEvent_t m_event = nullptr;
};

class AllowTf32 {
public:
    explicit AllowTf32(bool allow) : m_before(at::globalContext().allowTF32CuBLAS()) {
        at::globalContext().setAllowTF32CuBLAS(allow);
    }
    ~AllowTf32() { at::globalContext().setAllowTF32CuBLAS(m_before); }
    AllowTf32(const AllowTf32&) = delete;
    AllowTf32& operator=(const AllowTf32&) = delete;

private:
    bool m_before;
};

std::string firstLine(const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    return text.substr(0, text.find('\n'));
}

at::ScalarType scalarType(DataType dtype) {
    switch (dtype) {
        case DataType::kFloat32:
            return at::kFloat;
        case DataType::kBFloat16:
            return at::kBFloat16;
        case DataType::kFloat16:
            return at::kHalf;
        default:
            break;
    }
    throw DeviceError(DeviceFault::kOther, "matrix products are measured in fp32, bf16 and fp16");
}

/// Seconds of one product, the best of batches that fill the launch queue.
double bestSeconds(const at::Tensor& a, const at::Tensor& b, at::Tensor& out, double seconds) {
    // The first launch on an idle device takes 5 to 10 us: little beside so many products.
    constexpr int kBatch = 64;
    Event from;
    Event to;
    double best = std::numeric_limits<double>::infinity();
    double spent = 0;
    // The first batch chooses an algorithm and wakes the clocks up.
    for (int batch = 0; batch < 2 || spent < seconds; ++batch) {
        from.record();
        for (int i = 0; i < kBatch; ++i) at::mm_out(out, a, b);
        to.record();
        const double took = from.secondsTo(to);
        spent += took;
        if (batch > 0) best = std::min(best, took / kBatch);
    }
    return best;
}

}  // namespace

double measureCudaMatmul(std::int64_t m, std::int64_t n, std::int64_t k, DataType dtype, bool tf32,
                         double seconds) {
    const at::NoGradGuard noGradients;
    const AllowTf32 precision(tf32);
    const auto options = at::TensorOptions().device(at::kCUDA).dtype(scalarType(dtype));
    try {
        // Zeros would draw less power and run faster than any training does.
        const at::Tensor a = at::randn({m, k}, options);
        const at::Tensor b = at::randn({k, n}, options);
        at::Tensor out = at::empty({m, n}, options);
        const double flops =
            2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
        return flops / bestSeconds(a, b, out, seconds);
    } catch (const c10::OutOfMemoryError&) {
        throw DeviceError(DeviceFault::kOutOfMemory,
                          "no memory for a matrix product of " + std::to_string(m) + " x " +
                              std::to_string(k) + " x " + std::to_string(n));
    } catch (const c10::Error& error) {
        throw DeviceError(DeviceFault::kOther,
                          "matrix products cannot be measured: " + firstLine(error));
    }
}

}  // namespace shardscope::worker
