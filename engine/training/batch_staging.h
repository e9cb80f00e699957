// Brings batches to a device one micro-step ahead: copied on a stream of their own while the
// micro-step before computes, into two buffers that take turns and stay where they are.
//
// Lives on the step thread; the methods throw.
#pragma once

#include "engine/control/device_runtime.h"
#include "engine/data/dataset.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace shardscope::training {

class BatchStaging {
public:
    static constexpr std::size_t kBuffers = 2;

    /// On the host, by its place in the run: step * micro-steps a step + micro-step.
    using Source = std::function<data::Batch(std::int64_t index)>;

    /// `runtime` outlives this; on a CPU tensors stay where they are, and nothing is copied twice.
    BatchStaging(at::Device device, control::DeviceRuntime& runtime, Source source);
    ~BatchStaging();
    BatchStaging(const BatchStaging&) = delete;
    BatchStaging& operator=(const BatchStaging&) = delete;

    struct Staged {
        data::Batch batch;       ///< on the device, until the next but one take()
        std::size_t buffer = 0;  ///< which of the two it is in
    };
    /// What the current stream computes next sees the batch of `index`. `another`: index + 1
    /// follows, and is brought meanwhile.
    [[nodiscard]] Staged take(std::int64_t index, bool another);

private:
    struct Buffer {
        at::Tensor host, device;      ///< (2, N) int64: tokens, targets
        std::int64_t index = -1;      ///< of what is in it or on its way; -1: nothing
        data::Batch batch;            ///< views of `device`
        control::DeviceEvent copied;  ///< on the copies' stream
        control::DeviceEvent used;    ///< on the stream that computed with it last
    };

    void bring(Buffer& buffer, std::int64_t index);
    void bringAhead(Buffer& buffer, std::int64_t index);
    void fill(Buffer& buffer, const data::Batch& batch);
    [[nodiscard]] control::DeviceStream copies();

    const at::Device m_device;
    control::DeviceRuntime& m_runtime;
    const Source m_source;
    std::optional<c10::Stream> m_stream;  ///< none on a CPU
    std::array<Buffer, kBuffers> m_buffers;
    std::size_t m_turn = 0;  ///< buffer that was taken last
};

}  // namespace shardscope::training
