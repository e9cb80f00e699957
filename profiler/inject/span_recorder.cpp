#include "profiler/inject/span_recorder.h"

#include "profiler/capture/thread_own.h"
#include "storage/model/host_clock.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope::inject {
namespace {

struct OpenSpan {
    std::int64_t startNs = 0;
    StringId name;
    StringId arguments;
    std::uint64_t correlation = 0;
    StepIndex step = kNoStep;
    Phase phase = Phase::kNone;
    NameUse use = NameUse::kNone;
    bool isNode = false;  ///< of autograd
    bool isRange = false;
    bool recorded = false;  ///< by the session of `generation`
    std::uint64_t generation = 0;
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
            hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E37'79B9'7F4A'7C15u;
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

struct SpanRecorder::Thread {
    static constexpr std::size_t kSlots = 1024;
    struct Known {
        const char* address = nullptr;
        const std::string* text = nullptr;
        Name name;
    };

    std::vector<OpenSpan> open;
    std::uint8_t depth = 0;  ///< of recorded ones
    int nodes = 0;           ///< of autograd, under way
    std::uint64_t generation = 0;
    std::unordered_map<std::string, Name, HashOfView, std::equal_to<>> names;
    std::array<Known, kSlots> slots{};
    std::unordered_map<std::vector<std::int64_t>, StringId, HashOfView, SameNumbers> arguments;
    std::vector<std::int64_t> key;

    void forget() {
        names.clear();
        arguments.clear();
        slots.fill({});
    }
};

SpanRecorder::Thread* SpanRecorder::thread() {
    return capture::threadOwn<Thread>();
}

SpanRecorder::SpanRecorder(capture::CaptureSession& session, StepMarks& marks,
                           const std::string& stepRange)
    : m_session(session), m_marks(marks), m_stepRange(nullptr, [](regex_t* expression) {
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

SpanRecorder::Name SpanRecorder::nameOf(Thread& thread, std::string_view name) {
    name = name.substr(0, kMostNameBytes);
    const auto address = reinterpret_cast<std::uintptr_t>(name.data());
    Thread::Known& slot = thread.slots[(address >> 3 ^ address >> 13) % Thread::kSlots];
    if (slot.address == name.data() && *slot.text == name) return slot.name;
    auto found = thread.names.find(name);
    if (found == thread.names.end()) {
        if (thread.names.size() >= kMostTexts) return {m_tooMany, useOf(name)};
        const Name made{intern(std::string(name)), useOf(name)};
        found = thread.names.emplace(name, made).first;
    }
    slot = {name.data(), &found->first, found->second};
    return found->second;
}

StringId SpanRecorder::argumentsOf(Thread& thread, const ShardscopeSpan& span) {
    if (span.shapes == nullptr || span.shapes_length == 0) return kEmptyString;
    thread.key.assign(span.shapes, span.shapes + span.shapes_length);
    for (std::size_t i = 0; i < span.tensors; ++i) thread.key.push_back(-1 - span.dtypes[i]);
    // Behind the types, which are below 0 and as many as there are shapes: no key is another's.
    if (span.lists != nullptr)
        thread.key.insert(thread.key.end(), span.lists, span.lists + span.lists_length);
    const auto found = thread.arguments.find(std::span<const std::int64_t>(thread.key));
    if (found != thread.arguments.end()) return found->second;
    if (thread.arguments.size() >= kMostTexts) return kEmptyString;
    const StringId id = intern(textOf(span));
    thread.arguments.emplace(thread.key, id == m_tooMany ? kEmptyString : id);
    return id == m_tooMany ? kEmptyString : id;
}

void SpanRecorder::begin(const ShardscopeSpan& span, std::int64_t nowNs) {
    Thread* const known = thread();
    if (known == nullptr) return;
    Thread& own = *known;
    if (own.generation != m_session.generation()) {
        own.forget();
        own.generation = m_session.generation();
        own.depth = 0;
        own.nodes = 0;
    }
    OpenSpan open;
    const Name name = nameOf(own, {span.name, span.name_length});
    open.isNode = span.scope == SHARDSCOPE_BACKWARD;
    open.isRange = span.scope == SHARDSCOPE_RANGE;
    open.use = name.use;
    open.generation = own.generation;
    if (open.isNode) {
        if (own.nodes++ == 0) m_marks.nodeBegins(span.sequence, nowNs);
    } else if (name.use != NameUse::kNone && name.use != NameUse::kWait && own.nodes == 0) {
        m_marks.begins(name.use, nowNs);
    }
    // Autograd counts the nodes that it makes: from the second operator of the first forward on.
    if (m_marks.step() == kNoStep && span.scope == SHARDSCOPE_FUNCTION && span.sequence > 0)
        m_marks.firstForward(nowNs);
    const CaptureLevel level = m_marks.level();
    // Ranges are recorded at light, what PyTorch does of itself at full.
    open.recorded = level >= CaptureLevel::kFull ||
                    (level >= CaptureLevel::kLight && span.scope == SHARDSCOPE_RANGE);
    if (open.recorded) {
        open.name = name.id;
        open.arguments = argumentsOf(own, span);
        open.correlation = static_cast<std::uint64_t>(span.sequence + 1);
        open.step = m_marks.step();
        open.phase = own.nodes > 0 ? Phase::kBackward : m_marks.phase();
        ++own.depth;
    }
    open.startNs = nowNs;
    own.open.push_back(open);
}

void SpanRecorder::end(std::int64_t nowNs) {
    Thread* const known = thread();
    if (known == nullptr || known->open.empty()) return;
    Thread& own = *known;
    const OpenSpan open = own.open.back();
    own.open.pop_back();
    if (open.generation != m_session.generation()) return;
    if (open.isNode && own.nodes > 0) {
        --own.nodes;
        m_marks.nodeEnds(nowNs);
    }
    if (open.use == NameUse::kWait)
        m_marks.waited(open.startNs, nowNs);
    else if (open.use != NameUse::kNone)
        m_marks.ends(open.use, nowNs);
    if (!open.recorded) return;
    if (own.depth > 0) --own.depth;
    SpanEvent event;
    event.start = m_session.at(open.startNs);
    event.duration = m_session.at(nowNs) - event.start;
    event.lane = m_session.operatorLane();
    event.name = open.name;
    event.arguments = open.arguments;
    event.correlation = open.correlation;
    event.step = open.step;
    event.phase = open.phase;
    event.depth = own.depth;
    m_session.threadQueue().push(event);
}

StringId SpanRecorder::outermost() const {
    const Thread* const own = thread();
    if (own == nullptr) return kEmptyString;
    for (const OpenSpan& open : own->open)
        if (open.recorded && !open.isRange && open.generation == m_session.generation())
            return open.name;
    return kEmptyString;
}

void SpanRecorder::beginUnrecorded() {
    if (Thread* const own = thread()) own->open.emplace_back();
}

void SpanRecorder::endUnrecorded() {
    Thread* const own = thread();
    if (own != nullptr && !own->open.empty()) own->open.pop_back();
}

}  // namespace shardscope::inject
