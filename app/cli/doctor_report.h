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

}  // namespace shardscope::cli
