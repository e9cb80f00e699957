// Threads of a kernel that take turns on one thread of the host, and barriers between them.
//
// A thread each would be woken by the system at every barrier, which took nine tenths of the time
// of tests of kernels. Fibers run in order, from one barrier to the next; backwards where that is
// asked.
#pragma once

#include <ucontext.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

namespace shardscope::testing {

class Fibers {
public:
    /// Of a barrier that all of `count` fibers pass together, as often as they come to it.
    struct Barrier {
        explicit Barrier(unsigned of) : count(of) {}
        unsigned count, arrived = 0, generation = 0;
    };

    /// Runs body(0) to body(count - 1) to their ends. `resumed` is called with a fiber's number
    /// whenever it goes on. Bodies must not throw.
    static void run(unsigned count, const std::function<void(unsigned)>& body,
                    const std::function<void(unsigned)>& resumed, bool backwards = false) {
        Fibers fibers(count, body, resumed, backwards);
        Fibers* const outer = s_running;
        s_running = &fibers;
        fibers.resume(fibers.first());
        s_running = outer;
    }

    /// For a fiber. Ends the program where no other fiber could make the barrier complete.
    static void wait(Barrier& barrier) {
        const unsigned mine = barrier.generation;
        if (++barrier.arrived == barrier.count) {
            barrier.arrived = 0;
            ++barrier.generation;
            s_running->m_idle = 0;
            return;
        }
        while (barrier.generation == mine) s_running->next();
    }

private:
    /// Kernels keep little on the stack; pages that are not touched take no memory.
    static constexpr std::size_t kStackBytes = std::size_t{256} << 10;

    Fibers(unsigned count, const std::function<void(unsigned)>& body,
           const std::function<void(unsigned)>& resumed, bool backwards)
        : m_body(body),
          m_resumed(resumed),
          m_backwards(backwards),
          m_contexts(count),
          m_ended(count),
          m_left(count) {
        while (s_stacks.size() < count)
            s_stacks.push_back(std::make_unique_for_overwrite<std::byte[]>(kStackBytes));
        for (unsigned i = 0; i < count; ++i) prepare(m_contexts[i], s_stacks[i].get());
#ifdef __SANITIZE_THREAD__
        for (unsigned i = 0; i < count; ++i) m_tsan.push_back(__tsan_create_fiber(0));
#endif
    }

    static void prepare(ucontext_t& context, std::byte* stack) {
        ::getcontext(&context);
        context.uc_stack.ss_sp = stack;
        context.uc_stack.ss_size = kStackBytes;
        ::makecontext(&context, &Fibers::enter, 0);
    }

    [[nodiscard]] unsigned first() const {
        return m_backwards ? static_cast<unsigned>(m_contexts.size()) - 1 : 0;
    }
    [[nodiscard]] unsigned after(unsigned fiber) const {
        const auto count = static_cast<unsigned>(m_contexts.size());
        return (fiber + (m_backwards ? count - 1 : 1)) % count;
    }

    static void enter() {
        Fibers& fibers = *s_running;
        fibers.m_body(fibers.m_current);
        fibers.m_ended[fibers.m_current] = true;
        fibers.m_idle = 0;
        if (--fibers.m_left == 0)
            fibers.leave();
        else
            fibers.next();
    }

    void resume(unsigned fiber) {
        m_current = fiber;
        m_resumed(fiber);
#ifdef __SANITIZE_THREAD__
        m_tsanCaller = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(m_tsan[fiber], 0);
#endif
        ::swapcontext(&m_caller, &m_contexts[fiber]);
#ifdef __SANITIZE_THREAD__
        for (void* each : m_tsan) __tsan_destroy_fiber(each);
#endif
    }

    void leave() {
#ifdef __SANITIZE_THREAD__
        __tsan_switch_to_fiber(m_tsanCaller, 0);
#endif
        ::setcontext(&m_caller);
    }

    void next() {
        if (++m_idle > 2 * m_contexts.size()) {
            std::fputs("threads of a kernel wait for others that do not come to the barrier\n",
                       stderr);
            std::abort();
        }
        const unsigned from = m_current;
        unsigned to = after(from);
        while (m_ended[to]) to = after(to);
        if (to == from) return;
        m_current = to;
        m_resumed(to);
#ifdef __SANITIZE_THREAD__
        __tsan_switch_to_fiber(m_tsan[to], 0);
#endif
        ::swapcontext(&m_contexts[from], &m_contexts[to]);
    }

    static inline thread_local Fibers* s_running = nullptr;
    static inline thread_local std::vector<std::unique_ptr<std::byte[]>> s_stacks;

    const std::function<void(unsigned)>& m_body;
    const std::function<void(unsigned)>& m_resumed;
    bool m_backwards;
    std::vector<ucontext_t> m_contexts;
    std::vector<bool> m_ended;
    ucontext_t m_caller{};
    unsigned m_current = 0, m_left;
    std::size_t m_idle = 0;  ///< turns since a barrier was passed or a fiber ended
#ifdef __SANITIZE_THREAD__
    std::vector<void*> m_tsan;
    void* m_tsanCaller = nullptr;
#endif
};

}  // namespace shardscope::testing
