// CUPTI without a device: keeps what was asked of it and hands out what a test prepared, in
// the pool's buffers. Walks buffers with the real library, which needs no driver for that.
#pragma once

#include "profiler/collectors/cupti/cupti_api.h"
#include "tests/profiler/collectors/cupti/activities.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::collectors {

class FakeCupti : public CuptiApi {
public:
    // What it answers; set before use.
    std::uint32_t foundVersion = 130001;
    Subscription subscription;
    std::map<std::uint32_t, int> refusedKinds;

    /// As a launch on the calling thread would. False: there was no buffer, all are dropped.
    bool deliver(const Activities& activities) {
        std::size_t size = 0;
        std::uint8_t* buffer = client()->takeBuffer(size);
        if (buffer == nullptr) {
            m_dropped += activities.count();
            return false;
        }
        EXPECT_TRUE(std::all_of(buffer, buffer + size, [](std::uint8_t b) { return b == 0; }));
        EXPECT_LE(activities.bytes().size(), size);
        std::copy(activities.bytes().begin(), activities.bytes().end(), buffer);
        client()->completeBuffer(buffer, activities.bytes().size());
        return true;
    }
    /// Delivered by the next flush, before it returns.
    void deliverOnFlush(Activities activities) {
        const std::lock_guard lock(m_mutex);
        m_onFlush.push_back(std::move(activities));
    }
    [[nodiscard]] CuptiClient* client() const { return m_client; }

    template <class Read>
    auto state(Read read) const {
        const std::lock_guard lock(m_mutex);
        return read(*this);
    }
    // Guarded by the lock; read through state().
    std::vector<std::string> log;
    std::set<std::uint32_t> kinds;
    std::set<std::pair<CallDomain, std::uint32_t>> calls;
    bool graphNodes = false;
    bool allSyncRecords = true;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> pushed;
    int pops = 0;
    std::vector<bool> flushes;  ///< whether forced

    std::uint32_t version() override { return foundVersion; }
    Subscription subscribe(CuptiClient& client) override {
        note("subscribe");
        if (subscription.code == kCuptiSuccess) m_client = &client;
        return subscription;
    }
    int unsubscribe() override {
        note("unsubscribe");
        m_client = nullptr;
        return kCuptiSuccess;
    }
    int useSystemThreadIds() override { return note("thread ids"); }
    int promiseZeroedBuffers() override { return note("zeroed buffers"); }
    int registerBufferCallbacks() override { return note("buffer callbacks"); }
    int setKind(std::uint32_t kind, bool enabled) override {
        const std::lock_guard lock(m_mutex);
        log.push_back(enabled ? "enable" : "disable");
        if (const auto refused = refusedKinds.find(kind); refused != refusedKinds.end()) {
            return refused->second;
        }
        const bool changed = enabled ? kinds.insert(kind).second : kinds.erase(kind) == 1;
        EXPECT_TRUE(changed) << "kind " << kind << " already was as asked for";
        return kCuptiSuccess;
    }
    int setCall(CallDomain domain, std::uint32_t id, bool enabled) override {
        const std::lock_guard lock(m_mutex);
        const std::pair call{domain, id};
        const bool changed = enabled ? calls.insert(call).second : calls.erase(call) == 1;
        EXPECT_TRUE(changed) << "call " << id << " already was as asked for";
        return kCuptiSuccess;
    }
    int setGraphNodeCallbacks(bool enabled) override {
        const std::lock_guard lock(m_mutex);
        graphNodes = enabled;
        return kCuptiSuccess;
    }
    int setAllSyncRecords(bool enabled) override {
        const std::lock_guard lock(m_mutex);
        allSyncRecords = enabled;
        return kCuptiSuccess;
    }
    int pushExternalId(std::uint32_t kind, std::uint64_t id) override {
        const std::lock_guard lock(m_mutex);
        pushed.emplace_back(kind, id);
        return kCuptiSuccess;
    }
    int popExternalId(std::uint32_t) override {
        const std::lock_guard lock(m_mutex);
        ++pops;
        return kCuptiSuccess;
    }
    int flush(bool forced) override {
        std::vector<Activities> due;
        {
            const std::lock_guard lock(m_mutex);
            flushes.push_back(forced);
            log.push_back(forced ? "flush forced" : "flush");
            due = std::exchange(m_onFlush, {});
        }
        for (const Activities& activities : due) deliver(activities);
        return kCuptiSuccess;
    }
    std::uint64_t takeDropped() override { return m_dropped.exchange(0); }
    int nextRecord(std::uint8_t* buffer, std::size_t validBytes, void*& record) override {
        return cuptiLibrary().nextRecord(buffer, validBytes, record);
    }
    std::string errorText(int code) override { return "text of " + std::to_string(code); }

private:
    int note(const char* what) {
        const std::lock_guard lock(m_mutex);
        log.emplace_back(what);
        return kCuptiSuccess;
    }
    mutable std::mutex m_mutex;
    std::atomic<CuptiClient*> m_client{nullptr};
    std::atomic<std::uint64_t> m_dropped{0};
    std::vector<Activities> m_onFlush;  // guarded by m_mutex
};

}  // namespace shardscope::collectors
