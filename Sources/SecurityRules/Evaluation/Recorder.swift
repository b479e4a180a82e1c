import HearthJSONTree

/// The results of the sub-expressions of a rule while it ran, for explanations and coverage.
final class Recorder {
    enum Outcome {
        case value(RuleValue)
        case fault(Fault)
    }

    /// Instructions in the order in which they were done.
    private(set) var outcomes: [(instruction: Int, outcome: Outcome)] = []

    func note(_ instruction: Int, _ value: RuleValue) { outcomes.append((instruction, .value(value))) }

    func note(_ instruction: Int, _ fault: Fault) { outcomes.append((instruction, .fault(fault))) }
}

extension Recorder.Outcome {
    /// Something that only its parts tell about, such as `auth`.
    var isWhole: Bool {
        switch self {
        case .value(.object), .value(.list), .value(.snapshot): true
        default: false
        }
    }
}

extension Recorder.Outcome: CustomStringConvertible {
    /// As people read it: JSON for primitives.
    var description: String {
        switch self {
        case .fault(let fault): "error: \(fault)"
        case .value(let value): value.description
        }
    }
}

extension RuleValue: CustomStringConvertible {
    /// Bytes of a string that are shown.
    private static let shownByteCount = 80

    var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let value): String(decoding: RuleText(number: value).utf8, as: UTF8.self)
        case .text(let text): Self.shown(text)
        case .object: "an object"
        case .list: "a list"
        case .snapshot: "a place"
        case .thing: "something with children"
        }
    }

    private static func shown(_ text: RuleText) -> String {
        var quoted: [UInt8] = []
        var end = min(text.byteCount, shownByteCount)
        text.withBytes { bytes in
            // Not in the middle of a character.
            while end > 0, end < bytes.count, bytes[end] & 0xC0 == 0x80 { end -= 1 }
            JSONText.appendQuoted(Array(bytes.part(0..<end)), to: &quoted)
        }
        return String(decoding: quoted, as: UTF8.self) + (end < text.byteCount ? "…" : "")
    }
}
