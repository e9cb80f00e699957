#include "storage/interchange/kineto/in/collective_join.h"

#include "storage/interchange/collective_kernels.h"
#include "storage/interchange/decimal.h"

#include <algorithm>

namespace shardscope::interchange::kineto {
namespace {

/// Both sides of the join are bounded; a kernel runs long before this many others are launched.
constexpr std::size_t kMostWaiting = 65'536;
constexpr std::size_t kNameBytes = 96;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 55;

/// Lower-case, and without what separates words.
std::string plain(std::string_view name) {
    std::string letters;
    for (const char c : name)
        if (c != '_' && c != '-') letters += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return letters;
}

/// The first operation that a name holds: "_reduce_scatter_base",
/// "ncclDevKernel_AllGather_RING_LL". What c10d calls messages must be the whole name: a kernel's
/// "SendRecv" says nothing, it may be either or a part of an all-to-all.
std::optional<CollectiveOp> operationIn(std::string_view name) {
    static const std::vector<std::string> kPlain = [] {
        std::vector<std::string> all;
        for (const CollectiveWords& words : kWords<CollectiveOp>)
            all.push_back(plain(words.message ? words.c10d : words.word));
        return all;
    }();
    const std::string given = plain(name.substr(0, kNameBytes));
    for (std::size_t i = 0; i < kPlain.size(); ++i) {
        const auto at = given.find(kPlain[i]);
        const bool whole = at == 0 && given.size() == kPlain[i].size();
        if (kWords<CollectiveOp>[i].message ? whole : at != std::string::npos)
            return kWords<CollectiveOp>[i].value;
    }
    return std::nullopt;
}

struct Type {
    std::string_view text;
    DataType dtype;
    std::int64_t bytes;
};
/// c10::ScalarType's names. Types the recording has no word for count as bytes.
constexpr Type kTypes[] = {
    {"Float", DataType::kFloat32, 4},    {"BFloat16", DataType::kBFloat16, 2},
    {"Half", DataType::kFloat16, 2},     {"Long", DataType::kInt64, 8},
    {"Double", DataType::kFloat64, 8},   {"Int", DataType::kByte, 4},
    {"Short", DataType::kByte, 2},       {"Byte", DataType::kByte, 1},
    {"Char", DataType::kByte, 1},        {"Bool", DataType::kByte, 1},
    {"ComplexFloat", DataType::kByte, 8}};

std::optional<Type> typeOf(std::string_view name) {
    for (const Type& type : kTypes)
        if (type.text == name) return type;
    if (name.starts_with("Float8")) return Type{name, DataType::kByte, 1};
    return std::nullopt;
}

struct TypeWord {
    std::string_view text;
    DataType dtype;
};
/// Endings of NCCL's kernels, old ("_Sum_float") and new ("_Sum_f32_RING_LL").
constexpr TypeWord kTypeWords[] = {
    {"float", DataType::kFloat32},  {"f32", DataType::kFloat32},
    {"bf16", DataType::kBFloat16},  {"nv_bfloat16", DataType::kBFloat16},
    {"half", DataType::kFloat16},   {"f16", DataType::kFloat16},
    {"double", DataType::kFloat64}, {"f64", DataType::kFloat64},
    {"int64_t", DataType::kInt64},  {"i64", DataType::kInt64},
    {"int8_t", DataType::kByte},    {"i8", DataType::kByte},
    {"uint8_t", DataType::kByte},   {"u8", DataType::kByte}};

/// Kernels that reduce are made for a type; what only moves data is always one for bytes.
DataType typeIn(std::string_view kernel, CollectiveOp operation) {
    if (operation != CollectiveOp::kAllReduce && operation != CollectiveOp::kReduceScatter)
        return DataType::kUnknown;
    for (const TypeWord& word : kTypeWords) {
        const std::size_t at = kernel.find(word.text);
        if (at == std::string_view::npos || at == 0 || kernel[at - 1] != '_') continue;
        const std::size_t end = at + word.text.size();
        if (end == kernel.size() || kernel[end] == '_' || kernel[end] == '(') return word.dtype;
    }
    return DataType::kUnknown;
}

std::uint32_t hashOf(std::string_view text) {
    std::uint32_t hash = 2'166'136'261u;  // FNV-1a
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619u;
    return hash == 0 ? 1 : hash;
}

std::optional<std::int64_t> integer(const std::vector<Member>& members, std::string_view key) {
    const std::string_view value = valueOf(members, key);
    return parseInteger(isString(value) ? value.substr(1, value.size() - 2) : value);
}

std::string_view partOf(std::string_view name, std::initializer_list<const char*> words) {
    for (const std::string_view word : words) {
        const std::size_t at = name.find(word);
        if (at != std::string_view::npos && at > 0 && name[at - 1] == '_') return word;
    }
    return {};
}

}  // namespace

/// 0 for the world; else a number that all ranks of the group arrive at.
std::uint32_t CollectiveJoin::groupOf(const std::vector<Member>& arguments) const {
    const auto size = integer(arguments, "Group size");
    if (!size || m_worldSize == 0 || *size == m_worldSize) return 0;
    const std::string name = textOf(valueOf(arguments, "Process Group Name"));
    const std::string ranks = textOf(valueOf(arguments, "Process Group Ranks"));
    return hashOf(name + "|" + ranks);
}

CollectiveJoin::Facts CollectiveJoin::factsOf(const std::vector<Member>& arguments) const {
    Facts facts;
    facts.operation = operationIn(textOf(valueOf(arguments, "Collective name")));
    const auto type = typeOf(textOf(valueOf(arguments, "dtype")));
    if (type) facts.dtype = type->dtype;
    // Gathered size, size before reduction: the larger side of either.
    const auto in = integer(arguments, "In msg nelems"), out = integer(arguments, "Out msg nelems");
    const std::int64_t elements = std::max(in.value_or(0), out.value_or(0));
    if (elements == 0 && (in || out || facts.operation == CollectiveOp::kBarrier))
        facts.size = {};
    else if (type && elements > 0)
        facts.size = {std::min(elements, kMostBytes / 16) * type->bytes};
    facts.group = groupOf(arguments);
    if (const auto sequence = integer(arguments, "Seq"); sequence && *sequence >= 0)
        facts.sequence = static_cast<std::uint64_t>(*sequence);
    return facts;
}

void CollectiveJoin::Operations::add(std::int64_t id, Operation operation) {
    if (m_byAge.size() < kMostWaiting) {
        m_byAge.push_back(id);
    } else {
        m_operations.erase(std::exchange(m_byAge[m_oldest], id));
        m_oldest = (m_oldest + 1) % kMostWaiting;
    }
    m_operations[id] = std::move(operation);
}

void CollectiveJoin::addOperation(const std::vector<Member>& arguments, TimeRange range) {
    const auto id = integer(arguments, "External id");
    if (!id) return;
    m_operations->add(*id, {factsOf(arguments), range.begin});
}

void CollectiveJoin::addKernel(std::string_view name, const std::vector<Member>& arguments,
                               TimeRange range) {
    Kernel kernel{integer(arguments, "External id"), std::nullopt,
                  std::string(name.substr(0, kNameBytes)), range};
    if (!valueOf(arguments, "Collective name").empty()) kernel.facts = factsOf(arguments);
    m_kernels.push_back(std::move(kernel));
    if (m_kernels.size() >= kMostWaiting) join();
}

CollectiveJoin::Operation CollectiveJoin::resolve(const Kernel& kernel) const {
    Operation operation{{}, kernel.range.begin};
    if (const Operation* known =
            kernel.externalId ? m_operations->find(*kernel.externalId) : nullptr)
        operation = *known;
    if (kernel.facts) operation.facts = *kernel.facts;
    Facts& facts = operation.facts;
    if (!facts.operation) facts.operation = impliedOperation(kernel.name);
    if (!facts.operation) facts.operation = operationIn(kernel.name);
    if (facts.operation && facts.dtype == DataType::kUnknown)
        facts.dtype = typeIn(kernel.name, *facts.operation);
    operation.issue = std::min(operation.issue, kernel.range.begin);
    return operation;
}

/// A row is found by group and sequence: where those of the trace are missing or used twice
/// (coalesced collectives), they are counted instead.
void CollectiveJoin::chooseSequences(const std::vector<Operation>& operations) {
    std::map<std::uint32_t, std::uint64_t> next;
    for (const auto& [facts, issue] : operations) {
        if (!facts.operation) continue;
        const auto [at, fresh] = m_groups.try_emplace(facts.group);
        Group& group = at->second;
        // Another file of the process may have had some.
        if (fresh) group.next = m_builder->nextSequence(m_rank, facts.group);
        std::uint64_t& expected = next.try_emplace(facts.group, group.next).first->second;
        if (!facts.sequence || *facts.sequence < expected)
            group.counted = true;
        else
            expected = *facts.sequence + 1;
    }
}

void CollectiveJoin::emit(const Kernel& kernel, const Operation& operation) {
    const Facts& facts = operation.facts;
    Group& group = m_groups[facts.group];
    CollectiveEvent event;
    event.operation = *facts.operation;
    event.dtype = facts.dtype;
    event.group = facts.group;
    event.sequence = group.counted ? group.next : *facts.sequence;
    group.next = event.sequence + 1;
    event.size = facts.size;
    event.algorithm = m_builder->intern(
        m_rank, partOf(kernel.name, {"RING", "TREE", "NVLSTREE", "NVLS", "COLLNET", "PAT"}));
    event.protocol = m_builder->intern(m_rank, partOf(kernel.name, {"LL128", "LL", "SIMPLE"}));
    event.issue = operation.issue;
    event.start = kernel.range.begin;
    event.end = kernel.range.end;
    m_builder->add(m_rank, event);
}

void CollectiveJoin::join() {
    std::stable_sort(m_kernels.begin(), m_kernels.end(), [](const Kernel& a, const Kernel& b) {
        return a.range.begin < b.range.begin;
    });
    std::vector<Operation> operations;
    for (const Kernel& kernel : m_kernels) operations.push_back(resolve(kernel));
    chooseSequences(operations);
    for (std::size_t i = 0; i < m_kernels.size(); ++i) {
        if (operations[i].facts.operation) {
            emit(m_kernels[i], operations[i]);
            ++m_joined;
        } else {
            ++m_withoutOperation;
        }
    }
    m_kernels.clear();
}

void CollectiveJoin::finish() {
    join();
}

}  // namespace shardscope::interchange::kineto
