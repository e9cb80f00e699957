// What there is to say of the collectives of a selection, of all its ranks and read once: what a
// page about communication shows. The same figures as the answers of `overlap` and `collectives`.
#pragma once

#include "profiler/analysis/communication/collective_figures.h"
#include "profiler/analysis/communication/exposure.h"
#include "profiler/analysis/communication/transfers.h"
#include "profiler/analysis/report/report.h"
#include "profiler/questions/question.h"
#include "storage/model/result.h"
#include "storage/recording/read/recording_reader.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::questions {

struct Communication {
    /// By layer and operation; of collectives of steps.
    std::map<analysis::ExposureKind, analysis::ExposureSum> byLayer;
    std::vector<analysis::ReasonSum> reasons;      ///< of the same
    std::size_t rankSteps = 0;                     ///< that both are of: each rank's count
    std::vector<analysis::Transfer> transfers;     ///< by first start
    std::vector<analysis::TransferClass> classes;  ///< most time first
    analysis::ArrivalSkew skew;
    /// Who is in a group, as far as its ranks are selected; by group.
    std::map<std::uint32_t, std::vector<RankId>> groups;
};

/// Reads a rank at a time.
[[nodiscard]] Result<Communication> readCommunication(const Asked& asked);

// Collectives that a trace only marks: ranges of the host around them, without their kernels and
// without when ranks arrived.

/// As torch.distributed and its backends name them: "c10d::allreduce_", "gloo:all_reduce",
/// "nccl:all_gather", "record_param_comms".
[[nodiscard]] bool marksCollective(std::string_view name);

/// Adds those of a rank's host lanes that begin within the time, by name, most time first. Only of
/// imported traces, and not of a rank whose collectives or communication kernels are in `events`.
[[nodiscard]] Result<void> addMarkedCollectives(storage::RecordingReader& reader,
                                                const RecordingSummary& summary,
                                                const RankEvents& events, TimeRange time,
                                                std::vector<analysis::MarkedCollective>& marked);

/// What is there and what is unknown, sentences; empty where nothing is marked.
[[nodiscard]] std::string markedText(const std::vector<analysis::MarkedCollective>& marked);

/// To an answer about communication that there is none of: `unknown`, and what is marked of it.
[[nodiscard]] Result<void> addNoCommunication(const Asked& asked,
                                              const std::vector<RankEvents>& ranks,
                                              const std::string& unknown, Answer& answer);

}  // namespace shardscope::questions
