import JSONTree
import SecurityRules

/// The indexes of a database, each with the number that its entries carry.
///
/// A definition that goes and comes back gets a new number, since its entries were not kept up meanwhile. Until all
/// entries of an index are there it is kept up by writes, but not used.
struct IndexCatalog {
    struct Index {
        let number: UInt32
        let definition: IndexDefinition
        var isComplete: Bool
        /// The settings want the values of each collection to be unique.
        var isUnique = false
        /// Since the settings want that, all children were looked at, and none shared a value.
        var isProven = false
    }

    private(set) var indexes: [Index] = []
    /// Numbers of indexes whose definition has gone, and of which a store may still have entries.
    private(set) var dropped: [UInt32] = []
    private var next: UInt32 = 1

    init() {}

    /// Reads what the store knows: after the next number, on each line `number TAB complete TAB pattern TAB index`, or
    /// the number of a dropped index alone. `complete` is 0 or 1, or 2 if the index is also proven to be unique.
    init(stored: [UInt8]) {
        let lines = String(decoding: stored, as: UTF8.self).split(separator: "\n")
        for (place, line) in lines.enumerated() {
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            if fields.count == 1, let number = UInt32(line) {
                if place == 0 { next = number } else { dropped.append(number) }
            }
            guard fields.count == 4, let number = UInt32(fields[0]),
                let pattern = IndexPattern(text: String(fields[2])),
                let index = QueryIndex(description: String(fields[3]))
            else { continue }
            let definition = IndexDefinition(pattern: pattern, index: index)
            let isProven = fields[1] == "2"
            indexes.append(
                Index(
                    number: number, definition: definition, isComplete: isProven || fields[1] == "1",
                    isProven: isProven))
        }
    }

    /// Keeps those that are defined, and adds what is missing. `uniques` are those whose values must be unique.
    mutating func set(_ definitions: [IndexDefinition], uniques: [IndexDefinition] = []) {
        let known = Dictionary(indexes.map { ($0.definition, $0) }) { first, _ in first }
        indexes = []
        for definition in definitions + uniques where !indexes.contains(where: { $0.definition == definition }) {
            if let index = known[definition] {
                indexes.append(index)
            } else {
                indexes.append(Index(number: next, definition: definition, isComplete: false))
                next += 1
            }
        }
        for place in indexes.indices {
            indexes[place].isUnique = uniques.contains(indexes[place].definition)
            // Nobody looks after it from now on.
            if !indexes[place].isUnique { indexes[place].isProven = false }
        }
        let kept = Set(indexes.map(\.number))
        dropped += known.values.map(\.number).filter { !kept.contains($0) }.sorted()
    }

    var stored: [UInt8] {
        let lines = indexes.map {
            "\($0.number)\t\($0.isComplete ? $0.isProven ? 2 : 1 : 0)\t\($0.definition.pattern.text)\t\($0.definition.index)"
        }
        return Array(([String(next)] + lines + dropped.map { String($0) }).joined(separator: "\n").utf8)
    }

    /// The indexes whose values must be unique.
    var uniques: [Index] { indexes.filter(\.isUnique) }

    /// No store has entries of these indexes any more.
    mutating func forgetDropped(_ numbers: Set<UInt32>) { dropped.removeAll { numbers.contains($0) } }

    /// Values that must be unique are to be looked through again.
    mutating func forgetProofs() {
        for place in indexes.indices { indexes[place].isProven = false }
    }

    mutating func complete(_ number: UInt32, isProven: Bool = false) {
        for place in indexes.indices where indexes[place].number == number {
            indexes[place].isComplete = true
            indexes[place].isProven = isProven
        }
    }
}
