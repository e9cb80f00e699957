// Where tensors are made, their type is reported to a listener: what `--precision-report` lists
// is what ran, not what was asked for. A thread's listener is null but in the step that is
// reported; then a note costs one branch. Torch-free.
#pragma once

#include "storage/model/events.h"
#include "storage/model/words.h"

#include <cstdint>
#include <utility>

namespace shardscope::control {

enum class TensorRole : std::uint8_t {
    kMasterParameter = 1,
    kParameter,  ///< as it is computed with
    kActivation,
    kNormOutput,
    kNormStatistic,  ///< means and inverse deviations kept for backward
    kQueryKeyValue,
    kAttentionOutput,
    kLogits,
    kLogitGradient,
    kLoss,
    kActivationGradient,
    kGradient,         ///< of a parameter, whole, before it is reduced over ranks
    kReduction,        ///< what the communicator carries
    kReducedGradient,  ///< what the optimizer reads
    kFirstMoment,
    kSecondMoment,
};
constexpr auto wordsOf(TensorRole) {
    return wordList<Word<TensorRole>>({{TensorRole::kMasterParameter, "master parameter"},
                                       {TensorRole::kParameter, "parameter"},
                                       {TensorRole::kActivation, "activation"},
                                       {TensorRole::kNormOutput, "norm output"},
                                       {TensorRole::kNormStatistic, "norm statistic"},
                                       {TensorRole::kQueryKeyValue, "query, key, value"},
                                       {TensorRole::kAttentionOutput, "attention output"},
                                       {TensorRole::kLogits, "logits"},
                                       {TensorRole::kLogitGradient, "logit gradient"},
                                       {TensorRole::kLoss, "loss"},
                                       {TensorRole::kActivationGradient, "activation gradient"},
                                       {TensorRole::kGradient, "gradient"},
                                       {TensorRole::kReduction, "reduction"},
                                       {TensorRole::kReducedGradient, "reduced gradient"},
                                       {TensorRole::kFirstMoment, "first moment"},
                                       {TensorRole::kSecondMoment, "second moment"}});
}

class PrecisionProbe {
public:
    virtual ~PrecisionProbe() = default;
    /// `where` is a static string: the operator or buffer.
    virtual void tensor(TensorRole role, DataType type, const char* where) = 0;
};

/// Of the calling thread.
PrecisionProbe*& threadPrecisionProbe();

inline void notePrecision(TensorRole role, DataType type, const char* where) {
    if (PrecisionProbe* probe = threadPrecisionProbe()) probe->tensor(role, type, where);
}

/// Installs `probe` (may be null) on this thread from construction to destruction.
class PrecisionScope {
public:
    explicit PrecisionScope(PrecisionProbe* probe)
        : m_previous(std::exchange(threadPrecisionProbe(), probe)) {}
    ~PrecisionScope() { threadPrecisionProbe() = m_previous; }
    PrecisionScope(const PrecisionScope&) = delete;
    PrecisionScope& operator=(const PrecisionScope&) = delete;

private:
    PrecisionProbe* m_previous;
};

}  // namespace shardscope::control
