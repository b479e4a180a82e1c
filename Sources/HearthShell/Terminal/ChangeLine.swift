package import HearthConnection
import HearthClient
import HearthJSONTree

/// A change as one line of text.
package struct ChangeLine: Sendable {
    private let isJSON: Bool
    private let clock: (@Sendable () -> String)?

    /// - parameter clock: the time that a line begins with; nil for none.
    package init(isJSON: Bool, clock: (@Sendable () -> String)? = nil) {
        self.isJSON = isJSON
        self.clock = clock
    }

    package func text(of change: Change) -> [UInt8] {
        var place: [UInt8]
        var value: [UInt8] = []
        let type: StaticString
        switch change {
        case .set(let assignment):
            type = "set"
            place = [UInt8(ascii: "/")] + assignment.target.text
            value = assignment.value.bytes
        case .update(let base, let assignments):
            type = "update"
            place = [UInt8(ascii: "/")] + base.text
            value.append(UInt8(ascii: "{"))
            for (index, assignment) in assignments.enumerated() {
                if index > 0 { value.append(UInt8(ascii: ",")) }
                var relative = assignment.target
                relative.path = relative.path.dropFirst(bytes: base.encoded.count)
                JSONText.appendQuoted(relative.text, to: &value)
                value.append(UInt8(ascii: ":"))
                value += assignment.value.bytes
            }
            value.append(UInt8(ascii: "}"))
        }
        return line("\(type)", place, value)
    }

    private func line(_ type: String, _ place: [UInt8], _ value: [UInt8]) -> [UInt8] {
        let time = clock?()
        guard isJSON else {
            return Array("\(time.map { $0 + " " } ?? "")\(type) ".utf8) + place + " ".utf8 + value + "\n".utf8
        }
        var text = Array("{\(time.map { "\"time\":\"\($0)\"," } ?? "")\"type\":\"\(type)\",\"path\":".utf8)
        JSONText.appendQuoted(place, to: &text)
        return text + ",\"value\":".utf8 + value + "}\n".utf8
    }
}
