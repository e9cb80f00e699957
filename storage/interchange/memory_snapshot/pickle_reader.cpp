#include "storage/interchange/memory_snapshot/pickle_reader.h"

#include "storage/interchange/memory_snapshot/pickle_opcodes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <stdexcept>
#include <unordered_map>

namespace shardscope::interchange {
namespace {

/// Thrown within this file only: a stack machine with a Result in every step would hide its steps.
struct Refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class PickleBytes {
public:
    PickleBytes(ByteSource& source) : m_source(source), m_buffer(std::size_t{1} << 18) {}

    std::uint8_t byte() {
        if (m_at == m_end) fill();
        return static_cast<std::uint8_t>(m_buffer[m_at++]);
    }
    /// Little-endian, without sign.
    std::uint64_t number(int bytes) {
        std::uint64_t value = 0;
        for (int i = 0; i < bytes; ++i) value |= std::uint64_t{byte()} << (8 * i);
        return value;
    }
    /// Grows with what is there, not with what was promised.
    std::string text(std::uint64_t size) {
        std::string text;
        while (text.size() < size) {
            if (m_at == m_end) fill();
            const auto part = std::min<std::uint64_t>(size - text.size(), m_end - m_at);
            text.append(m_buffer.data() + m_at, static_cast<std::size_t>(part));
            m_at += static_cast<std::size_t>(part);
        }
        return text;
    }
    [[nodiscard]] std::uint64_t position() const { return m_before + m_at; }

private:
    void fill() {
        m_before += m_end;
        m_at = m_end = 0;
        auto count = m_source.read(m_buffer);
        if (!count) throw Refusal(count.error().message);
        if (*count == 0) throw Refusal("it ends in the middle: it was not written to its end");
        m_end = *count;
    }

    ByteSource& m_source;
    std::vector<char> m_buffer;
    std::size_t m_at = 0, m_end = 0;
    std::uint64_t m_before = 0;
};

}  // namespace

class PickleMachine {
public:
    PickleMachine(ByteSource& source, std::size_t budget) : m_bytes(source), m_budget(budget) {}

    PickleDocument run() {
        if (m_bytes.byte() != opcode::kProtocol) throw Refusal("it does not begin as one");
        protocol();
        while (true) {
            const std::uint8_t code = m_bytes.byte();
            if (code == opcode::kStop) break;
            execute(code);
        }
        m_document.root = pop();
        if (!m_stack.empty()) throw Refusal("it ends with values that belong to nothing");
        return std::move(m_document);
    }
    [[nodiscard]] std::uint64_t position() const { return m_bytes.position(); }

private:
    using Values = std::vector<PickleValue>;

    void execute(std::uint8_t code) {
        if (scalar(code) || textual(code) || container(code) || memory(code)) return;
        if (const char* name = opcode::refused(code))
            throw Refusal(std::string("it holds ") + name);
        throw Refusal("it holds byte " + std::to_string(code) + " where an opcode belongs");
    }

    void protocol() {
        const int version = m_bytes.byte();
        if (version < 2 || version > 5)
            throw Refusal("it is of protocol " + std::to_string(version) +
                          "; memory snapshots are of protocol 2 to 5");
    }

    bool scalar(std::uint8_t code) {
        switch (code) {
            case opcode::kProtocol:
                return protocol(), true;
            case opcode::kFrame:
                return m_bytes.number(8), true;
            case opcode::kNone:
                return push({}), true;
            case opcode::kTrue:
            case opcode::kFalse:
                return push(PickleKind::kBoolean, code == opcode::kTrue), true;
            case opcode::kInt1:
                return push(PickleKind::kInteger, m_bytes.byte()), true;
            case opcode::kInt2:
                return pushInteger(m_bytes.number(2)), true;
            case opcode::kInt4:
                return push(PickleKind::kInteger, static_cast<std::int32_t>(m_bytes.number(4))),
                       true;
            case opcode::kLong1:
                return pushLong(m_bytes.byte()), true;
            case opcode::kLong4:
                return pushLong(m_bytes.number(4)), true;
            case opcode::kReal:
                return pushReal(), true;
            default:
                return false;
        }
    }
    void pushInteger(std::uint64_t value) {
        push(PickleKind::kInteger, static_cast<std::int64_t>(value));
    }
    void pushLong(std::uint64_t size) {
        if (size > 9) throw Refusal("it holds a number of " + std::to_string(size) + " bytes");
        const int kept = static_cast<int>(std::min<std::uint64_t>(size, 8));
        std::uint64_t value = m_bytes.number(kept);
        if (size == 9 && m_bytes.byte() != 0) throw Refusal("it holds a number beyond 64 bits");
        const bool negative = size > 0 && size < 8 && (value >> (8 * size - 1) & 1) != 0;
        if (negative) value |= ~std::uint64_t{0} << (8 * size);
        pushInteger(value);
    }
    void pushReal() {
        std::uint64_t bits = 0;
        for (int i = 0; i < 8; ++i) bits = bits << 8 | m_bytes.byte();
        PickleValue value{PickleKind::kReal, 0, {}};
        value.real = std::bit_cast<double>(bits);
        push(value);
    }

