#include "profiler/collectors/operators/operator_collector.h"

#include "profiler/capture/device_annotation.h"
#include "storage/model/host_clock.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope::collectors {
namespace {

// RecordFunction calls captureless functions, so the one session is reached through here.
std::atomic<capture::CaptureSession*> g_session{nullptr};

constexpr std::string_view kEngineWrapper = "autograd::engine::evaluate_function";
constexpr std::string_view kNodePrefix = "torch::autograd::CppNode<";

struct OpenOperator {
    std::int64_t startNs = 0;
    StringId name;
    StringId arguments;
    bool recorded = false;
    bool annotated = false;  ///< its launch context is on the device tracer's stack
};

/// Looked up by views of what they are made of, so that what is known already allocates nothing.
struct HashOfView {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
        return std::hash<std::string_view>{}(text);
    }
    std::size_t operator()(std::span<const std::int64_t> numbers) const {
        std::uint64_t hash = numbers.size();
        for (const std::int64_t number : numbers) {
            hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15u;
            hash ^= hash >> 32;
        }
        return hash;
    }
};

struct SameNumbers {
    using is_transparent = void;
    bool operator()(std::span<const std::int64_t> a, std::span<const std::int64_t> b) const {
        return std::ranges::equal(a, b);
    }
};

struct ThreadState {
    std::vector<OpenOperator> open;
    std::uint8_t depth = 0;
    std::unordered_map<std::string, StringId, HashOfView, std::equal_to<>> names;
    std::unordered_map<std::vector<std::int64_t>, StringId, HashOfView, SameNumbers> arguments;
    std::vector<std::int64_t> shapes;  ///< of one operator: of each tensor its dims and sizes
    std::uint64_t generation = 0;      ///< of the session whose ids the maps hold
};

ThreadState& threadState() {
    thread_local ThreadState state;
    return state;
}

StringId nameId(capture::CaptureSession& session, ThreadState& state, std::string_view name) {
    const auto found = state.names.find(name);
    if (found != state.names.end()) return found->second;
    const StringId id = session.intern(plainName(name));
    state.names.emplace(name, id);
    return id;
}

void takeShapes(ThreadState& state, c10::ArrayRef<const c10::IValue> inputs) {
    state.shapes.clear();
    for (const c10::IValue& value : inputs) {
        if (!value.isTensor() || !value.toTensor().defined()) continue;
        const at::Tensor& tensor = value.toTensor();
        state.shapes.push_back(tensor.dim());
        for (std::int64_t i = 0; i < tensor.dim(); ++i) state.shapes.push_back(tensor.size(i));
    }
}

/// {"shapes":[[3,4],[5,4]]}
std::string textOf(const std::vector<std::int64_t>& shapes) {
    std::string text = "{\"shapes\":[";
    for (std::size_t i = 0; i < shapes.size();) {
        text += i == 0 ? "[" : ",[";
        const std::size_t end = i + 1 + static_cast<std::size_t>(shapes[i]);
        for (std::size_t k = i + 1; k < end; ++k) {
            if (k > i + 1) text += ',';
            text += std::to_string(shapes[k]);
        }
        text += ']';
        i = end;
    }
    return text + "]}";
}

StringId argumentsId(capture::CaptureSession& session, ThreadState& state,
                     const at::RecordFunction& function) {
    takeShapes(state, function.inputs());
    if (state.shapes.empty()) return kEmptyString;
    const auto found = state.arguments.find(std::span<const std::int64_t>(state.shapes));
    if (found != state.arguments.end()) return found->second;
    const StringId id = session.intern(textOf(state.shapes));
    state.arguments.emplace(state.shapes, id);
    return id;
}

/// Tells the device tracer, when there is one, which operator launches from now on belong to.
bool annotate(StringId name) {
    const capture::Context& context = capture::effectiveContext();
    return capture::pushLaunchContext({context.step, context.layer, context.phase, name});
}

std::unique_ptr<at::ObserverContext> onStart(const at::RecordFunction& function) {
    capture::CaptureSession* session = g_session.load(std::memory_order_acquire);
    ThreadState& state = threadState();
    OpenOperator open;
    const std::string_view name = function.name();
    open.recorded = session != nullptr && session->detailed() && !function.isAsync() &&
                    !name.starts_with(kEngineWrapper);
    if (open.recorded) {
        if (std::exchange(state.generation, session->generation()) != session->generation()) {
            state.names.clear();
            state.arguments.clear();
        }
        open.name = nameId(*session, state, name);
        open.arguments = argumentsId(*session, state, function);
        if (state.depth++ == 0) {
            capture::threadContext().operatorName = open.name;
            open.annotated = annotate(open.name);
        }
        open.startNs = hostNow();
    }
    state.open.push_back(open);
    return nullptr;
}

void onEnd(const at::RecordFunction& function, at::ObserverContext*) {
    const std::int64_t end = hostNow();
    ThreadState& state = threadState();
    if (state.open.empty()) return;  // began before this collector
    const OpenOperator open = state.open.back();
    state.open.pop_back();
    if (!open.recorded) return;
    if (open.annotated) capture::popLaunchContext();
    if (--state.depth == 0) capture::threadContext().operatorName = kEmptyString;
    const capture::Context& context = capture::effectiveContext();
    capture::CaptureSession* session = g_session.load(std::memory_order_acquire);
    if (session == nullptr) return;
    SpanEvent span;
    span.start = session->at(open.startNs);
    span.duration = session->at(end) - span.start;
    span.lane = session->operatorLane();
    span.name = open.name;
    span.arguments = open.arguments;
    span.correlation = static_cast<std::uint64_t>(function.seqNr() + 1);
    span.step = context.step;
    span.layer = context.layer;
    span.phase = context.phase;
    span.depth = state.depth;
    session->threadQueue().push(span);
}

}  // namespace

std::string plainName(std::string_view recorded) {
    if (!recorded.starts_with(kNodePrefix)) return std::string(recorded);
    std::string_view type = recorded.substr(kNodePrefix.size());
    if (type.ends_with('>')) type.remove_suffix(1);
    if (const auto colon = type.rfind(':'); colon != std::string_view::npos) {
        type.remove_prefix(colon + 1);
    }
    std::string name;
    for (char c : type) {
        const auto letter = static_cast<unsigned char>(c);
        if (std::isupper(letter) != 0 && !name.empty()) name += '_';
        name += static_cast<char>(std::tolower(letter));
    }
    return name + "_backward";
}

OperatorCollector::OperatorCollector(capture::CaptureSession& session) {
    g_session.store(&session, std::memory_order_release);
    m_handle = at::addGlobalCallback(
        at::RecordFunctionCallback(&onStart, &onEnd)
            .needsInputs(true)
            .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                     at::RecordScope::USER_SCOPE}));
}

OperatorCollector::~OperatorCollector() {
    at::removeCallback(m_handle);
    g_session.store(nullptr, std::memory_order_release);
}

void OperatorCollector::setEnabled(bool enabled) {
    if (std::exchange(m_enabled, enabled) == enabled) return;
    if (enabled) {
        at::reenableCallback(m_handle);
    } else {
        at::disableCallback(m_handle);
    }
}

}  // namespace shardscope::collectors
