// What a run was set to do, in words: one list for report and window.
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/run_facts.h"

#include <string>
#include <vector>

namespace shardscope::run {

/// "shakespeare"; of a preset of which anything was set otherwise "changed shakespeare".
[[nodiscard]] std::string modelTitle(const ModelConfig& model);

/// Text is read as bytes. A run that names no data and whose vocabulary holds fewer trains on
/// tokens drawn at random (kSyntheticData) instead of the project's own source tree.
[[nodiscard]] bool holdsBytes(const ModelConfig& model);

struct Setting {
    const char* name;  ///< "batch"
    std::string text;  ///< "8 sequences x 128 tokens per rank, 1 micro-step per step"
};

/// Batch, precision, data, seed, threads and capture level; the link where it is modelled; of a run
/// that measures, that it does. Model, strategy and ranks are columns of the recording (RunFacts).
[[nodiscard]] std::vector<Setting> settingsOf(const RunConfig& config);

/// With the kernels that the run chose at its start where it was free to choose, so that theory is
/// of these. Nothing changes where none is known, or ranks differ.
[[nodiscard]] RunConfig withChosenKernels(RunConfig config, const std::vector<FactRow>& facts);

// What is said of a link that is not there.

/// "modelled: 50 µs, 1.25 GB/s"; empty for ranks on a real link.
[[nodiscard]] std::string modelledLink(const RunConfig& config);

}  // namespace shardscope::run
