#include "storage/interchange/account.h"

namespace shardscope::interchange {

void ImportAccount::add(const ImportAccount& other) {
    read += other.read;
    kept += other.kept;
    repaired += other.repaired;
    for (const auto& [reason, count] : other.repairs) repairs[reason] += count;
    for (const auto& [reason, count] : other.rejections) rejections[reason] += count;
    notes.insert(notes.end(), other.notes.begin(), other.notes.end());
}

}  // namespace shardscope::interchange
