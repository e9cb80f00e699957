#include "app/desktop/models/run_name.h"

#include "app/desktop/models/format.h"
#include "storage/model/plain_text.h"
#include "storage/model/run_label.h"

namespace shardscope::desktop {

QString runName(const std::vector<FactRow>& facts) {
    return fromUtf8(printableLine(labelIn(facts).name));
}

QString runTags(const std::vector<FactRow>& facts) {
    return fromUtf8(printableLine(tagsText(labelIn(facts))));
}

}  // namespace shardscope::desktop
