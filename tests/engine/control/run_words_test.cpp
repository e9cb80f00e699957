#include "engine/checkpoint/checkpoint.h"
#include "engine/control/observer.h"
#include "engine/control/precision_probe.h"
#include "engine/control/run_config.h"
#include "engine/theory/memory_theory.h"
#include "engine/theory/model_theory.h"
#include "tests/support/word_list_test.h"

namespace shardscope::test {
namespace {

using OfARun =
    testing::Types<control::Norm, control::Position, control::FeedForward, control::Strategy,
                   control::Device, control::Precision, control::GradientType,
                   control::DeviceCapture, control::Schedule, control::Compression,
                   control::Offload, control::Transport, control::Metric, control::TensorRole,
                   theory::Moment, theory::FlopsVariant, checkpoint::StateKind>;
INSTANTIATE_TYPED_TEST_SUITE_P(OfARun, WordList, OfARun);

}  // namespace
}  // namespace shardscope::test
