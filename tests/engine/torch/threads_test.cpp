// Loops of our own really run on the threads that a rank is given.
#include "engine/kernels/attention.h"

#include <ATen/Parallel.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <thread>

namespace shardscope::kernels {
namespace {

/// Threads of a rank, for one test; LibTorch's default afterwards.
class TwoThreads : public testing::Test {
protected:
    TwoThreads() : m_before(at::get_num_threads()) { at::set_num_threads(2); }
    ~TwoThreads() override { at::set_num_threads(m_before); }

private:
    int m_before;
};

/// at::parallel_for is a template that a file compiled without OpenMP turns into a plain loop.
TEST_F(TwoThreads, ShareALoop) {
    std::mutex mutex;
    std::set<std::thread::id> seen;
    at::parallel_for(0, 2, 1, [&](std::int64_t, std::int64_t) {
        const std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
    });
    EXPECT_EQ(seen.size(), 2u);
}

TEST_F(TwoThreads, GiveTheSameAttentionAsOne) {
    const at::Tensor qkv = at::randn({2 * 16, 3 * 4 * 8});
    for (const AttentionKind kind : {AttentionKind::kBlocked, AttentionKind::kFlash}) {
        useAttention(kind);
        const at::Tensor two = causalAttention(qkv, 2, 4);
        at::set_num_threads(1);
        EXPECT_TRUE(at::allclose(causalAttention(qkv, 2, 4), two, 1e-6, 1e-6)) << toWord(kind);
        at::set_num_threads(2);
    }
    useAttention(AttentionKind::kFlash);
}

}  // namespace
}  // namespace shardscope::kernels
