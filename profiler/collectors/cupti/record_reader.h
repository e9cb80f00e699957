// Turns CUPTI's activity buffers into records. The only file that knows CUPTI's layouts.
//
// Layouts change with each minor release and a cast to the wrong one misreads in silence, so
// call layoutsKnown() with the version of the library that was loaded before reading anything.
#pragma once

#include "profiler/collectors/cupti/cupti_api.h"
#include "profiler/collectors/cupti/kernel_names.h"
#include "profiler/collectors/cupti/records.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardscope::collectors::cupti {

/// CUDA 13.0 Update 1: the first one without the defects of 13.0 (cuptiGetVersion()).
inline constexpr std::uint32_t kCuptiVersion = 130001;
[[nodiscard]] constexpr bool layoutsKnown(std::uint32_t version) {
    return version == kCuptiVersion;
}

struct ReadCounts {
    std::uint64_t records = 0;  ///< walked over, of any kind
    std::uint64_t unknown = 0;  ///< of a kind that is not read here
    std::uint64_t broken = 0;   ///< buffers CUPTI could not walk to their end
};

/// Decoder thread. Keeps references to both.
class RecordReader {
public:
    RecordReader(CuptiApi& api, KernelNames& names) : m_api(api), m_names(names) {}

    /// Appends what the buffer holds. Nothing points into it afterwards; memory that CUPTI
    /// attached to records is freed.
    void read(std::uint8_t* buffer, std::size_t validBytes, std::vector<Record>& records);
    [[nodiscard]] const ReadCounts& counts() const { return m_counts; }

private:
    bool append(void* activity, std::vector<Record>& records);

    CuptiApi& m_api;
    KernelNames& m_names;
    ReadCounts m_counts;
};

}  // namespace shardscope::collectors::cupti