    bool textual(std::uint8_t code) {
        switch (code) {
            case opcode::kText1:
            case opcode::kBytes1:
            case opcode::kString1:
                return pushText(m_bytes.number(1)), true;
            case opcode::kText4:
            case opcode::kBytes4:
            case opcode::kString4:
                return pushText(m_bytes.number(4)), true;
            case opcode::kText8:
            case opcode::kBytes8:
            case opcode::kByteArray8:
                return pushText(m_bytes.number(8)), true;
            default:
                return false;
        }
    }
    void pushText(std::uint64_t size) {
        if (size > m_budget) tooLarge();
        spend(static_cast<std::size_t>(size) + sizeof(std::string));
        push({PickleKind::kText, nextIndex(m_document.m_texts.size()), {}});
        m_document.m_texts.push_back(m_bytes.text(size));
    }

    bool container(std::uint8_t code) {
        switch (code) {
            case opcode::kMark:
                return push({PickleKind::kMark, 0, {}}), true;
            case opcode::kPop:
                return takeTop(), true;
            case opcode::kPopMark:
                return sinceMark(), true;
            case opcode::kEmptyList:
            case opcode::kEmptyTuple:
                return pushList({}), true;
            case opcode::kEmptyDict:
                return pushDict(), true;
            case opcode::kList:
            case opcode::kTuple:
                return pushList(sinceMark()), true;
            case opcode::kDict:
                return pushDict(pairs(sinceMark())), true;
            case opcode::kTuple1:
            case opcode::kTuple2:
            case opcode::kTuple3:
                return pushList(topmost(code - opcode::kTuple1 + 1u)), true;
            case opcode::kAppend:
                return extend(PickleKind::kList, topmost(1)), true;
            case opcode::kAppends:
                return extend(PickleKind::kList, sinceMark()), true;
            case opcode::kSetItem:
                return extend(PickleKind::kDict, topmost(2)), true;
            case opcode::kSetItems:
                return extend(PickleKind::kDict, pairs(sinceMark())), true;
            default:
                return false;
        }
    }
    static Values pairs(Values values) {
        if (values.size() % 2 != 0) throw Refusal("it holds a dict with a key without a value");
        return values;
    }
    Values topmost(std::size_t count) {
        Values values(count);
        for (std::size_t i = count; i-- > 0;) values[i] = pop();
        return values;
    }
    Values sinceMark() {
        const auto mark = std::find_if(m_stack.rbegin(), m_stack.rend(), [](const PickleValue& v) {
            return v.kind == PickleKind::kMark;
        });
        if (mark == m_stack.rend()) throw Refusal("it closes what was never opened");
        Values values(mark.base(), m_stack.end());
        m_stack.erase(mark.base() - 1, m_stack.end());
        return values;
    }
    void pushList(Values values) {
        spend(kContainerBytes + values.size() * sizeof(PickleValue));
        push({PickleKind::kList, nextIndex(m_document.m_lists.size()), {}});
        m_document.m_lists.push_back(std::move(values));
    }
    void pushDict(const Values& values = {}) {
        spend(kContainerBytes);
        push({PickleKind::kDict, nextIndex(m_document.m_dicts.size()), {}});
        m_document.m_dicts.emplace_back();
        extend(PickleKind::kDict, values);
    }
    void extend(PickleKind kind, const Values& values) {
        if (m_stack.empty() || m_stack.back().kind != kind)
            throw Refusal("it adds items to what is no list or dict");
        spend(2 * values.size() * sizeof(PickleValue));  // a vector may hold twice its items
        auto& containers = kind == PickleKind::kList ? m_document.m_lists : m_document.m_dicts;
        auto& into = containers[m_stack.back().index];
        into.insert(into.end(), values.begin(), values.end());
        // Keys are looked for one by one.
        if (kind == PickleKind::kDict && into.size() > 2 * kMostKeys)
            throw Refusal("it holds a dict of more than a thousand keys");
    }

