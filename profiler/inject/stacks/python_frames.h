// Stacks of Python functions as numbers: each place in the code once, each stack of places once.
//
// A place is a function, file and line. It is found again by the code object and the instruction
// (before 3.11 the line). Code objects are not kept alive: each is known by a weak reference, so
// that another one at the same address is seen to be another. Python's lock guards everything but
// the texts, which any thread may ask for.
#pragma once

#include "profiler/inject/stacks/python_api.h"
#include "storage/model/mutex.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope::inject {

class PythonFrames {
public:
    using Stack = std::uint32_t;
    static constexpr Stack kNone = 0;
    /// The innermost ones of a stack; above them stands one frame that says so.
    static constexpr std::size_t kMostFrames = 32;
    /// Of a process; stacks that need more are not recorded.
    static constexpr std::size_t kMostInstructions = 100'000, kMostPlaces = 50'000,
                                 kMostStacks = 20'000;

    explicit PythonFrames(const PythonApi& api);

    /// Of the calling thread, which holds Python's lock. kNone: it runs no Python, the limits are
    /// reached, or torch.compile traces, whose operators are none of the program's.
    [[nodiscard]] Stack here();
    /// [{"name":"forward","filename":"train.py","line":10}], innermost first. Any thread.
    [[nodiscard]] std::string text(Stack stack) const;
    /// Any thread.
    [[nodiscard]] bool isFull() const;

private:
    using Place = std::uint32_t;
    /// Not recorded; stands for what is left out; of torch.compile's tracer.
    static constexpr Place kUnknown = 0, kLeftOut = 1, kTracer = 2;
    struct Key {
        void* code = nullptr;
        int at = 0;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct Known {
        Key key;
        void* reference = nullptr;  ///< weak, of ours
        Place place = kUnknown;
    };
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(const Key& key) const;
        std::size_t operator()(std::span<const Place> places) const;
    };
    struct Same {
        using is_transparent = void;
        bool operator()(std::span<const Place> a, std::span<const Place> b) const;
    };
    static constexpr std::size_t kSlots = 4096;

    [[nodiscard]] std::span<const Place> walk(std::span<Place> room);
    [[nodiscard]] Place placeOf(void* frame);
    [[nodiscard]] Place newPlace(void* frame, Known& known);
    [[nodiscard]] Place numberOf(std::string text);
    void forgetTheDead();
    [[nodiscard]] std::string attributeText(void* object, const char* name) const;
    [[nodiscard]] Stack numberOf(std::span<const Place> places);

    const PythonApi m_api;
    std::array<Known, kSlots> m_slots{};  ///< used last
    std::unordered_map<Key, Known, Hash> m_known;
    std::unordered_map<std::string, Place> m_places;  ///< by text
    std::unordered_map<std::vector<Place>, Stack, Hash, Same> m_stacks;

    mutable Mutex m_mutex;
    std::vector<const std::string*> m_texts SHARDSCOPE_GUARDED_BY(m_mutex);   ///< by place
    std::vector<std::vector<Place>> m_frames SHARDSCOPE_GUARDED_BY(m_mutex);  ///< by stack
};

}  // namespace shardscope::inject
