#include "profiler/inject/stacks/python_frames.h"

#include <algorithm>
#include <utility>

namespace shardscope::inject {
namespace {

/// A reference of ours to an object of Python.
class Owned {
public:
    Owned(const PythonApi& api, void* object) : m_api(api), m_object(object) {}
    ~Owned() {
        if (m_object != nullptr) m_api.release(m_object);
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    void reset(void* object) {
        if (void* before = std::exchange(m_object, object)) m_api.release(before);
    }
    [[nodiscard]] void* get() const { return m_object; }

private:
    const PythonApi& m_api;
    void* m_object;
};

/// Frames become objects when they are looked at: that must not start the collector, which runs
/// code of the program.
class CollectorPause {
public:
    explicit CollectorPause(const PythonApi& api)
        : m_api(api), m_paused(api.pauseCollector != nullptr && api.pauseCollector() == 1) {}
    ~CollectorPause() {
        if (m_paused) m_api.resumeCollector();
    }
    CollectorPause(const CollectorPause&) = delete;
    CollectorPause& operator=(const CollectorPause&) = delete;

private:
    const PythonApi& m_api;
    bool m_paused;
};

/// What the program had raised stays raised, and what fails here is forgotten.
class ErrorKept {
public:
    explicit ErrorKept(const PythonApi& api) : m_api(api) {
        api.takeError(&m_type, &m_value, &m_trace);
    }
    ~ErrorKept() { m_api.putError(m_type, m_value, m_trace); }
    ErrorKept(const ErrorKept&) = delete;
    ErrorKept& operator=(const ErrorKept&) = delete;

private:
    const PythonApi& m_api;
    void* m_type = nullptr;
    void* m_value = nullptr;
    void* m_trace = nullptr;
};

constexpr std::size_t kMostTextBytes = 1000;  // of a name, and of a path

std::string jsonText(std::string_view text) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string made = "\"";
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        if (letter == '"' || letter == '\\') {
            made.append(1, '\\').append(1, letter);
        } else if (byte < 0x20) {
            made.append("\\u00").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
        } else {
            made += letter;
        }
    }
    return made + '"';
}

std::string frameText(std::string_view name, std::string_view file, int line) {
    return R"({"name":)" + jsonText(name) + R"(,"filename":)" + jsonText(file) + R"(,"line":)" +
           std::to_string(line) + "}";
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) {
    hash = (hash ^ more) * 0x9E37'79B9'7F4A'7C15u;
    return hash ^ hash >> 32;
}

}  // namespace

std::size_t PythonFrames::Hash::operator()(const Key& key) const {
    return mixed(reinterpret_cast<std::uintptr_t>(key.code), static_cast<std::uint32_t>(key.at));
}

std::size_t PythonFrames::Hash::operator()(std::span<const Place> places) const {
    std::uint64_t hash = places.size();
    for (const Place place : places) hash = mixed(hash, place);
    return hash;
}

bool PythonFrames::Same::operator()(std::span<const Place> a, std::span<const Place> b) const {
    return std::ranges::equal(a, b);
}

PythonFrames::PythonFrames(const PythonApi& api) : m_api(api), m_frames(1) {
    for (const char* name : {"(unknown)", "(outer frames are left out)", "(torch.compile)"})
        static_cast<void>(numberOf(frameText(name, "", 0)));
}

PythonFrames::Stack PythonFrames::here() {
    const CollectorPause pause(m_api);
    std::array<Place, kMostFrames + 1> room{};
    const auto places = walk(room);
    return places.empty() ? kNone : numberOf(places);
}

/// Innermost first; nothing where one of them is not known.
std::span<const PythonFrames::Place> PythonFrames::walk(std::span<Place> room) {
    std::size_t count = 0;
    Owned caller(m_api, nullptr);
    for (void* frame = m_api.topFrame(); frame != nullptr; frame = caller.get()) {
        if (count == kMostFrames) {
            room[count++] = kLeftOut;
            break;
        }
        const Place place = placeOf(frame);
        if (place == kUnknown || place == kTracer) return {};
        room[count++] = place;
        caller.reset(m_api.callerOf(frame));
    }
    return room.first(count);
}

