#include "profiler/collectors/cupti/cupti_api.h"

#include <cupti.h>

#include <array>
#include <atomic>

namespace shardscope::collectors {
namespace {

static_assert(kCuptiEndOfBuffer == CUPTI_ERROR_MAX_LIMIT_REACHED);
static_assert(kCuptiBrokenRecord == CUPTI_ERROR_INVALID_KIND);
static_assert(kCuptiSecondSubscriber == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
static_assert(kCuptiUnknown == CUPTI_ERROR_UNKNOWN);

// The buffer callbacks take no user pointer, so the one client is reached through here.
std::atomic<CuptiClient*> g_client{nullptr};

void CUPTIAPI onBufferRequested(std::uint8_t** buffer, std::size_t* size,
                                std::size_t* maxNumRecords) {
    CuptiClient* client = g_client.load(std::memory_order_acquire);
    *size = 0;
    *maxNumRecords = 0;  // as many as fit
    *buffer = client == nullptr ? nullptr : client->takeBuffer(*size);
}

void CUPTIAPI onBufferCompleted(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                std::size_t validSize) {
    CuptiClient* client = g_client.load(std::memory_order_acquire);
    if (client != nullptr && buffer != nullptr) client->completeBuffer(buffer, validSize);
}

void CUPTIAPI onResource(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                         const void* data) {
    CuptiClient* client = g_client.load(std::memory_order_acquire);
    if (client == nullptr || domain != CUPTI_CB_DOMAIN_RESOURCE) return;
    const auto* resource = static_cast<const CUpti_ResourceData*>(data);
    const auto* graph = static_cast<const CUpti_GraphData*>(resource->resourceDescriptor);
    if (graph == nullptr) return;
    std::uint64_t node = 0;
    if (cuptiGetGraphNodeId(graph->node, &node) != CUPTI_SUCCESS) return;
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
        client->graphNodeCreated(node, graph->nodeType == CU_GRAPH_NODE_TYPE_KERNEL);
    } else if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
        std::uint64_t original = 0;
        if (cuptiGetGraphNodeId(graph->originalNode, &original) != CUPTI_SUCCESS) return;
        client->graphNodeCloned(original, node);
    }
}

class LinkedCupti final : public CuptiApi {
public:
    std::uint32_t version() override {
        std::uint32_t found = 0;
        return cuptiGetVersion(&found) == CUPTI_SUCCESS ? found : 0;
    }

    Subscription subscribe(CuptiClient& client) override {
        std::array<char, 2 * CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> blocker{};
        CUpti_SubscriberParams params{};
        params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
        params.subscriberName = "Shardscope";
        params.oldSubscriberName = blocker.data();
        params.oldSubscriberSize = blocker.size();
        const int code = cuptiSubscribe_v2(&m_subscriber, &onResource, nullptr, &params);
        blocker.back() = '\0';
        if (code == kCuptiSuccess) g_client.store(&client, std::memory_order_release);
        return {code, blocker.data()};
    }

    int unsubscribe() override {
        g_client.store(nullptr, std::memory_order_release);
        return cuptiUnsubscribe(m_subscriber);
    }

    int useSystemThreadIds() override {
        return cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    }

    int promiseZeroedBuffers() override {
        std::uint8_t on = 1;
        std::size_t size = sizeof on;
        return cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size,
                                         &on);
    }

    int registerBufferCallbacks() override {
        return cuptiActivityRegisterCallbacks(&onBufferRequested, &onBufferCompleted);
    }

    int setKind(std::uint32_t kind, bool enabled) override {
        const auto activity = static_cast<CUpti_ActivityKind>(kind);
        return enabled ? cuptiActivityEnable(activity) : cuptiActivityDisable(activity);
    }

    int setCall(CallDomain domain, std::uint32_t id, bool enabled) override {
        const std::uint8_t on = enabled ? 1 : 0;
        return domain == CallDomain::kRuntime ? cuptiActivityEnableRuntimeApi(id, on)
                                              : cuptiActivityEnableDriverApi(id, on);
    }

    int setGraphNodeCallbacks(bool enabled) override {
        const std::uint32_t on = enabled ? 1 : 0;
        const int created = cuptiEnableCallback(on, m_subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                                CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
        const int cloned = cuptiEnableCallback(on, m_subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                               CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
        return created != kCuptiSuccess ? created : cloned;
    }

    int setAllSyncRecords(bool enabled) override {
        return cuptiActivityEnableAllSyncRecords(enabled ? 1 : 0);
    }

    int pushExternalId(std::uint32_t kind, std::uint64_t id) override {
        return cuptiActivityPushExternalCorrelationId(
            static_cast<CUpti_ExternalCorrelationKind>(kind), id);
    }

    int popExternalId(std::uint32_t kind) override {
        return cuptiActivityPopExternalCorrelationId(
            static_cast<CUpti_ExternalCorrelationKind>(kind), nullptr);
    }

    int flush(bool forced) override {
        return cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
    }

    std::uint64_t takeDropped() override {
        std::size_t dropped = 0;
        return cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS ? dropped
                                                                                        : 0;
    }

    int nextRecord(std::uint8_t* buffer, std::size_t validBytes, void*& record) override {
        auto* activity = static_cast<CUpti_Activity*>(record);
        const int code = cuptiActivityGetNextRecord(buffer, validBytes, &activity);
        record = activity;
        return code;
    }

    std::string errorText(int code) override {
        const char* text = nullptr;
        if (cuptiGetErrorMessage(static_cast<CUptiResult>(code), &text) != CUPTI_SUCCESS ||
            text == nullptr) {
            return "no text for this code";
        }
        return text;
    }

private:
    CUpti_SubscriberHandle m_subscriber = nullptr;
};

}  // namespace

CuptiApi& cuptiLibrary() {
    static LinkedCupti library;
    return library;
}

}  // namespace shardscope::collectors
