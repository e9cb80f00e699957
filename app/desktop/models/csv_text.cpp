#include "app/desktop/models/csv_text.h"

#include <algorithm>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

QString csvLine(const QStringList& cells) {
    QStringList quoted;
    for (QString cell : cells) {
        // what is written for eyes: programs read a hyphen as a sign, and plain spaces
        cell.replace(QChar(0x2212), u'-');
        for (const char16_t space : {u'\u00A0', u'\u2009', u'\u202F'}) cell.replace(space, u' ');
        const bool plain = std::none_of(cell.cbegin(), cell.cend(), [](QChar c) {
            return c == u',' || c == u'"' || c == u'\n' || c == u'\r';
        });
        quoted << (plain ? cell : u'"' + cell.replace(u"\""_s, u"\"\""_s) + u'"');
    }
    return quoted.join(u',') + u"\r\n"_s;
}

}  // namespace shardscope::desktop