PythonFrames::Place PythonFrames::placeOf(void* frame) {
    const Owned code(m_api, m_api.codeOf(frame));
    const Key key{code.get(),
                  m_api.placeOf != nullptr ? m_api.placeOf(frame) : m_api.lineOf(frame)};
    const auto isIt = [&](const Known& known) {
        return known.key == key && m_api.behind(known.reference) == key.code;
    };
    Known& slot = m_slots[Hash()(key) % kSlots];
    if (slot.reference != nullptr && isIt(slot)) return slot.place;
    const auto found = m_known.find(key);
    if (found != m_known.end() && isIt(found->second)) {
        slot = found->second;
        return slot.place;
    }
    Known known{key, nullptr, kUnknown};
    if (newPlace(frame, known) == kUnknown) return kUnknown;
    Known& kept = m_known[key];
    if (kept.reference != nullptr) m_api.release(kept.reference);
    kept = known;
    m_slots[Hash()(key) % kSlots] = known;
    return known.place;
}

/// With a reference of ours, unless it is unknown.
PythonFrames::Place PythonFrames::newPlace(void* frame, Known& known) {
    if (m_known.size() >= kMostInstructions) forgetTheDead();
    if (m_known.size() >= kMostInstructions) return kUnknown;
    const ErrorKept kept(m_api);
    known.reference = m_api.weakly(known.key.code, nullptr);
    if (known.reference == nullptr) return kUnknown;
    const std::string file = attributeText(known.key.code, "co_filename");
    known.place = file.ends_with("/torch/_dynamo/symbolic_convert.py")
                      ? kTracer
                      : numberOf(frameText(attributeText(known.key.code, "co_name"), file,
                                           m_api.lineOf(frame)));
    if (known.place == kUnknown) m_api.release(known.reference);
    return known.place;
}

PythonFrames::Place PythonFrames::numberOf(std::string text) {
    const auto found = m_places.find(text);
    if (found != m_places.end()) return found->second;
    const MutexLock lock(m_mutex);
    if (m_texts.size() >= kMostPlaces) return kUnknown;
    const auto made = m_places.emplace(std::move(text), static_cast<Place>(m_texts.size())).first;
    m_texts.push_back(&made->first);
    return made->second;
}

/// Of code that is gone.
void PythonFrames::forgetTheDead() {
    m_slots.fill({});
    std::erase_if(m_known, [this](const auto& each) {
        const Known& known = each.second;
        if (m_api.behind(known.reference) == known.key.code) return false;
        m_api.release(known.reference);
        return true;
    });
}

std::string PythonFrames::attributeText(void* object, const char* name) const {
    const Owned value(m_api, m_api.attribute(object, name));
    const char* text = value.get() != nullptr ? m_api.text(value.get()) : nullptr;
    if (text == nullptr) return "(unknown)";
    std::string_view view = text;
    if (view.size() > kMostTextBytes) {
        std::size_t from = view.size() - kMostTextBytes;
        while (from < view.size() && (static_cast<unsigned char>(view[from]) & 0xC0) == 0x80)
            ++from;  // not within a character
        view.remove_prefix(from);
    }
    return std::string(view);
}

PythonFrames::Stack PythonFrames::numberOf(std::span<const Place> places) {
    const auto found = m_stacks.find(places);
    if (found != m_stacks.end()) return found->second;
    const MutexLock lock(m_mutex);
    if (m_frames.size() >= kMostStacks) return kNone;
    m_frames.emplace_back(places.begin(), places.end());
    const auto made = static_cast<Stack>(m_frames.size() - 1);
    m_stacks.emplace(m_frames.back(), made);
    return made;
}

std::string PythonFrames::text(Stack stack) const {
    const MutexLock lock(m_mutex);
    if (stack >= m_frames.size()) return "[]";
    std::string text;
    for (const Place place : m_frames[stack])
        text.append(text.empty() ? "[" : ",").append(*m_texts[place]);
    return text + "]";
}

bool PythonFrames::isFull() const {
    const MutexLock lock(m_mutex);
    return m_texts.size() >= kMostPlaces || m_frames.size() >= kMostStacks;
}

}  // namespace shardscope::inject
