#include "engine/checkpoint/checkpoint.h"
#include "engine/control/observer.h"
#include "engine/control/precision_probe.h"
#include "engine/run/config/run_config.h"
#include "engine/run/theory/memory_theory.h"
#include "engine/run/theory/model_theory.h"
#include "tests/support/word_list_test.h"

namespace shardscope::test {
namespace {

using OfARun = testing::Types<run::Norm, run::Position, run::FeedForward, run::Strategy,
                              run::Device, run::Precision, run::GradientType, run::DeviceCapture,
                              run::Schedule, run::Compression, run::Offload, run::Transport,
                              control::Metric, control::TensorRole, theory::Moment,
                              theory::FlopsVariant, checkpoint::StateKind>;
INSTANTIATE_TYPED_TEST_SUITE_P(OfARun, WordList, OfARun);

}  // namespace
}  // namespace shardscope::test
