#include "engine/control/precision_probe.h"

namespace shardscope::control {

PrecisionProbe*& threadPrecisionProbe() {
    thread_local PrecisionProbe* probe = nullptr;
    return probe;
}

const char* toWord(TensorRole role) {
    switch (role) {
        case TensorRole::kMasterParameter:
            return "master parameter";
        case TensorRole::kParameter:
            return "parameter";
        case TensorRole::kActivation:
            return "activation";
        case TensorRole::kNormOutput:
            return "norm output";
        case TensorRole::kNormStatistic:
            return "norm statistic";
        case TensorRole::kQueryKeyValue:
            return "query, key, value";
        case TensorRole::kAttentionOutput:
            return "attention output";
        case TensorRole::kLogits:
            return "logits";
        case TensorRole::kLogitGradient:
            return "logit gradient";
        case TensorRole::kLoss:
            return "loss";
        case TensorRole::kActivationGradient:
            return "activation gradient";
        case TensorRole::kGradient:
            return "gradient";
        case TensorRole::kReduction:
            return "reduction";
        case TensorRole::kReducedGradient:
            return "reduced gradient";
        case TensorRole::kFirstMoment:
            return "first moment";
        case TensorRole::kSecondMoment:
            return "second moment";
    }
    return "unknown";
}

}  // namespace shardscope::control
