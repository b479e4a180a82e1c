import JSONTree
import JSONWebTokens

/// How a part of the output looks on a terminal with colours.
enum Style: String, CaseIterable {
    case key = "34"
    case string = "32"
    case number = "33"
    case literal = "35"
    case dim = "2"
    case strong = "1"
    case error = "31"

    /// What stands behind the escape characters of styled text.
    static let sequences = allCases.map { "[\($0.rawValue)m" } + ["[0m"]

    func callAsFunction(_ text: String, _ isOn: Bool) -> String {
        isOn && !text.isEmpty ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
    }
}

/// JSON for people.
struct JSONPainter {
    let isColoured: Bool

    /// On one line. White space stands behind commas and colons.
    func line(_ value: JSONValue) -> String {
        switch value {
        case .object(let object):
            let members = object.members.map { member in
                Style.key(Self.text(.string(member.name)), isColoured) + ": " + line(member.value)
            }
            return "{\(members.joined(separator: ", "))}"
        case .array(let elements): return "[\(elements.map { line($0) }.joined(separator: ", "))]"
        default: return leaf(value)
        }
    }

    /// In lines, two spaces deeper with each level.
    func lines(_ value: JSONValue) -> [String] {
        switch value {
        case .object(let object) where !object.isEmpty:
            let parts = object.members.map { member in
                (Style.key(Self.text(.string(member.name)), isColoured) + ": ", member.value)
            }
            return block("{", parts, "}")
        case .array(let elements) where !elements.isEmpty: return block("[", elements.map { ("", $0) }, "]")
        default: return [leaf(value)]
        }
    }

    private func block(_ open: String, _ parts: [(head: String, value: JSONValue)], _ close: String) -> [String] {
        var out = [open]
        for (index, part) in parts.enumerated() {
            var inner = lines(part.value)
            inner[0] = part.head + inner[0]
            if index + 1 < parts.count { inner[inner.count - 1] += "," }
            out += inner.map { "  " + $0 }
        }
        return out + [close]
    }

    func leaf(_ value: JSONValue) -> String {
        let style: Style =
            switch value {
            case .string: .string
            case .integer, .double: .number
            default: .literal
            }
        return style(Self.text(value), isColoured)
    }

    private static func text(_ value: JSONValue) -> String { String(decoding: value.bytes, as: UTF8.self) }
}
