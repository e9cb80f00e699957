#include "profiler/inject/span_recorder.h"

#include "profiler/capture/thread_own.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace shardscope::inject {
namespace {

constexpr std::size_t kMostNameBytes = 1000;

/// c10::ScalarType, as Kineto's traces spell them.
constexpr std::array kScalarTypes = {"Byte",
                                     "Char",
                                     "Short",
                                     "Int",
                                     "Long",
                                     "Half",
                                     "Float",
                                     "Double",
                                     "ComplexHalf",
                                     "ComplexFloat",
                                     "ComplexDouble",
                                     "Bool",
                                     "QInt8",
                                     "QUInt8",
                                     "QInt32",
                                     "BFloat16",
                                     "QUInt4x2",
                                     "QUInt2x4",
                                     "Bits1x8",
                                     "Bits2x4",
                                     "Bits4x2",
                                     "Bits8",
                                     "Bits16",
                                     "Float8_e5m2",
                                     "Float8_e4m3fn",
                                     "Float8_e5m2fnuz",
                                     "Float8_e4m3fnuz",
                                     "UInt16",
                                     "UInt32",
                                     "UInt64"};

/// [[3,4],[5,4]] of 2 3 4 2 5 4.
std::string listsText(const std::int64_t* numbers, std::size_t count) {
    std::string text = "[";
    for (std::size_t i = 0; i < count;) {
        text += i == 0 ? "[" : ",[";
        const std::size_t end = std::min(i + 1 + static_cast<std::size_t>(numbers[i]), count);
        for (std::size_t k = i + 1; k < end; ++k) {
            if (k > i + 1) text += ',';
            text += std::to_string(numbers[k]);
        }
        text += ']';
        i = end;
    }
    return text + "]";
}

/// {"shapes":[[3,4],[5,4]],"dtypes":["Float","Float"]}, of some operators also "lists":[[1,1],[0]]
std::string textOf(const ShardscopeSpan& span) {
    std::string text = R"({"shapes":)" + listsText(span.shapes, span.shapes_length);
    text += R"(,"dtypes":[)";
    for (std::size_t i = 0; i < span.tensors; ++i) {
        const auto type = static_cast<std::size_t>(span.dtypes[i]);
        text += i == 0 ? "\"" : ",\"";
        text += type < kScalarTypes.size() ? kScalarTypes[type] : "unknown";
        text += '"';
    }
    text += ']';
    if (span.lists_length > 0) text += R"(,"lists":)" + listsText(span.lists, span.lists_length);
    return text + "}";
}

struct Use {
    std::string_view begin;
    NameUse use;
};
constexpr Use kUses[] = {{"enumerate(DataLoader)#", NameUse::kData},
                         {"Optimizer.step#", NameUse::kOptimizer},
                         {"Optimizer.zero_grad#", NameUse::kZeroGrad},
                         {"DistributedDataParallel.forward", NameUse::kForward},
                         {"ProfilerStep#", NameUse::kProfilerStep},
                         {"torch.distributed.Work.wait", NameUse::kWait},
                         {"torch.futures.Future.wait", NameUse::kWait},
                         {"_c10d_functional::wait_tensor", NameUse::kWait}};

}  // namespace

struct SpanRecorder::OpenSpan {
    SpanEvent event;  ///< where `recorded`: all of it but its times, lane and depth
    std::int64_t startNs = 0;
    const void* key = nullptr;
    NameUse use = NameUse::kNone;
    bool isNode = false;  ///< of autograd
    bool recorded = false;
    bool isOperator = false;       ///< a recorded one, and no node
    bool outermost = false;        ///< of the recorded operators
    std::uint64_t generation = 0;  ///< session that it began in; 0: none
};

struct SpanRecorder::Thread {
    std::vector<OpenSpan> open;
    std::size_t tooDeep = 0;  ///< open ones without a key that are not in `open`
    std::uint8_t depth = 0;   ///< of recorded ones
    int nodes = 0;            ///< of autograd, under way
    StringId owner;           ///< outermost recorded operator
    std::uint64_t generation = 0;
    capture::ThreadQueue* queue = nullptr;  ///< of that session
    std::optional<LaneId> lane;
    KnownNames names;
    KnownArguments arguments;

