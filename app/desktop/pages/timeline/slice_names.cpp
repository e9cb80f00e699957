#include "app/desktop/pages/timeline/slice_names.h"

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// Up to the template's or the call's bracket; an operator's name may begin with one.
qsizetype endOfName(const QString& name) {
    qsizetype end = name.size();
    for (const QChar bracket : {u'<', u'('}) {
        const qsizetype at = name.indexOf(bracket, 1);
        if (at > 0) end = std::min(end, at);
    }
    return end;
}

/// "threading.py(1016): wait", "<built-in method wait of ...>", "nn.Module: Linear_3"
QString pythonName(const QString& name) {
    if (const qsizetype colon = name.indexOf("): "_L1); colon > 0) return name.mid(colon + 3);
    if (name.startsWith("nn.Module: "_L1)) return name.mid(11);
    if (!name.startsWith("<built-in "_L1)) return {};
    const QString rest = name.mid(10).section(u' ', 1, 1);
    return rest.endsWith(u'>') ? rest.chopped(1) : rest;
}

}  // namespace

QString shortName(const QString& name) {
    if (const QString python = pythonName(name); !python.isEmpty()) return python;
    if (name.startsWith(u'<') || name.contains(": "_L1)) return name;
    // a sentence is no signature
    const bool template_ = name.contains(u'<') || name.contains("::"_L1);
    const bool call = name.endsWith(u')') && name.contains(u'(');
    if (!template_ && !call) return name;
    const bool hasReturn = name.startsWith("void "_L1);
    if (!hasReturn && name.section(u'(', 0, 0).section(u'<', 0, 0).contains(u' ')) return name;
    QString function = name.left(endOfName(name));
    function = function.mid(function.lastIndexOf("::"_L1) + (function.contains("::"_L1) ? 2 : 1));
    if (hasReturn && function.startsWith("void "_L1)) function.remove(0, 5);
    function = function.trimmed();
    return function.isEmpty() ? name : function;
}

std::vector<QString> namesLongestFirst(const QString& name) {
    const QString brief = shortName(name);
    if (brief == name) return {name};
    return {name, brief};
}

}  // namespace shardscope::desktop
