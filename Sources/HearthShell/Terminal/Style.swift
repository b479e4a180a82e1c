import HearthJSONTree
import HearthJSONValues

/// How a part of the output looks on a terminal with colours.
enum Style: String, CaseIterable {
    case key = "34"
    case string = "32"
    case number = "33"
    case literal = "35"
    case dim = "2"
    case strong = "1"
    case error = "31"

    /// The parameters after the escape characters of styled text.
    static let sequences = allCases.map { "[\($0.rawValue)m" } + ["[0m"]

    func callAsFunction(_ text: String, _ isOn: Bool) -> String {
        isOn && !text.isEmpty ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
    }
}

/// JSON for people.
struct JSONPainter {
    let isColoured: Bool

    /// On one line, with white space after commas and colons.
    func line(_ value: JSONValue) -> String {
        if !isColoured { return Self.spaced(value.bytes) }
        return switch value {
        case .object(let object):
            "{\(object.members.map { key($0.name) + line($0.value) }.joined(separator: ", "))}"
        case .array(let elements): "[\(elements.map { line($0) }.joined(separator: ", "))]"
        default: leaf(value)
        }
    }

    /// Canonical text on one line, as ``line(_:)`` writes it without colours. One pass over the bytes.
    static func spaced(_ text: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: 2 * text.count) { out in
            var count = 0
            var isString = false
            var isEscaped = false
            for byte in text {
                out[count] = byte
                count += 1
                if isString {
                    if !isEscaped, byte == UInt8(ascii: "\"") { isString = false }
                    isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                } else if byte == UInt8(ascii: "\"") {
                    isString = true
                } else if byte == UInt8(ascii: ",") || byte == UInt8(ascii: ":") {
                    out[count] = UInt8(ascii: " ")
                    count += 1
                }
            }
            return count
        }
    }

    /// In lines, two spaces deeper with each level.
    func lines(_ value: JSONValue) -> [String] {
        var lines: [String] = []
        append(value, behind: "", indent: "", end: "", to: &lines)
        return lines
    }

    private func append(
        _ value: JSONValue, behind head: String, indent: String, end: String, to lines: inout [String]
    ) {
        switch value {
        case .object(let object) where !object.isEmpty:
            lines.append(indent + head + "{")
            let members = object.members
            for (index, member) in members.enumerated() {
                append(
                    member.value, behind: key(member.name), indent: indent + "  ",
                    end: index + 1 < members.count ? "," : "", to: &lines)
            }
            lines.append(indent + "}" + end)
        case .array(let elements) where !elements.isEmpty:
            lines.append(indent + head + "[")
            for (index, element) in elements.enumerated() {
                append(
                    element, behind: "", indent: indent + "  ", end: index + 1 < elements.count ? "," : "", to: &lines)
            }
            lines.append(indent + "]" + end)
        default: lines.append(indent + head + leaf(value) + end)
        }
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

    private func key(_ name: [UInt8]) -> String { Style.key(Self.text(.string(name)), isColoured) + ": " }

    private static func text(_ value: JSONValue) -> String { String(decoding: value.bytes, as: UTF8.self) }
}
