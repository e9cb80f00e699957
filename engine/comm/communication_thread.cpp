#include "engine/comm/communication_thread.h"

#include "storage/model/host_clock.h"

#include <pthread.h>

#include <utility>

namespace shardscope::comm {

control::CollectiveReport request(CollectiveOp operation, DataType dtype, std::size_t bytes,
                                  const CollectiveTag& tag, const char* algorithm,
                                  const char* protocol) {
    control::CollectiveReport report;
    report.operation = operation;
    report.dtype = dtype;
    report.cause = tag.cause;
    report.layer = tag.layer;
    report.step = tag.step;
    report.sizeBytes = static_cast<std::int64_t>(bytes);
    report.algorithm = tag.algorithm != nullptr ? tag.algorithm : algorithm;
    report.protocol = protocol;
    return report;
}

Call callOf(const HostWork& work, std::int32_t detail, std::uint64_t offset) {
    const control::CollectiveReport& report = work.report;
    return {{report.operation, report.dtype, detail, static_cast<std::uint64_t>(report.sizeBytes),
             offset},
            report.sequence,
            report.layer,
            report.group};
}

CommunicationThread::CommunicationThread(control::Observer* observer, std::uint32_t group)
    : m_observer(observer), m_group(group), m_thread([this] { run(); }) {
    pthread_setname_np(m_thread.native_handle(), "communication");
}

CommunicationThread::~CommunicationThread() {
    {
        const MutexLock lock(m_mutex);
        m_stopping = true;
    }
    m_wakeUp.notifyOne();
    m_thread.join();
}

Work CommunicationThread::submit(const control::CollectiveReport& report, Body body) {
    Queued queued{std::make_shared<HostWork>(), std::move(body), true};
    queued.work->report = report;
    queued.work->report.group = m_group;
    if (report.issueNs == 0) queued.work->report.issueNs = hostNow();
    return enqueue(std::move(queued));
}

Work CommunicationThread::submitUnseen(Body body) {
    return enqueue({std::make_shared<HostWork>(), std::move(body), false});
}

Work CommunicationThread::enqueue(Queued queued) {
    Work work(queued.work);
    {
        const MutexLock lock(m_mutex);
        std::uint64_t& sequence = queued.work->report.sequence;
        if (queued.seen && sequence == 0) sequence = ++m_issued;
        m_queue.push_back(std::move(queued));
    }
    m_wakeUp.notifyOne();
    return work;
}

void CommunicationThread::run() {
    for (;;) {
        Queued queued;
        {
            MutexLock lock(m_mutex);
            while (!m_stopping && m_queue.empty()) m_wakeUp.wait(lock);
            if (m_queue.empty()) return;
            queued = std::move(m_queue.front());
            m_queue.pop_front();
        }
        perform(queued);
    }
}

void CommunicationThread::perform(Queued& queued) {
    HostWork& work = *queued.work;
    try {
        if (m_failure) std::rethrow_exception(m_failure);
        work.report.startNs = hostNow();
        queued.body(work);
        // Unless the body knows better.
        if (work.report.endNs == 0) work.report.endNs = hostNow();
        work.report.arrivalsNs = work.arrivals;
        if (!work.levels.empty()) work.levels.back().endNs = work.report.endNs;
        work.report.levels = work.levels;
        if (queued.seen && m_observer != nullptr) m_observer->collective(work.report);
    } catch (...) {
        m_failure = std::current_exception();
    }
    work.finish(m_failure);
}

}  // namespace shardscope::comm
