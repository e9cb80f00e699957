#include "profiler/capture/capture_session.h"
#include "profiler/capture/device_annotation.h"
#include "profiler/collectors/operators/operator_collector.h"

#include <ATen/record_function.h>

#include <memory>
#include <utility>

namespace shardscope::collectors {
namespace {

std::unique_ptr<at::ObserverContext> onStart(const at::RecordFunction&) {
    const capture::Context& context = capture::effectiveContext();
    capture::pushLaunchContext({context.step, context.layer, context.phase, kEmptyString});
    return nullptr;
}

void onEnd(const at::RecordFunction&, at::ObserverContext*) {
    capture::popLaunchContext();
}

}  // namespace

BackwardContexts::BackwardContexts()
    : m_handle(at::addGlobalCallback(at::RecordFunctionCallback(&onStart, &onEnd)
                                         .scopes({at::RecordScope::BACKWARD_FUNCTION}))) {}

BackwardContexts::~BackwardContexts() {
    at::removeCallback(m_handle);
}

void BackwardContexts::setEnabled(bool enabled) {
    if (std::exchange(m_enabled, enabled) == enabled) return;
    enabled ? at::reenableCallback(m_handle) : at::disableCallback(m_handle);
}

}  // namespace shardscope::collectors
