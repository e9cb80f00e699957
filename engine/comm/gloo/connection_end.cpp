#include "engine/comm/gloo/connection_end.h"

#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <chrono>
#include <exception>

namespace shardscope::comm {
namespace {

constexpr std::chrono::hours kForEver{24 * 3650};

}  // namespace

ConnectionEnd::ConnectionEnd(const std::function<Work(std::vector<at::Tensor>&)>& receive)
    : m_row{at::zeros({1}, at::kByte)},
      m_neverAnswered(receive(m_row)),
      m_thread([this] { listen(); }) {}

ConnectionEnd::~ConnectionEnd() {
    m_neverAnswered->abort();
    m_thread.join();
}

void ConnectionEnd::listen() {
    const at::DisableRecordFunctionGuard bookkeeping;
    try {
        m_neverAnswered->wait(kForEver);
    } catch (const std::exception&) {  // what it was waited for
    }
    const std::lock_guard lock(m_mutex);
    m_ended = true;
    for (const Work& message : m_messages) message->abort();
}

void ConnectionEnd::add(const Work& message) {
    const std::lock_guard lock(m_mutex);
    m_messages.push_back(message);
    if (m_ended) message->abort();
}

void ConnectionEnd::remove(const Work& message) {
    const std::lock_guard lock(m_mutex);
    const auto found = std::find(m_messages.begin(), m_messages.end(), message);
    std::swap(*found, m_messages.back());
    m_messages.pop_back();
}

}  // namespace shardscope::comm
