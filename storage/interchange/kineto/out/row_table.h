// Rows of a trace that is made up from lanes: which pid and tid they have, and their names.
#pragma once

#include "storage/interchange/kineto/out/trace_events.h"

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <utility>

namespace shardscope::interchange::kineto_out {

/// Of what one lane holds: one more for each that would overlap.
struct Rows {
    std::string pid;
    std::int64_t last = 0;  ///< tid of the last row
    std::string name;
    std::deque<TraceRow> rows;
};

class RowTable {
public:
    /// Names go to `sink` as metadata events, before the first event of their row.
    explicit RowTable(TraceEventSink& sink) : m_sink(&sink) {}

    void nameProcess(const std::string& pid, const std::string& name, const std::string& label,
                     std::int64_t order);
    /// With the first number from `tid` on that is free in the process.
    [[nodiscard]] Rows of(const std::string& pid, std::int64_t tid, const std::string& name);
    /// Valid as long as `rows`.
    const TraceRow& row(Rows& rows, std::size_t index);

private:
    void metadata(const TraceRow& row, const char* name, const std::string& arguments);
    [[nodiscard]] std::int64_t freeFrom(const std::string& pid, std::int64_t tid);

    TraceEventSink* m_sink;
    std::set<std::pair<std::string, std::int64_t>> m_used;
};

}  // namespace shardscope::interchange::kineto_out
