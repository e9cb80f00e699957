#include "profiler/inject/known_texts.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace shardscope::inject {
namespace {

/// Two states that each number is multiplied into, folding the product's halves (as wyhash does).
class Mixer {
public:
    void add(std::uint64_t number) {
        m_a = folded(m_a ^ number, 0x9E37'79B9'7F4A'7C15u);
        m_b = folded(m_b + number, 0xD6E8'FEB8'6659'FD93u);
    }
    [[nodiscard]] KnownArguments::Key key() const { return {m_a, m_b}; }

private:
    static std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
        __extension__ using Wide = unsigned __int128;
        const Wide product = Wide{a} * b;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }
    std::uint64_t m_a = 0xA076'1D64'78BD'642Fu, m_b = 0xE703'7ED1'A0B4'28DBu;
};

}  // namespace

const KnownName* KnownNames::find(std::string_view name) {
    const auto address = reinterpret_cast<std::uintptr_t>(name.data());
    Slot& slot = m_slots[(address >> 3 ^ address >> 13) % kSlots];
    if (slot.address == name.data() && slot.length == name.size() &&
        std::memcmp(slot.text, name.data(), name.size()) == 0)
        return &slot.known;
    const auto found = m_all.find(name);
    if (found == m_all.end()) return nullptr;
    if (name.size() <= sizeof(Slot::text)) {
        slot.address = name.data();
        slot.known = found->second;
        slot.length = static_cast<std::uint8_t>(name.size());
        std::memcpy(slot.text, name.data(), name.size());
    }
    return &found->second;
}

void KnownNames::clear() {
    m_all.clear();
    std::fill(m_slots.begin(), m_slots.end(), Slot());
}

KnownArguments::Key KnownArguments::keyOf(const ShardscopeSpan& span) {
    Mixer mixer;
    // How many there are of each kind first: no two spans give the same numbers.
    mixer.add(span.shapes_length);
    mixer.add(span.tensors);
    for (std::size_t i = 0; i < span.shapes_length; ++i)
        mixer.add(static_cast<std::uint64_t>(span.shapes[i]));
    for (std::size_t i = 0; i < span.tensors; ++i)
        mixer.add(static_cast<std::uint64_t>(span.dtypes[i]));
    if (span.lists == nullptr) return mixer.key();
    for (std::size_t i = 0; i < span.lists_length; ++i)
        mixer.add(static_cast<std::uint64_t>(span.lists[i]));
    return mixer.key();
}

std::size_t KnownArguments::placeOf(Key key) const {
    std::size_t at = key.high & (m_entries.size() - 1);
    while (m_entries[at].used && m_entries[at].key != key) at = (at + 1) & (m_entries.size() - 1);
    return at;
}

std::optional<StringId> KnownArguments::find(Key key) const {
    if (m_entries.empty()) return std::nullopt;
    const Entry& entry = m_entries[placeOf(key)];
    return entry.used ? std::optional(entry.id) : std::nullopt;
}

void KnownArguments::add(Key key, StringId id) {
    if ((m_used + 1) * 4 > m_entries.size() * 3) {
        const std::vector<Entry> old = std::exchange(
            m_entries, std::vector<Entry>(std::max<std::size_t>(64, m_entries.size() * 2)));
        for (const Entry& each : old)
            if (each.used) m_entries[placeOf(each.key)] = each;
    }
    m_entries[placeOf(key)] = {key, id, true};
    ++m_used;
}

void KnownArguments::clear() {
    m_entries.clear();
    m_used = 0;
}

}  // namespace shardscope::inject
