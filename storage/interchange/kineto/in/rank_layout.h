// Which rank each row of a trace belongs to, where one file has several devices or processes: a
// rank is a process and a device that it used (process_ranks.h). What is launched by which process
// is known by correlations, which count up in each process by themselves: a device belongs to the
// process whose calls come before its kernels.
//
// A reader finds this out as it reads. It begins with what the first window of the file says; where
// the rest says otherwise, the file is read once more with what was found.
#pragma once

#include "storage/interchange/kineto/in/device_rows.h"
#include "storage/interchange/kineto/in/event.h"
#include "storage/interchange/kineto/in/lane_table.h"
#include "storage/model/ids.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::interchange::kineto {

struct RankLayout {
    /// Places in `devices` of ranks, 0 being the rank that the file is read as.
    using Rows = std::map<std::string, std::uint32_t, std::less<>>;
    Rows ofDevice;  ///< by pid of a device's row, or its number where it only has memory
    Rows ofHost;    ///< by pid of a process: its first rank
    /// By place: the device's row, empty without one, and the place of the first of its process.
    struct Rank {
        std::string device;
        std::uint32_t first = 0;
        friend bool operator==(const Rank&, const Rank&) = default;
    };
    std::vector<Rank> ranks{Rank{}};
    /// The file says which rank it is; of a world so large, 0: not known.
    bool statesRank = false;
    std::int64_t worldSize = 0;
    DeviceRows rows;
    /// Begins and ends do not come in order.
    bool sortsPairs = false;
    /// Events far from all others are so many that they are part of the trace.
    bool keepsStrays = false;

    [[nodiscard]] bool hasDevice(std::uint32_t place) const { return !ranks[place].device.empty(); }
    friend bool operator==(const RankLayout&, const RankLayout&) = default;
};

/// Of a span, by its own category or its row; without a role that means anything, of others.
[[nodiscard]] Category categoryIn(const Event& event, const DeviceRows& rows);

// Instants "[memory]": which device they are of.
[[nodiscard]] bool isMemory(const Event& event);
/// c10::DeviceType; the host's where nothing is said.
[[nodiscard]] std::int64_t memoryDeviceType(const Event& event);
/// "0"; as the pid of its rows is.
[[nodiscard]] std::string_view memoryDevice(const Event& event);

/// Looks at every event of a file; bounded memory.
class LayoutSurvey {
public:
    void add(const Event& event, const Category& category);

    /// Where the file says which rank it is, the device that ran most kernels is that rank's, and
    /// others are ranks behind the world's, if that is known.
    [[nodiscard]] RankLayout settle(DeviceRows rows, bool statesRank, std::int64_t worldSize) const;

private:
    struct Call {
        std::uint64_t correlation = 0;
        std::int64_t process = 0;
        std::int64_t begin = 0;  ///< ns
    };
    struct Work {
        std::uint64_t correlation = 0;
        std::int64_t device = 0;
        std::int64_t begin = 0;
    };
    struct Names {
        std::map<std::string, std::int64_t, std::less<>> numbers;
        std::string lastText;
        std::int64_t last = -1;
        std::int64_t of(std::string_view text);
    };
    struct Device {
        std::uint64_t kernels = 0, others = 0;
        std::int64_t memoryOf = -1;  ///< process that allocates on it
    };
    static constexpr std::size_t kMostNames = 4096;
    static constexpr std::size_t kMostSampled = 100'000;

    void addSpan(const Event& event, const Category& category);
    void addMemory(const Event& event);
    /// By number of the device: the process that launched most of its work.
    [[nodiscard]] std::map<std::int64_t, std::int64_t> owners() const;

    Names m_processes, m_devices;
    std::map<std::int64_t, Device> m_used;
    std::int64_t m_lastProcess = -1;  ///< with calls
    bool m_severalProcesses = false;  ///< have calls
    std::vector<Call> m_calls;
    std::vector<Work> m_work;
};

}  // namespace shardscope::interchange::kineto