    Thread() {
        open.reserve(kDeepest);
        capture::CaptureSession::keepQueueLonger();
    }
    /// Where a span begins; null: too deep.
    OpenSpan* begin(const void* key) {
        if (open.size() < kDeepest) {
            OpenSpan& made = open.emplace_back();
            made.key = key;
            return &made;
        }
        if (key == nullptr) ++tooDeep;
        return nullptr;
    }
    /// How many are open around the one that ends; none: it did not begin here.
    std::optional<std::size_t> around(const void* key) {
        if (key == nullptr && tooDeep > 0) {
            --tooDeep;
            return std::nullopt;
        }
        std::size_t at = open.size();
        while (at > 0 && open[at - 1].key != key) --at;
        return at == 0 ? std::nullopt : std::optional(at - 1);
    }
    /// Of PyTorch; a node of autograd may run Python, so that it is none of them.
    [[nodiscard]] bool isInOperator() const {
        return std::ranges::any_of(open, [](const OpenSpan& each) { return each.isOperator; });
    }
};

SpanRecorder::Thread* SpanRecorder::thread() {
    return capture::threadOwn<Thread>();
}

SpanRecorder::SpanRecorder(capture::CaptureSession& session, StepMarks& marks,
                           const std::string& stepRange)
    : m_session(session),
      m_marks(marks),
      m_stacks(session),
      m_stepRange(nullptr, [](regex_t* expression) {
          ::regfree(expression);
          delete expression;
      }) {
    if (!stepRange.empty()) {
        auto expression = std::make_unique<regex_t>();
        if (::regcomp(expression.get(), stepRange.c_str(), REG_EXTENDED | REG_NOSUB) == 0)
            m_stepRange.reset(expression.release());
    }
    m_tooMany = session.intern("(one of too many names)");
}

SpanRecorder::~SpanRecorder() = default;

StringId SpanRecorder::intern(const std::string& text) {
    if (m_texts.fetch_add(1, std::memory_order_relaxed) >= kMostTexts) return m_tooMany;
    return m_session.intern(text);
}

NameUse SpanRecorder::useOf(std::string_view name) const {
    for (const Use& each : kUses)
        if (name.starts_with(each.begin)) return each.use;
    const bool asked = m_stepRange != nullptr &&
                       ::regexec(m_stepRange.get(), std::string(name).c_str(), 0, nullptr, 0) == 0;
    return asked ? NameUse::kStepRange : NameUse::kNone;
}

KnownName SpanRecorder::nameOf(Thread& thread, std::string_view name) {
    name = name.substr(0, kMostNameBytes);
    if (const KnownName* known = thread.names.find(name)) return *known;
    if (thread.names.size() >= kMostTexts) return {m_tooMany, useOf(name)};
    const KnownName made{intern(std::string(name)), useOf(name)};
    thread.names.add(name, made);
    return made;
}

StringId SpanRecorder::argumentsOf(Thread& thread, const ShardscopeSpan& span) {
    if (span.shapes == nullptr || span.shapes_length == 0) return kEmptyString;
    const KnownArguments::Key key = KnownArguments::keyOf(span);
    if (const auto known = thread.arguments.find(key)) return *known;
    if (thread.arguments.size() >= kMostTexts) return kEmptyString;
    StringId id = intern(textOf(span));
    if (id == m_tooMany) id = kEmptyString;
    thread.arguments.add(key, id);
    return id;
}

/// What is cached belongs to one session.
void SpanRecorder::renew(Thread& thread) {
    thread.names.clear();
    thread.arguments.clear();
    for (OpenSpan& each : thread.open) each.isOperator = false;
    thread.depth = 0;
    thread.nodes = 0;
    thread.owner = kEmptyString;
    thread.lane.reset();
    thread.queue = &m_session.threadQueue();
    thread.generation = m_session.generation();
}

