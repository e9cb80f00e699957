#include "storage/interchange/account.h"

#include <algorithm>

namespace shardscope::interchange {

void ImportAccount::add(const ImportAccount& other) {
    read += other.read;
    kept += other.kept;
    repaired += other.repaired;
    for (const auto& [reason, count] : other.repairs) repairs[reason] += count;
    for (const auto& [reason, count] : other.rejections) rejections[reason] += count;
    for (const auto& [sentence, count] : other.countedNotes) countedNotes[sentence] += count;
    for (const std::string& note : other.notes)
        if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

std::vector<std::string> ImportAccount::sentences() const {
    std::vector<std::string> all;
    for (const auto& [sentence, count] : countedNotes)
        all.push_back(std::to_string(count).append(" ").append(sentence));
    all.insert(all.end(), notes.begin(), notes.end());
    return all;
}

}  // namespace shardscope::interchange
