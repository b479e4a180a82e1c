/// `.maxChildren` (docs/using/additions.md 4).
extension SettingsParser {
    private static var limitRange: String { "'.maxChildren' is a number from 1 to \(ChildLimit.largestCount)." }

    /// `100`, or `{"count": 100, "drop": "first"}`.
    mutating func childLimit(_ pattern: IndexPattern) throws(Mistake) {
        let offset = reader.offset
        let form = #"'.maxChildren' is a number, or an object such as {"count": 100, "drop": "first"}."#
        var (count, drops): (Int?, Bool) = (nil, false)
        if try reader.peek() == UInt8(ascii: "{") {
            try forEachMember { (parser, key, keyOffset) throws(Mistake) in
                let offset = parser.reader.offset
                switch key.string {
                case "count":
                    count = try parser.reader.wholeNumber()
                    if count == nil { throw Mistake(Self.limitRange, at: offset) }
                case "drop":
                    guard try parser.reader.peek() == UInt8(ascii: "\""), try parser.reader.string().string == "first"
                    else { throw Mistake("'drop' of '.maxChildren' can be 'first' only.", at: offset) }
                    drops = true
                default:
                    throw Mistake.unknown(
                        "property of '.maxChildren':", key.string, known: ["count", "drop"], at: keyOffset)
                }
            }
        } else {
            count = try reader.wholeNumber()
        }
        guard let count else { throw Mistake(form, at: offset) }
        guard (1...ChildLimit.largestCount).contains(count) else {
            throw Mistake(Self.limitRange, at: offset)
        }
        childLimits.append(ChildLimit(pattern: pattern, count: count, dropsFirst: drops))
        if drops { droppingLimits.append((pattern, offset)) }
    }

    /// A job whose state is gone would be handed out to a second worker.
    func checkDroppingLimits() throws(Mistake) {
        for (pattern, offset) in droppingLimits {
            let isAtState = queues.contains { queue in
                let depth = queue.pattern.segments.count
                guard pattern.segments.count >= depth, queue.pattern.meets(pattern) else { return false }
                return pattern.segments.count == depth || queue.pattern.appending(QueueDefinition.state).meets(pattern)
            }
            if isAtState {
                let text = "'drop' of '.maxChildren' cannot stand at a queue or in the state of its jobs."
                throw Mistake(text, at: offset)
            }
        }
    }
}
