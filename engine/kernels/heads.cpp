#include "engine/kernels/heads.h"

#include "engine/control/multiversion.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <cstring>

namespace shardscope::kernels {
namespace {

/// `half` numbers each of cosines, sines; both halves of x and y lie `half` apart.
SHARDSCOPE_FOR_EACH_CPU void rotateHead(const float* __restrict x, const float* __restrict cosine,
                                        const float* __restrict sine, float direction,
                                        float* __restrict y, std::size_t half) {
    for (std::size_t i = 0; i < half; ++i) {
        const float s = sine[i] * direction;
        y[i] = x[i] * cosine[i] - x[i + half] * s;
        y[i + half] = x[i + half] * cosine[i] + x[i] * s;
    }
}

/// Heads of fp32 somewhere in memory.
struct Heads {
    float* data = nullptr;
    std::int64_t row = 0, head = 0, position = 0;  ///< strides, in elements
    [[nodiscard]] float* at(std::int64_t b, std::int64_t h, std::int64_t t) const {
        return data + b * row + h * head + t * position;
    }
};

/// t (B, H, T, D), D contiguous.
Heads headsOf(const at::Tensor& t) {
    return {t.data_ptr<float>(), t.stride(0), t.stride(1), t.stride(2)};
}

/// How heads are rotated while they are moved; null cosines: not at all.
struct Rotation {
    const float* table = nullptr;  ///< (T, 2, D/2)
    float direction = 1;
};

Rotation rotationOf(const at::Tensor& rotary, float direction) {
    if (!rotary.defined()) return {};
    return {rotary.const_data_ptr<float>(), direction};
}

struct Shape {
    std::int64_t rows, heads, context, width;
};

void moveHeads(const Heads& from, const Heads& to, const Shape& shape, const Rotation& rotation) {
    const std::int64_t half = shape.width / 2;
    at::parallel_for(0, shape.rows * shape.context, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t b = i / shape.context, t = i % shape.context;
            const float* cosine = rotation.table + t * shape.width;
            for (std::int64_t h = 0; h < shape.heads; ++h) {
                if (rotation.table == nullptr) {
                    std::memcpy(to.at(b, h, t), from.at(b, h, t),
                                static_cast<std::size_t>(shape.width) * sizeof(float));
                } else {
                    rotateHead(from.at(b, h, t), cosine, cosine + half, rotation.direction,
                               to.at(b, h, t), static_cast<std::size_t>(half));
                }
            }
        }
    });
}

/// (N, 3C) as (3, B, H, T, D), a view.
at::Tensor headsView(const at::Tensor& qkv, std::int64_t rows, std::int64_t heads) {
    return qkv.view({rows, qkv.size(0) / rows, 3, heads, qkv.size(1) / 3 / heads})
        .permute({2, 0, 3, 1, 4});
}

bool ownLoops(const at::Tensor& t) {
    return t.is_cpu() && t.scalar_type() == at::kFloat;
}

}  // namespace

at::Tensor rotaryTable(std::int64_t context, std::int64_t headDim) {
    const std::int64_t half = headDim / 2;
    at::Tensor table = at::empty({context, 2, half});
    float* out = table.mutable_data_ptr<float>();
    for (std::int64_t t = 0; t < context; ++t) {
        for (std::int64_t i = 0; i < half; ++i) {
            const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(headDim);
            const double angle = static_cast<double>(t) * std::pow(kRotaryBase, exponent);
            out[(2 * t) * half + i] = static_cast<float>(std::cos(angle));
            out[(2 * t + 1) * half + i] = static_cast<float>(std::sin(angle));
        }
    }
    return table;
}

at::Tensor unpackHeads(const at::Tensor& qkv, std::int64_t rows, std::int64_t heads,
                       const at::Tensor& rotary) {
    const at::Tensor packed = headsView(qkv, rows, heads);
    at::Tensor out = at::empty(packed.sizes(), qkv.options());
    if (!ownLoops(qkv)) {
        for (std::int64_t part = 0; part < 3; ++part) {
            const bool turned = part < 2 && rotary.defined();
            out[part].copy_(turned ? rotated(packed[part], rotary) : packed[part]);
        }
        return out;
    }
    const Shape shape{rows, heads, packed.size(3), packed.size(4)};
    for (std::int64_t part = 0; part < 3; ++part) {
        moveHeads(headsOf(packed[part]), headsOf(out[part]), shape,
                  part < 2 ? rotationOf(rotary, 1) : Rotation{});
    }
    return out;
}

at::Tensor packHeads(const at::Tensor& dq, const at::Tensor& dk, const at::Tensor& dv,
                     const at::Tensor& rotary) {
    const std::int64_t rows = dq.size(0), heads = dq.size(1), length = dq.size(2);
    at::Tensor packed = at::empty({rows * length, 3 * heads * dq.size(3)}, dq.options());
    const at::Tensor out = headsView(packed, rows, heads);
    const at::Tensor parts[] = {dq, dk, dv};
    for (std::int64_t part = 0; part < 3; ++part) {
        const at::Tensor& d = parts[part];
        if (!ownLoops(d)) {
            const bool turned = part < 2 && rotary.defined();
            out[part].copy_(turned ? rotated(d, rotary, true) : d);
            continue;
        }
        moveHeads(headsOf(d), headsOf(out[part]), {rows, heads, length, dq.size(3)},
                  part < 2 ? rotationOf(rotary, -1) : Rotation{});
    }
    return packed;
}

at::Tensor mergeHeads(const at::Tensor& t) {
    const std::int64_t rows = t.size(0), heads = t.size(1), length = t.size(2);
    const at::Tensor turned = t.transpose(1, 2);
    if (!ownLoops(t) || turned.is_contiguous()) {
        return turned.reshape({rows * length, heads * t.size(3)});
    }
    at::Tensor out = at::empty({rows * length, heads * t.size(3)}, t.options());
    const at::Tensor view = out.view({rows, length, heads, t.size(3)}).transpose(1, 2);
    moveHeads(headsOf(t), headsOf(view), {rows, heads, length, t.size(3)}, {});
    return out;
}

at::Tensor splitHeads(const at::Tensor& t, std::int64_t rows, std::int64_t heads) {
    const at::Tensor view =
        t.view({rows, t.size(0) / rows, heads, t.size(1) / heads}).transpose(1, 2);
    if (!ownLoops(t)) return view.contiguous();
    at::Tensor out = at::empty(view.sizes(), t.options());
    moveHeads(headsOf(view), headsOf(out), {rows, heads, view.size(2), view.size(3)}, {});
    return out;
}

at::Tensor rotated(const at::Tensor& x, const at::Tensor& rotary, bool back) {
    const at::Tensor table = rotary.narrow(0, 0, x.size(2));  // (T, 2, D/2)
    const at::Tensor cosine = table.select(1, 0);
    const at::Tensor sine = back ? table.select(1, 1).neg() : table.select(1, 1);
    const auto halves = x.to(at::kFloat).chunk(2, -1);
    return at::cat({halves[0] * cosine - halves[1] * sine, halves[1] * cosine + halves[0] * sine},
                   -1)
        .to(x.scalar_type());
}

}  // namespace shardscope::kernels
