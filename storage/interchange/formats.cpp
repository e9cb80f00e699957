#include "storage/interchange/formats.h"

namespace shardscope::interchange {

// One line a format, here and in the list: each is defined in its folder.
Format recordingFormat();
Format perfettoFormat();
Format kinetoFormat();
Format nsysFormat();
Format memorySnapshotFormat();
Format foldedFormat();
Format speedscopeFormat();
Format csvFormat();

const std::vector<Format>& formats() {
    static const std::vector<Format> kAll = {
        recordingFormat(), kinetoFormat(),   nsysFormat(),       memorySnapshotFormat(),
        foldedFormat(),    perfettoFormat(), speedscopeFormat(), csvFormat()};
    return kAll;
}

const Format* findFormat(std::string_view name) {
    for (const Format& format : formats())
        if (name == format.name) return &format;
    return nullptr;
}

std::string readEndings() {
    std::string list;
    for (const Format& format : formats())
        for (const char* ending : format.endings)
            list.append(list.empty() ? "*" : ", *").append(ending);
    return list;
}

}  // namespace shardscope::interchange
