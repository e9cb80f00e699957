// What `shardscope doctor` found, as text and as JSON (schema shardscope.doctor/1).
#pragma once

#include "storage/model/words.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::cli {

enum class CheckStatus : std::uint8_t {
    kOk,
    kNote,     ///< worth knowing; nothing needs to change
    kMissing,  ///< not there; something cannot be done without
    kProblem,  ///< there, and not as it should be
};
constexpr auto wordsOf(CheckStatus) {
    return wordList<Word<CheckStatus>>({{CheckStatus::kOk, "ok"},
                                        {CheckStatus::kNote, "note"},
                                        {CheckStatus::kMissing, "missing"},
                                        {CheckStatus::kProblem, "problem"}});
}

struct Check {
    std::string id;  ///< "section.subject", stable
    CheckStatus status = CheckStatus::kOk;
    std::string found;
    std::string remedy;  ///< what to do or to type; empty: nothing
};

struct Diagnosis {
    std::vector<Check> checks;  ///< in the order of their sections
    bool cpu = false;           ///< training on the CPU works
    bool cuda = false;          ///< training on a GPU works
    bool tracing = false;       ///< and its kernels can be recorded
    int exitCode = 0;
};

[[nodiscard]] std::string doctorText(const Diagnosis& diagnosis);
[[nodiscard]] std::string doctorJson(const Diagnosis& diagnosis);

/// What `shardscope doctor` itself knows of the machine around a GPU, beside the probe's word.
struct GpuSurroundings {
    bool wanted = false;           ///< a GPU run is asked for: its absence is not a mere note
    bool moduleFile = false;       ///< libshardscope_cuda.so lies beside the rank program
    int toolkitVersion = 0;        ///< 13000; 0: not known
    std::string toolkit;           ///< nvcc's path, or empty
    std::vector<std::string> pci;  ///< GPUs on the bus, whatever the driver says
    std::vector<std::string> environment;  ///< NAME=value
    std::string profilingRule;  ///< /proc/driver/nvidia/params; empty: no driver is loaded
    bool root = false;

    /// How bad it is when a GPU cannot be used: only a note where there is none and none was
    /// requested.
    [[nodiscard]] CheckStatus without(CheckStatus bad) const {
        return wanted || !pci.empty() ? bad : CheckStatus::kNote;
    }
};

}  // namespace shardscope::cli
