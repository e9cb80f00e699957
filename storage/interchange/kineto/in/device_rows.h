// Rows of a device that no category names: XLA's (JAX, TensorFlow) and torch_npu's are known by the
// names of their process and thread. And what a device is called by its number in c10.
//
// XLA: process "/device:GPU:0", threads "Stream #20(Compute)" (tsl/profiler/convert/
// xplane_to_trace_events.cc, xla/tsl/profiler/utils/xplane_schema.cc). torch_npu: process "Ascend
// Hardware", threads "Stream 4", argument "Task Type" (mindstudio msprof's timeline format).
#pragma once

#include "storage/interchange/kineto/in/event.h"
#include "storage/interchange/kineto/in/lane_table.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace shardscope::interchange::kineto {

/// c10::DeviceType (c10/core/DeviceType.h) as PyTorch writes it: "cuda", "hip", "xpu"; the number
/// as text where it has no word.
[[nodiscard]] std::string deviceTypeName(std::int64_t type);
/// The number of a word; of a text that is none, the number that it is, or 1 (CUDA).
[[nodiscard]] std::int64_t deviceTypeOf(std::string_view name);
inline constexpr std::int64_t kHostDeviceType = 0;

class DeviceRows {
public:
    /// Takes the name of an M event.
    void name(const Event& event);
    [[nodiscard]] bool empty() const { return m_processes.empty(); }
    /// What an event without a category of its own is; nothing: its row is no device's.
    [[nodiscard]] std::optional<Category> categoryOf(const Event& event) const;
    /// "/device:GPU:0"; empty: the process is not known here.
    [[nodiscard]] std::string_view nameOf(std::string_view process) const;
    /// The device's own number.
    [[nodiscard]] std::optional<std::int64_t> numberOf(std::string_view process) const;

    /// Rows of devices are the same; those of the host mean nothing here.
    friend bool operator==(const DeviceRows& a, const DeviceRows& b) {
        return a.m_processes == b.m_processes && a.threadsOfDevices() == b.threadsOfDevices();
    }

private:
    using Threads = std::map<std::pair<std::string, std::string>, std::string>;
    [[nodiscard]] Threads threadsOfDevices() const;

    std::map<std::string, std::string, std::less<>> m_processes;  ///< of devices: names
    Threads m_threads;
};

}  // namespace shardscope::interchange::kineto
