import HearthJSONTree

/// `.queue` (docs/using/additions.md 8).
extension SettingsParser {
    private static var form: String {
        #"'.queue' is an object such as {"lease": 30000, "attempts": 5, "backoff": 1000, "at": "runAt"}."#
    }

    /// `{"at": "runAt", "lease": 30000, "attempts": 5, "backoff": 1000, "longestBackoff": 3600000}`, in part or all.
    mutating func queue(_ pattern: IndexPattern) throws(Mistake) {
        let start = reader.offset
        guard try reader.peek() == UInt8(ascii: "{") else { throw Mistake(Self.form, at: start) }
        var queue = QueueDefinition(pattern: pattern)
        try forEachMember { (parser, key, offset) throws(Mistake) in
            let day: Int64 = 86_400_000
            switch key.string {
            case "at": queue.at = try parser.comparedValue()
            case "lease": queue.lease = try parser.queueNumber("lease", in: QueueDefinition.leases)
            case "attempts":
                queue.attempts = Int(
                    try parser.queueNumber("attempts", in: 1...Int64(QueueDefinition.largestAttempts)))
            case "backoff": queue.backoff = try parser.queueNumber("backoff", in: 0...day)
            case "longestBackoff": queue.longestBackoff = try parser.queueNumber("longestBackoff", in: 0...30 * day)
            default:
                throw Mistake.unknown(
                    "property of '.queue':", key.string,
                    known: ["at", "attempts", "backoff", "lease", "longestBackoff"], at: offset)
            }
        }
        if queue.longestBackoff < queue.backoff { queue.longestBackoff = queue.backoff }
        if pattern.segments.count + 2 > Path.maximumDepth {
            throw Mistake("Settings deeper than \(Path.maximumDepth) levels never apply.", at: start)
        }
        if queues.contains(where: { $0.pattern.meets(pattern) }) {
            throw Mistake("A queue cannot be in another one, nor have two settings.", at: start)
        }
        queues.append(queue)
    }

    private mutating func queueNumber(_ name: String, in range: ClosedRange<Int64>) throws(Mistake) -> Int64 {
        let offset = reader.offset
        guard let number = try reader.wholeNumber(), range.contains(Int64(number)) else {
            throw Mistake(
                "'\(name)' of '.queue' is a whole number from \(range.lowerBound) to \(range.upperBound).", at: offset)
        }
        return Int64(number)
    }
}
