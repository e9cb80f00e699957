#include "engine/kernels/activation.h"

#include "engine/control/multiversion.h"
#include "engine/kernels/vector_math.h"

namespace shardscope::kernels {

SHARDSCOPE_FOR_EACH_CPU void gelu(const float* __restrict x, float* __restrict y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = x[i] * normal(x[i]).cumulative;
}

SHARDSCOPE_FOR_EACH_CPU void geluBackward(const float* __restrict x, float* __restrict y,
                                          float* __restrict d, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const Normal z = normal(x[i]);
        y[i] = x[i] * z.cumulative;
        d[i] *= z.cumulative + x[i] * z.density;
    }
}

SHARDSCOPE_FOR_EACH_CPU void siluGate(const float* __restrict gate, const float* __restrict x,
                                      float* __restrict y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        y[i] = gate[i] * sigmoid(gate[i]) * x[i];
    }
}

SHARDSCOPE_FOR_EACH_CPU void siluGateBackward(const float* __restrict gate,
                                              const float* __restrict x, float* __restrict y,
                                              float* __restrict d, float* __restrict dGate,
                                              std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const float share = sigmoid(gate[i]);
        const float silu = gate[i] * share;
        const float dy = d[i];
        y[i] = silu * x[i];
        d[i] = dy * silu;
        dGate[i] = dy * x[i] * (share + silu * (1.0F - share));
    }
}

}  // namespace shardscope::kernels