    bool memory(std::uint8_t code) {
        switch (code) {
            case opcode::kMemoize:
                return put(static_cast<std::uint32_t>(m_memo.size())), true;
            case opcode::kPut1:
                return put(m_bytes.byte()), true;
            case opcode::kPut4:
                return put(static_cast<std::uint32_t>(m_bytes.number(4))), true;
            case opcode::kGet1:
                return get(m_bytes.byte()), true;
            case opcode::kGet4:
                return get(static_cast<std::uint32_t>(m_bytes.number(4))), true;
            default:
                return false;
        }
    }
    void put(std::uint32_t memo) {
        if (m_stack.empty() || m_stack.back().kind == PickleKind::kMark)
            throw Refusal("it remembers a value where there is none");
        const auto [at, fresh] = m_memo.insert_or_assign(memo, m_stack.back());
        if (fresh) spend(kMemoBytes);
    }
    void get(std::uint32_t memo) {
        const auto known = m_memo.find(memo);
        if (known == m_memo.end()) throw Refusal("it refers to a value that was never written");
        push(known->second);
    }

    void push(PickleKind kind, std::int64_t integer) {
        PickleValue value{kind, 0, {}};
        value.integer = integer;
        push(value);
    }
    void push(PickleValue value) {
        if (m_stack.size() * sizeof(PickleValue) > m_budget / 4) tooLarge();
        m_stack.push_back(value);
    }
    PickleValue takeTop() {
        if (m_stack.empty()) throw Refusal("it uses a value where there is none");
        const PickleValue value = m_stack.back();
        m_stack.pop_back();
        return value;
    }
    PickleValue pop() {
        const PickleValue value = takeTop();
        if (value.kind == PickleKind::kMark) throw Refusal("it uses a value where there is none");
        return value;
    }
    std::uint32_t nextIndex(std::size_t size) const {
        if (size >= std::numeric_limits<std::uint32_t>::max()) tooLarge();
        return static_cast<std::uint32_t>(size);
    }
    void spend(std::size_t bytes) {
        if (bytes > m_budget - m_spent) tooLarge();
        m_spent += bytes;
    }
    [[noreturn]] void tooLarge() const {
        throw Refusal("it needs more than " + std::to_string(m_budget >> 20) +
                      " MiB of memory: take it with a smaller max_entries");
    }

    static constexpr std::size_t kContainerBytes = 48;  ///< a vector and its allocation
    static constexpr std::size_t kMemoBytes = 64;
    static constexpr std::size_t kMostKeys = 1000;

    PickleBytes m_bytes;
    std::size_t m_budget;
    std::size_t m_spent = 0;
    Values m_stack;
    std::unordered_map<std::uint32_t, PickleValue> m_memo;
    PickleDocument m_document;
};

std::string_view PickleDocument::text(PickleValue value) const {
    return value.kind == PickleKind::kText ? std::string_view(m_texts[value.index])
                                           : std::string_view();
}

const std::vector<PickleValue>& PickleDocument::items(PickleValue value) const {
    static const std::vector<PickleValue> nothing;
    return value.kind == PickleKind::kList ? m_lists[value.index] : nothing;
}

const std::vector<PickleValue>& PickleDocument::members(PickleValue dict) const {
    static const std::vector<PickleValue> nothing;
    return dict.kind == PickleKind::kDict ? m_dicts[dict.index] : nothing;
}

bool PickleDocument::has(PickleValue dict, std::string_view key) const {
    return member(dict, key).kind != PickleKind::kNone;
}

PickleValue PickleDocument::member(PickleValue dict, std::string_view key) const {
    if (dict.kind != PickleKind::kDict) return {};
    const auto& pairs = m_dicts[dict.index];
    for (std::size_t i = pairs.size(); i >= 2; i -= 2)
        if (pairs[i - 2].kind == PickleKind::kText && text(pairs[i - 2]) == key)
            return pairs[i - 1];
    return {};
}

std::optional<std::int64_t> PickleDocument::integer(PickleValue dict, std::string_view key) const {
    const PickleValue value = member(dict, key);
    if (value.kind != PickleKind::kInteger) return std::nullopt;
    return value.integer;
}

Result<PickleDocument> readPickle(ByteSource& source, std::size_t budget) {
    PickleMachine machine(source, budget);
    try {
        return machine.run();
    } catch (const Refusal& refusal) {
        return failure(ErrorCode::kUnreadable, std::string("this is no pickle of plain data: ") +
                                                   refusal.what() + " (byte " +
                                                   std::to_string(machine.position()) + ")");
    }
}

}  // namespace shardscope::interchange
