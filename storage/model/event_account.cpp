#include "storage/model/event_account.h"

#include "storage/model/detail.h"
#include "storage/model/rank_facts.h"

#include <algorithm>

namespace shardscope {

EventAccount eventAccount(const RecordingSummary& summary) {
    EventAccount account;
    for (const RankFacts& rank : summary.ranks) {
        account.emitted += rank.emitted;
        account.dropped += rank.dropped;
    }
    for (const DetailFacts& facts : summary.detail) account.removed += facts.removed.value_or(0);
    account.stored = summary.events.total();
    account.uncounted = summary.uncounted;
    const std::uint64_t counted = account.emitted + account.uncounted;
    account.lost = counted - std::min(counted, account.stored + account.removed + account.dropped);
    return account;
}

}  // namespace shardscope
