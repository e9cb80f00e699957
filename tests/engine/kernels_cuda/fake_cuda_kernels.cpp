// The table of our kernels: each call counted by what it reads and writes, then emulated.
#include "tests/engine/kernels_cuda/fake_cuda_state.h"
#include "tests/support/cuda_emulation.h"

#include <stdexcept>
#include <string>

namespace shardscope::test {
namespace {

using namespace kernels;

/// Runs `kernel` when computing; it is one launch of `bytes`, which is looked at then.
template <class Kernel>
void count(const char* name, std::int64_t bytes, const Kernel& kernel) {
    FakeCudaState& state = fakeCudaState();
    state.tally.add(std::string("our ") + name, 1, bytes);
    if (!state.compute) return;
    state.launch([kernel] {
        const int before = testing::emulatedLaunches();
        kernel();
        if (testing::emulatedLaunches() != before + 1) throw std::logic_error("not one launch");
    });
}

void softmaxCrossEntropy(const DeviceLogits& logits, const std::int64_t* targets, float scale,
                         bool gradient, double* loss, void* stream) {
    const std::int64_t passes = gradient ? 2 : 1;
    count("softmaxCrossEntropy", passes * logits.rows * logits.width * bytesOf(logits.dtype), [=] {
        device::kTable.softmaxCrossEntropy(logits, targets, scale, gradient, loss, stream);
    });
}

void softmaxStatistics(const DeviceLogits& logits, std::int64_t firstColumn,
                       const std::int64_t* targets, float* statistics, void* stream) {
    count("softmaxStatistics", logits.rows * logits.width * bytesOf(logits.dtype), [=] {
        device::kTable.softmaxStatistics(logits, firstColumn, targets, statistics, stream);
    });
}

void softmaxGradient(const DeviceLogits& logits, std::int64_t firstColumn,
                     const std::int64_t* targets, const float* statistics, float scale,
                     void* stream) {
    count("softmaxGradient", 2 * logits.rows * logits.width * bytesOf(logits.dtype), [=] {
        device::kTable.softmaxGradient(logits, firstColumn, targets, statistics, scale, stream);
    });
}

void normForward(const DeviceNormForward& norm, void* stream) {
    const std::int64_t tensors = 2 + (norm.delta != nullptr ? 2 : 0) + (norm.copy != nullptr);
    const std::int64_t each = bytesOf(norm.dtype);
    const std::int64_t vectors = norm.bias == nullptr ? 1 : 2;
    count("normForward",
          tensors * norm.rows * norm.width * each + vectors * (norm.width * each + 4 * norm.rows),
          [=] { device::kTable.normForward(norm, stream); });
}

void normBackward(const DeviceNormBackward& norm, void* stream) {
    const std::int64_t tensors = norm.skip != nullptr ? 4 : 3;
    const std::int64_t statistics = norm.mean == nullptr ? 1 : 2;
    const std::int64_t vectors = norm.dBias == nullptr ? 1 : 2;
    const std::int64_t sums = normParts(norm.rows) + normGroups(norm.rows);
    const std::int64_t passes = norm.addWeight ? 2 : 1;
    // What of `work` is used is written and read.
    count("normBackward",
          (tensors * norm.rows + 1) * norm.width * bytesOf(norm.dtype) +
              4 * (2 * vectors * sums * norm.width + (4 + statistics) * norm.rows) +
              vectors * passes * norm.width * bytesOf(norm.gradientType),
          [=] { device::kTable.normBackward(norm, stream); });
}

void activation(const DeviceActivation& a, void* stream) {
    count("activation", (a.gate != nullptr ? 3 : 2) * a.n * bytesOf(a.dtype),
          [=] { device::kTable.activation(a, stream); });
}

void activationBackward(const DeviceActivation& a, void* stream) {
    count("activationBackward", (a.gate != nullptr ? 6 : 4) * a.n * bytesOf(a.dtype),
          [=] { device::kTable.activationBackward(a, stream); });
}

void embed(const DeviceEmbedding& e, const void* table, const void* positions, std::int64_t context,
           void* x, bool add, void* stream) {
    const std::int64_t rows = 2 * e.tokens + (positions != nullptr ? context : 0);
    count("embed", (rows + (add ? e.tokens : 0)) * e.hidden * bytesOf(e.dtype) + 8 * e.tokens,
          [=] { device::kTable.embed(e, table, positions, context, x, add, stream); });
}

/// As if no token came twice; for positions dx is read once more.
void addEmbeddingGradients(const DeviceEmbedding& e, const DeviceEmbeddingGradients& gradients,
                           void* stream) {
    const std::int64_t dx = bytesOf(e.dtype), twice = 2 * bytesOf(gradients.gradientType);
    std::int64_t bytes = e.tokens * (e.hidden * (dx + twice) + 8);
    if (gradients.positions != nullptr)
        bytes += e.hidden * (e.tokens * dx + gradients.context * twice);
    count("addEmbeddingGradients", bytes,
          [=] { device::kTable.addEmbeddingGradients(e, gradients, stream); });
}

void adamW(const StepUpdate* update, std::int64_t n, std::int64_t decaying, float* parameter,
           const float* gradient, float* firstMoment, float* secondMoment, void* cast,
           void* stream) {
    count("adamW", n * (cast != nullptr ? 30 : 28), [=] {
        device::kTable.adamW(update, n, decaying, parameter, gradient, firstMoment, secondMoment,
                             cast, stream);
    });
}

void sumOfSquares(const float* values, std::int64_t n, double* out, void* stream) {
    count("sumOfSquares", 4 * n, [=] { device::kTable.sumOfSquares(values, n, out, stream); });
}

void beginUpdate(StepUpdate* update, double stop, double change, void* stream) {
    count("beginUpdate", sizeof *update,
          [=] { device::kTable.beginUpdate(update, stop, change, stream); });
}

void decideUpdate(const UpdateRule& rule, StepUpdate* update, void* stream) {
    count("decideUpdate", 2 * sizeof *update,
          [=] { device::kTable.decideUpdate(rule, update, stream); });
}

}  // namespace

const DeviceKernels& countedKernels() {
    static const DeviceKernels table{.adamW = &adamW,
                                     .softmaxCrossEntropy = &softmaxCrossEntropy,
                                     .softmaxStatistics = &softmaxStatistics,
                                     .softmaxGradient = &softmaxGradient,
                                     .sumOfSquares = &sumOfSquares,
                                     .beginUpdate = &beginUpdate,
                                     .decideUpdate = &decideUpdate,
                                     .normForward = &normForward,
                                     .normBackward = &normBackward,
                                     .activation = &activation,
                                     .activationBackward = &activationBackward,
                                     .embed = &embed,
                                     .addEmbeddingGradients = &addEmbeddingGradients};
    return table;
}

}  // namespace shardscope::test
