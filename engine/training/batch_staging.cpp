#include "engine/training/batch_staging.h"

#include "engine/control/observer.h"

#include <ATen/ops/empty.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <exception>
#include <utility>

namespace shardscope::training {
namespace {

std::optional<c10::Stream> streamOn(at::Device device) {
    if (device.is_cpu()) return std::nullopt;
    return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

}  // namespace

BatchStaging::BatchStaging(at::Device device, control::DeviceRuntime& runtime, Source source)
    : m_device(device),
      m_runtime(runtime),
      m_source(std::move(source)),
      m_stream(streamOn(device)) {
    for (Buffer& buffer : m_buffers) {
        buffer.copied = runtime.createEvent();
        buffer.used = runtime.createEvent();
    }
}

BatchStaging::~BatchStaging() {
    for (const Buffer& buffer : m_buffers) {
        m_runtime.destroy(buffer.copied);
        m_runtime.destroy(buffer.used);
    }
}

control::DeviceStream BatchStaging::copies() {
    return m_stream ? control::DeviceStream{m_stream->native_handle()} : m_runtime.currentStream();
}

/// Both as one, so that one copy brings them.
void BatchStaging::fill(Buffer& buffer, const data::Batch& batch) {
    const std::int64_t n = batch.tokens.numel();
    if (!buffer.device.defined() || buffer.device.size(1) != n) {
        const control::MemoryScope memory(MemoryCategory::kInput, "batch");
        const auto options = at::TensorOptions().dtype(at::kLong);
        buffer.host = at::empty({2, n}, options.pinned_memory(!m_device.is_cpu()));
        buffer.device = at::empty({2, n}, options.device(m_device));
        buffer.batch = {buffer.device.select(0, 0).view(batch.tokens.sizes()),
                        buffer.device.select(0, 1).view(batch.targets.sizes())};
        // Others may still compute with what had this memory before.
        m_runtime.record(buffer.used, m_runtime.currentStream());
    }
    buffer.host.select(0, 0).copy_(batch.tokens.reshape({-1}));
    buffer.host.select(0, 1).copy_(batch.targets.reshape({-1}));
}

void BatchStaging::bring(Buffer& buffer, std::int64_t index) {
    const data::Batch batch = m_source(index);
    // Its last copy has left the host's memory, and what computed with it comes before the next.
    if (std::exchange(buffer.index, -1) >= 0) m_runtime.synchronize(buffer.copied);
    fill(buffer, batch);
    const c10::OptionalStreamGuard on(m_stream);
    m_runtime.wait(copies(), buffer.used);
    buffer.device.copy_(buffer.host, true);
    m_runtime.record(buffer.copied, copies());
    buffer.index = index;
}

/// What goes wrong goes wrong again when the batch is wanted, and belongs there.
void BatchStaging::bringAhead(Buffer& buffer, std::int64_t index) {
    try {
        bring(buffer, index);
    } catch (const std::exception&) {
        buffer.index = -1;
    }
}

BatchStaging::Staged BatchStaging::take(std::int64_t index, bool another) {
    // What computes with the last one is queued by now.
    m_runtime.record(m_buffers[m_turn].used, m_runtime.currentStream());
    m_turn = (m_turn + 1) % kBuffers;
    Buffer& buffer = m_buffers[m_turn];
    if (buffer.index != index) bring(buffer, index);
    m_runtime.wait(m_runtime.currentStream(), buffer.copied);
    if (another) bringAhead(m_buffers[(m_turn + 1) % kBuffers], index + 1);
    return {buffer.batch, m_turn};
}

}  // namespace shardscope::training
