#include "engine/training/micro_step_graphs.h"

#include "engine/control/failure_sentence.h"

#include <fmt/format.h>

#include <exception>
#include <stdexcept>

namespace shardscope::training {
namespace {

std::size_t placeOf(const MicroStepKind& kind) {
    return (kind.first ? 4U : 0U) + (kind.last ? 2U : 0U) + kind.buffer;
}

std::string nameOf(const MicroStepKind& kind) {
    if (kind.first && kind.last) return "the only micro-step";
    if (kind.first) return "the first micro-step";
    return kind.last ? "the last micro-step" : "a micro-step in between";
}

}  // namespace

MicroStepGraphs::MicroStepGraphs(control::DeviceRuntime& runtime, comm::Communicator& communicator,
                                 control::Observer* observer)
    : m_runtime(runtime), m_recorders{communicator.graphs()}, m_end(runtime.createEvent()) {
    if (m_recorders[0] == nullptr)
        throw std::runtime_error(
            "these ranks talk in a way that cannot be part of a device graph; leave --graphs out");
    if (observer != nullptr && observer->graphs() != nullptr)
        m_recorders.push_back(observer->graphs());
}

MicroStepGraphs::~MicroStepGraphs() {
    const bool idle = passed();
    for (Graph& graph : m_graphs)
        if (!idle) static_cast<void>(graph.release());
    m_runtime.destroy(m_end);
}

/// Whether no graph runs any more, as far as the device says.
bool MicroStepGraphs::passed() const noexcept {
    try {
        return m_runtime.reached(m_end);
    } catch (const control::DeviceError&) {
        return false;
    }
}

void MicroStepGraphs::run(std::int32_t step, const MicroStepKind& kind, double constant,
                          const std::function<void()>& work) {
    if (!m_firstStep) m_firstStep = step;
    if (step == *m_firstStep) return work();
    if (m_constant != constant) forget();
    m_constant = constant;
    Graph& graph = m_graphs[placeOf(kind)];
    if (!graph) graph = capture(kind, work);
    graph->launch(step);
    m_runtime.record(m_end, m_runtime.currentStream());
}

/// Before the first one what the steps so far needed goes back to the device: graphs have memory of
/// their own.
MicroStepGraphs::Graph MicroStepGraphs::capture(const MicroStepKind& kind,
                                                const std::function<void()>& work) {
    bool none = true;
    for (const Graph& graph : m_graphs) none = none && !graph;
    if (none) m_runtime.releaseCachedMemory();
    try {
        return std::make_unique<control::CapturedGraph>(m_runtime, m_recorders, nameOf(kind), work);
    } catch (const comm::CommunicationError&) {
        throw;  // a peer is gone
    } catch (const std::exception& error) {
        throw std::runtime_error(
            fmt::format("the graph of {} could not be captured: {}; leave --graphs out",
                        nameOf(kind), control::sentenceOf(error)));
    }
}

void MicroStepGraphs::forget() {
    if (!m_constant) return;
    m_runtime.synchronize(m_end);
    for (Graph& graph : m_graphs) {
        if (graph) graph->awaitReported();
        graph.reset();
    }
}

}  // namespace shardscope::training
