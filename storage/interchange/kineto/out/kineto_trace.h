// One rank of a recording as a Kineto trace: what stands at its top, and its events.
#pragma once

#include "storage/interchange/kineto/out/trace_events.h"
#include "storage/model/recording.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::interchange::kineto_out {

// What an import of a Kineto trace left in the recording for who writes that trace again
// (read_kineto.cpp: configJson).

struct ImportedTrace {
    struct Lane {
        TraceRow row;
        std::string category;
    };
    struct Counter {
        TraceRow row;
        std::string process, name, series, id;
    };
    std::vector<std::pair<std::string, std::string>> metadata;  ///< key and value as JSON
    std::optional<std::int64_t> zeroNs;  ///< the recording's time 0 on the trace's wall clock
    std::int64_t baseNs = 0;             ///< its own times count from here
    bool storesFlows = false;            ///< false, before format 1.3: flows are correlations
    std::map<LaneId, Lane> lanes;
    std::map<LaneId, Counter> counters;
    std::vector<std::string> metadataEvents;  ///< whole, as JSON
    std::optional<RankId> partOf;             ///< the first rank of its file, which had several

    /// Of one rank; nothing when it was not imported from Kineto.
    static std::optional<ImportedTrace> of(const RunFacts& run, RankId rank);
};

/// Ranks by the files that they are written to: each its own, unless they came from one file.
[[nodiscard]] std::map<RankId, std::vector<RankId>> ranksOfFiles(const RunFacts& run,
                                                                 const std::vector<RankId>& ranks);

class KinetoTrace {
public:
    /// `scope` outlives it.
    KinetoTrace(ExportScope& scope, RankId rank);

    /// Members of the trace's object but its events, one a line, each with its comma.
    [[nodiscard]] std::string metadata() const;
    /// Names of rows were written with another rank of the file, as every one has all of them.
    void omitNames() {
        if (m_imported) m_imported->metadataEvents.clear();
    }
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
