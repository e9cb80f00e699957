// Collectives of a Kineto trace: what record_param_comms says on the host, joined with when its
// kernel ran on the device (External id), and with the copy of it that kernels carry since 2024.
#pragma once

#include "storage/interchange/json_text.h"
#include "storage/interchange/trace_builder.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope::interchange::kineto {

class CollectiveJoin {
    struct Facts {
        std::optional<CollectiveOp> operation;
        DataType dtype = DataType::kUnknown;
        Bytes size = kUnknownSize;
        std::uint32_t group = 0;
        std::optional<std::uint64_t> sequence;
    };
    struct Operation {
        Facts facts;
        Timestamp issue;
    };

public:
    /// What record_param_comms said, by External id: of one process, whose devices' ranks share it.
    class Operations {
    public:
        void add(std::int64_t id, Operation operation);
        [[nodiscard]] const Operation* find(std::int64_t id) const {
            const auto at = m_operations.find(id);
            return at == m_operations.end() ? nullptr : &at->second;
        }

    private:
        std::unordered_map<std::int64_t, Operation> m_operations;
        std::vector<std::int64_t> m_byAge;  ///< a ring
        std::size_t m_oldest = 0;
    };

    /// `worldSize` 0: not known; then the largest group seen is taken for the world.
    CollectiveJoin(TraceBuilder& builder, RankId rank, std::int64_t worldSize,
                   std::shared_ptr<Operations> operations)
        : m_builder(&builder),
          m_rank(rank),
          m_worldSize(worldSize),
          m_operations(std::move(operations)) {}

    /// A record_param_comms of the host.
    void addOperation(const std::vector<Member>& arguments, TimeRange range);
    void addKernel(std::string_view name, const std::vector<Member>& arguments, TimeRange range);
    /// Joins what is left. Kernels whose operation the recording has no word for stay kernels.
    void finish();

    [[nodiscard]] std::uint64_t joined() const { return m_joined; }
    [[nodiscard]] std::uint64_t withoutOperation() const { return m_withoutOperation; }
    [[nodiscard]] std::uint64_t kernels() const { return m_joined + m_withoutOperation; }

private:
    struct Kernel {
        std::optional<std::int64_t> externalId;
        std::optional<Facts> facts;
        std::string name;  ///< cut short
        TimeRange range;
    };
    struct Group {
        std::uint64_t next = 0;  ///< no sequence from here on is used
        bool counted = false;    ///< sequences of the trace are not unique: they are counted here
    };

    [[nodiscard]] Facts factsOf(const std::vector<Member>& arguments) const;
    [[nodiscard]] std::uint32_t groupOf(const std::vector<Member>& arguments) const;
    [[nodiscard]] Operation resolve(const Kernel& kernel) const;
    void chooseSequences(const std::vector<Operation>& operations);
    void emit(const Kernel& kernel, const Operation& operation);
    void join();

    TraceBuilder* m_builder;
    RankId m_rank;
    std::int64_t m_worldSize;
    std::shared_ptr<Operations> m_operations;
    std::vector<Kernel> m_kernels;
    std::map<std::uint32_t, Group> m_groups;
    std::uint64_t m_joined = 0;
    std::uint64_t m_withoutOperation = 0;
};

}  // namespace shardscope::interchange::kineto
