// Instants "[memory]" of one rank: memory events, and samples of what is allocated and reserved.
// Where the rank has a device, blocks of the host are none of its memory: their sums are samples,
// and the instants stay what they are.
#pragma once

#include "storage/interchange/kineto/in/event.h"
#include "storage/interchange/kineto/in/lane_table.h"
#include "storage/interchange/trace_builder.h"

#include <cstdint>
#include <map>
#include <string>

namespace shardscope::interchange::kineto {

class MemoryMapper {
public:
    MemoryMapper(TraceBuilder& builder, LaneTable& lanes, RankId rank, bool hasDevice)
        : m_builder(&builder), m_lanes(&lanes), m_rank(rank), m_hasDevice(hasDevice) {}

    /// Whether the event is the rank's memory; samples are added of others too.
    [[nodiscard]] bool takes(const Event& event) const;
    /// Why it cannot be kept; null: it is kept.
    [[nodiscard]] const char* add(const Event& event, Timestamp time);
    void addSamples(const Event& event, Timestamp time);
    /// Adds what was alive before the first event of each device.
    void finish();

    /// Some memory of the host was taken for the rank's, since it has no device.
    [[nodiscard]] bool hasHostMemory() const { return m_hostMemory; }

private:
    /// Bytes of a device before its earliest event.
    struct Alive {
        Timestamp time;
        std::int64_t bytes = 0;
    };
    void noteAlive(const std::string& device, std::int64_t before, Timestamp time);

    TraceBuilder* m_builder;
    LaneTable* m_lanes;
    RankId m_rank;
    bool m_hasDevice;
    bool m_hostMemory = false;
    std::map<std::string, Alive> m_alive;  ///< by device
};

}  // namespace shardscope::interchange::kineto