void SpanRecorder::begin(const ShardscopeSpan& span, std::int64_t nowNs) {
    Thread* const known = thread();
    if (known == nullptr) return;
    Thread& own = *known;
    if (own.generation != m_session.generation()) renew(own);
    OpenSpan* const open = own.begin(span.key);
    if (open == nullptr) return;
    const KnownName name = nameOf(own, {span.name, span.name_length});
    open->startNs = nowNs;
    open->use = name.use;
    open->isNode = span.scope == SHARDSCOPE_BACKWARD;
    open->generation = own.generation;
    if (open->isNode) {
        if (own.nodes++ == 0) m_marks.nodeBegins(span.sequence, nowNs);
    } else if (name.use != NameUse::kNone && name.use != NameUse::kWait && own.nodes == 0) {
        m_marks.begins(name.use, nowNs);
    } else if (span.scope == SHARDSCOPE_FUNCTION && own.nodes == 0) {
        m_marks.operatorBegins(span.sequence, nowNs);
    }
    // Autograd counts the nodes that it makes: from the second operator of the first forward on.
    if (m_marks.step() == kNoStep && span.scope == SHARDSCOPE_FUNCTION && span.sequence > 0)
        m_marks.firstForward(nowNs);
    // Ranges are recorded at light, what PyTorch does of itself at full.
    const CaptureLevel level = m_marks.level();
    if (level >= CaptureLevel::kFull ||
        (level >= CaptureLevel::kLight && span.scope == SHARDSCOPE_RANGE)) {
        open->event.name = name.id;
        record(own, *open, span);
    }
}

void SpanRecorder::record(Thread& thread, OpenSpan& open, const ShardscopeSpan& span) {
    open.recorded = true;
    SpanEvent& event = open.event;
    event.arguments = argumentsOf(thread, span);
    event.correlation = static_cast<std::uint64_t>(span.sequence + 1);
    event.step = m_marks.step();
    event.phase = thread.nodes > 0 ? Phase::kBackward : m_marks.phase();
    ++thread.depth;
    if (span.scope == SHARDSCOPE_RANGE) return;
    if (m_stacks.areOn() && !thread.isInOperator())
        event.arguments = m_stacks.addTo(event.arguments);
    open.isOperator = !open.isNode;
    if (thread.owner != kEmptyString) return;
    open.outermost = true;
    thread.owner = event.name;
}

void SpanRecorder::end(const void* key, std::int64_t nowNs) {
    Thread* const own = thread();
    if (own == nullptr) return;
    const auto around = own->around(key);
    if (!around) return;
    while (own->open.size() > *around) {
        const OpenSpan& open = own->open.back();
        if (open.generation == m_session.generation()) end(*own, open, nowNs);
        own->open.pop_back();
    }
}

void SpanRecorder::end(Thread& thread, const OpenSpan& open, std::int64_t nowNs) {
    if (open.isNode && thread.nodes > 0) {
        --thread.nodes;
        m_marks.nodeEnds(nowNs);
    }
    if (open.use == NameUse::kWait)
        m_marks.waited(open.startNs, nowNs);
    else if (open.use != NameUse::kNone)
        m_marks.ends(open.use, nowNs);
    if (!open.recorded) return;
    if (open.outermost) thread.owner = kEmptyString;
    if (thread.depth > 0) --thread.depth;
    if (!thread.lane) thread.lane = m_session.operatorLane();
    SpanEvent event = open.event;
    event.start = m_session.at(open.startNs);
    event.duration = m_session.at(nowNs) - event.start;
    event.lane = *thread.lane;
    event.depth = thread.depth;
    thread.queue->push(event);
}

void SpanRecorder::push(MemoryEvent event) {
    const Thread* const own = thread();
    if (own == nullptr || own->generation != m_session.generation())
        return m_session.threadQueue().push(event);
    event.owner = own->owner;
    own->queue->push(event);
}

void SpanRecorder::beginUnrecorded(const void* key) {
    if (Thread* const own = thread()) own->begin(key);
}

void SpanRecorder::endUnrecorded(const void* key) {
    Thread* const own = thread();
    if (own == nullptr) return;
    if (const auto around = own->around(key)) own->open.resize(*around);
}

}  // namespace shardscope::inject
