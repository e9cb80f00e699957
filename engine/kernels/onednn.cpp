#include "engine/kernels/onednn.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

#include <array>

namespace shardscope::kernels {
namespace {

/// The two functions used; their types are those of oneDNN's public header, and have not changed
/// since version 1.
struct Library {
    decltype(&dnnl_sgemm) sgemm = nullptr;
    std::string state;
};

bool multiplies(decltype(&dnnl_sgemm) sgemm) {
    const std::array<float, 4> a{1, 2, 3, 4}, b{5, 6, 7, 8}, right{19, 22, 43, 50};
    std::array<float, 4> c{};
    const auto status = sgemm('N', 'N', 2, 2, 2, 1.0F, a.data(), 2, b.data(), 2, 0.0F, c.data(), 2);
    return status == dnnl_success && c == right;
}

Library load() {
    void* const handle = ::dlopen("libdnnl.so.3", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return {nullptr, fmt::format("not loaded: {}", ::dlerror())};
    const auto version = reinterpret_cast<decltype(&dnnl_version)>(::dlsym(handle, "dnnl_version"));
    const auto sgemm = reinterpret_cast<decltype(&dnnl_sgemm)>(::dlsym(handle, "dnnl_sgemm"));
    if (version == nullptr || sgemm == nullptr)
        return {nullptr, "not used: libdnnl.so.3 lacks dnnl_sgemm"};
    const dnnl_version_t& found = *version();
    const std::string number = fmt::format("{}.{}.{}", found.major, found.minor, found.patch);
    if (!multiplies(sgemm))
        return {nullptr, fmt::format("not used: {} does not multiply on this CPU", number)};
    return {sgemm, number};
}

const Library& library() {
    static const Library loaded = load();
    return loaded;
}

}  // namespace

bool Sgemm::run(const float* a, const float* b, float* c) const {
    return library().sgemm(transposeA, transposeB, m, n, k, 1.0F, a, lda, b, ldb, beta, c, ldc) ==
           dnnl_success;
}

bool oneDnnIsThere() {
    return library().sgemm != nullptr;
}

const std::string& oneDnnState() {
    return library().state;
}

}  // namespace shardscope::kernels
