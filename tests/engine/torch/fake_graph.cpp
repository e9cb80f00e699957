#include "tests/engine/torch/fake_graph.h"

#include <algorithm>
#include <atomic>

namespace shardscope::test {
namespace {

std::uint64_t nextId() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

}  // namespace

FakeGraph::FakeGraph(FakeBranch origin, std::vector<FakeBranch> others)
    : m_origin(std::move(origin)), m_others(std::move(others)) {
    for (std::size_t i = 0; i < m_others.size(); ++i) m_streams.emplace_back();
}

void FakeGraph::run() {
    const std::lock_guard turn(m_running);
    const auto replay = std::make_shared<FakeReplay>();
    auto stream = m_streams.begin();
    for (const FakeBranch& branch : m_others) {
        (stream++)->queue([&branch, replay] {
            for (const auto& item : branch) item(*replay);
        });
    }
    for (const auto& item : m_origin) item(*replay);
}

FakeCapture::FakeCapture(FakeStream& origin) : m_origin(&origin), m_id(nextId()) {}

void FakeCapture::begin() {
    {
        const std::lock_guard lock(m_mutex);
        m_parts[m_origin];
    }
    m_origin->divertTo(shared_from_this());
}

void FakeCapture::take(FakeStream& from, std::function<void()> work) {
    const std::lock_guard lock(m_mutex);
    Part& part = m_parts[&from];
    ++part.known[&from];
    part.branch.emplace_back([work = std::move(work)](FakeReplay&) { work(); });
}

std::size_t FakeCapture::signal(FakeStream& from) {
    const std::lock_guard lock(m_mutex);
    Part& part = m_parts[&from];
    const std::size_t number = m_signals.size();
    m_signals.push_back(part.known);
    part.branch.emplace_back([number](FakeReplay& replay) { replay.signal(number); });
    return number;
}

void FakeCapture::wait(FakeStream& stream, std::size_t signal) {
    {
        const std::lock_guard lock(m_mutex);
        Part& part = m_parts[&stream];
        for (const auto& [of, count] : m_signals[signal])
            part.known[of] = std::max(part.known[of], count);
        part.branch.emplace_back([signal](FakeReplay& replay) { replay.await(signal); });
    }
    stream.divertTo(shared_from_this());
}

void FakeCapture::invalidate() {
    const std::lock_guard lock(m_mutex);
    m_valid = false;
}

bool FakeCapture::valid() const {
    const std::lock_guard lock(m_mutex);
    return m_valid;
}

bool FakeCapture::joined() const {
    const std::lock_guard lock(m_mutex);
    const Known& end = m_parts.at(m_origin).known;
    return std::all_of(m_parts.begin(), m_parts.end(), [&](const auto& entry) {
        const auto& [stream, part] = entry;
        const auto all = part.known.find(stream);
        const auto seen = end.find(stream);
        return all == part.known.end() || (seen != end.end() && seen->second == all->second);
    });
}

std::shared_ptr<FakeGraph> FakeCapture::graph() {
    const std::lock_guard lock(m_mutex);
    FakeBranch origin;
    std::vector<FakeBranch> others;
    for (auto& [stream, part] : m_parts)
        (stream == m_origin ? origin : others.emplace_back()) = std::move(part.branch);
    return std::make_shared<FakeGraph>(std::move(origin), std::move(others));
}

void FakeCapture::end() {
    const std::lock_guard lock(m_mutex);
    for (const auto& [stream, part] : m_parts) stream->divertTo(nullptr);
}

}  // namespace shardscope::test
