import HearthJSONTree

/// `.count` and `.sum` (docs/using/additions.md 3).
extension SettingsParser {
    /// A counter, and where in the file its target is named.
    struct NamedCounter {
        var definition: CounterDefinition
        var offset: Int
    }

    /// `{"of": "messages", "into": "stats/messages"}`, or a list of these.
    mutating func counters(_ pattern: IndexPattern, isSum: Bool) throws(Mistake) {
        try forEachOfOneOrMore { (parser) throws(Mistake) in try parser.appendCounter(pattern, isSum: isSum) }
    }

    private mutating func appendCounter(_ pattern: IndexPattern, isSum: Bool) throws(Mistake) {
        let name = isSum ? "'.sum'" : "'.count'"
        let example =
            isSum
            ? #"{"of": "orders", "value": "price", "into": "stats/turnover"}"#
            : #"{"of": "messages", "into": "stats/messages"}"#
        let start = reader.offset
        guard try reader.peek() == UInt8(ascii: "{") else {
            throw Mistake("\(name) is an object such as \(example), or a list of these.", at: start)
        }
        var paths: [String: (path: Path, offset: Int)] = [:]
        var summed: QueryIndex?
        try forEachMember { (parser, key, offset) throws(Mistake) in
            switch key.string {
            case "of", "into": paths[key.string] = try parser.relativePath(name, key.string)
            case "value" where isSum: summed = try parser.comparedValue()
            default:
                let known = isSum ? ["of", "value", "into"] : ["of", "into"]
                throw Mistake.unknown("property of \(name):", key.string, known: known, at: offset)
            }
        }
        guard let of = paths["of"], let into = paths["into"], !isSum || summed != nil else {
            throw Mistake("\(name) needs all properties of \(example).", at: start)
        }
        if of.path.contains(into.path) || into.path.contains(of.path) {
            throw Mistake("'into' must lie outside of 'of'.", at: into.offset)
        }
        let definition = CounterDefinition(pattern: pattern, collection: of.path, target: into.path, summed: summed)
        let depth = max(definition.targets.segments.count, definition.collections.segments.count + 1)
        guard depth <= Path.maximumDepth else {
            throw Mistake("Settings deeper than \(Path.maximumDepth) levels never apply.", at: start)
        }
        counters.append(NamedCounter(definition: definition, offset: into.offset))
    }

    private mutating func relativePath(_ name: String, _ property: String) throws(Mistake) -> (path: Path, offset: Int)
    {
        let offset = reader.offset
        guard try reader.peek() == UInt8(ascii: "\"") else {
            throw Mistake("'\(property)' of \(name) is the path of a child.", at: offset)
        }
        let text = try reader.string().string
        guard let path = try? Path(parsing: text), !path.isRoot else {
            throw Mistake("'\(text)' is not the path of a child.", at: offset)
        }
        return (path, offset)
    }

    /// Totals must not change data that another setting looks at: else one write would lead to another.
    func checkTargets() throws(Mistake) {
        for (place, counter) in counters.enumerated() {
            let target = counter.definition.targets
            let depth = counter.definition.pattern.segments.count
            for other in counters[..<place] where other.definition.targets.meets(target) {
                throw Mistake("Another total stands at 'into', above it, or below it.", at: counter.offset)
            }
            var looked = uniques.map { ($0.pattern, Optional($0.index)) }
            looked += counters.map { ($0.definition.collections, $0.definition.summed) }
            looked += expiries.map { ($0.pattern, $0.index) }
            looked += childLimits.map { ($0.pattern, nil) }
            looked += queues.map { ($0.pattern.appending(QueueDefinition.jobs), $0.at) }
            looked += queues.map { ($0.pattern.appending(QueueDefinition.state), nil) }
            for (collection, index) in looked {
                // Above the place a total is in a child that exists for other reasons.
                if index == nil, collection.segments.count < depth { continue }
                let children = IndexPattern(segments: collection.segments + [nil])
                let values: IndexPattern =
                    if case .child(let path) = index { children.appending(path) } else { children }
                if values.meets(target) {
                    throw Mistake(
                        "The total at 'into' would change what a setting looks at in '/\(collection.text)'.",
                        at: counter.offset)
                }
            }
        }
    }
}
