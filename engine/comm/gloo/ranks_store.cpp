#include "engine/comm/gloo/gloo_meeting.h"
#include "engine/network/keyed_table.h"

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::comm {
namespace {

/// The table as LibTorch takes it, as far as Gloo asks for it while it connects.
class RanksStore final : public c10d::Store {
public:
    RanksStore(RankTable table, std::chrono::milliseconds timeout)
        : Store(timeout), m_table(std::move(table)) {}

    c10::intrusive_ptr<Store> clone() override {
        return c10::make_intrusive<RanksStore>(m_table, timeout_);
    }
    void set(const std::string& key, const std::vector<std::uint8_t>& value) override {
        if (auto done = m_table->set(key, {value.begin(), value.end()}); !done)
            throw std::runtime_error(done.error().message);
    }
    std::vector<std::uint8_t> get(const std::string& key) override {
        const std::string value = await(key, timeout_);
        return {value.begin(), value.end()};
    }
    bool check(const std::vector<std::string>& keys) override {
        return std::all_of(keys.begin(), keys.end(), [this](const std::string& key) {
            const auto value = m_table->get(key, {});
            return value && value->has_value();
        });
    }
    void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
    void wait(const std::vector<std::string>& keys,
              const std::chrono::milliseconds& timeout) override {
        for (const std::string& key : keys) await(key, timeout);
    }

    std::int64_t add(const std::string&, std::int64_t) override { unused("add"); }
    bool deleteKey(const std::string&) override { unused("deleteKey"); }
    std::int64_t getNumKeys() override { unused("getNumKeys"); }

private:
    [[noreturn]] static void unused(const char* what) {
        throw std::logic_error(fmt::format("ranks share no store that can {}", what));
    }
    std::string await(const std::string& key, std::chrono::milliseconds timeout) {
        auto value = m_table->get(key, timeout);
        if (!value) throw std::runtime_error(value.error().message);
        if (!value->has_value())
            throw std::runtime_error(fmt::format("timeout: no rank has said '{}'", key));
        return std::move(**value);
    }

    const RankTable m_table;
};

}  // namespace

c10::intrusive_ptr<c10d::Store> storeOf(RankTable table, std::chrono::milliseconds timeout) {
    return c10::make_intrusive<RanksStore>(std::move(table), timeout);
}

}  // namespace shardscope::comm
