// Names and shapes that a thread has seen already: looked up at each operator, without a lock and
// in as few cache lines as there can be.
#pragma once

#include "profiler/inject/inject_api.h"
#include "profiler/inject/step_marks.h"
#include "storage/model/ids.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope::inject {

struct KnownName {
    StringId id;
    NameUse use = NameUse::kNone;
};

/// By text, with a cache by address that compares before it trusts: names of ranges and autograd
/// nodes are freed with the event, and their addresses used again.
class KnownNames {
public:
    KnownNames() : m_slots(kSlots) {}

    /// Null: not known yet. Stays until the next call.
    [[nodiscard]] const KnownName* find(std::string_view name);
    void add(std::string_view name, KnownName known) { m_all.emplace(name, known); }
    [[nodiscard]] std::size_t size() const { return m_all.size(); }
    void clear();

private:
    static constexpr std::size_t kSlots = 1024;
    /// One cache line. A longer name is looked up by its text alone.
    struct alignas(64) Slot {
        const char* address = nullptr;
        KnownName known;
        std::uint8_t length = 0;
        char text[47] = {};
    };
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };
    std::vector<Slot> m_slots;
    std::unordered_map<std::string, KnownName, Hash, std::equal_to<>> m_all;
};

/// Shapes, types and lists of an operator, known by 128 bits made of them: that two of a process
/// meet there is less likely than that a bit of its memory turns over.
class KnownArguments {
public:
    struct Key {
        std::uint64_t high = 0, low = 0;
        friend bool operator==(const Key&, const Key&) = default;
    };
    static Key keyOf(const ShardscopeSpan& span);

    [[nodiscard]] std::optional<StringId> find(Key key) const;
    /// One that find() does not find.
    void add(Key key, StringId id);
    [[nodiscard]] std::size_t size() const { return m_used; }
    void clear();

private:
    struct Entry {
        Key key;
        StringId id;
        bool used = false;
    };
    [[nodiscard]] std::size_t placeOf(Key key) const;
    std::vector<Entry> m_entries;  ///< a power of two; at most three quarters are used
    std::size_t m_used = 0;
};

}  // namespace shardscope::inject
