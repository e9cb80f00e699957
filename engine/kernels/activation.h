// The feed-forward part's nonlinearities, element by element, fp32 in plain memory, any thread.
// Backward recomputes the activation beside its gradient: what is costly is common to both, and
// so only the inputs need to be kept.
#pragma once

#include <cstddef>

namespace shardscope::kernels {

/// y = x P(Z <= x), the exact GELU (Hendrycks & Gimpel, arXiv 1606.08415).
void gelu(const float* x, float* y, std::size_t n);
/// y as above, and d: gradients of y in, of x out.
void geluBackward(const float* x, float* y, float* d, std::size_t n);

/// y = silu(gate) x, silu(g) = g / (1 + e^-g) (SwiGLU: Shazeer, arXiv 2002.05202).
void siluGate(const float* gate, const float* x, float* y, std::size_t n);
/// y as above; d: gradients of y in, of x out; dGate: of the gate.
void siluGateBackward(const float* gate, const float* x, float* y, float* d, float* dGate,
                      std::size_t n);

}  // namespace shardscope::kernels
