// One rank of a recording as a Kineto trace: what stands at its top, and its events.
#pragma once

#include "storage/interchange/kineto/out/imported_trace.h"
#include "storage/interchange/kineto/out/trace_events.h"

#include <optional>
#include <string>

namespace shardscope::interchange::kineto_out {

class KinetoTrace {
public:
    /// `scope` outlives it.
    KinetoTrace(ExportScope& scope, RankId rank);

    /// Members of the trace's object but its events, one a line, each with its comma.
    [[nodiscard]] std::string metadata() const;
    Result<void> walk(TraceEventSink& sink) const;

private:
    [[nodiscard]] std::string importedMetadata() const;
    [[nodiscard]] std::string recordedMetadata() const;

    ExportScope* m_scope;
    RankId m_rank;
    std::optional<ImportedTrace> m_imported;
    std::int64_t m_baseNs = 0;   ///< wall clock that the trace's times count from; 0: not known
    std::int64_t m_clockNs = 0;  ///< trace's time = recording's time + this
};

}  // namespace shardscope::interchange::kineto_out
