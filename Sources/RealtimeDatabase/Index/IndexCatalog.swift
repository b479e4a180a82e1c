import JSONTree
import SecurityRules

/// The indexes of a database, each with the number that its entries carry.
///
/// A definition that goes and comes back gets a new number, since its entries were not kept up meanwhile. Until all entries of an index
/// are there it is kept up by writes, but not used.
struct IndexCatalog {
    struct Index {
        let number: UInt32
        let definition: IndexDefinition
        var isComplete: Bool
    }

    private(set) var indexes: [Index] = []
    private var next: UInt32 = 1

    init() {}

    /// Reads what the store knows: `number TAB complete TAB pattern TAB index` on each line, after the next number.
    init(stored: [UInt8]) {
        let lines = String(decoding: stored, as: UTF8.self).split(separator: "\n")
        for (place, line) in lines.enumerated() {
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            if place == 0, let first = UInt32(line) { next = first }
            guard fields.count == 4, let number = UInt32(fields[0]),
                let pattern = IndexPattern(text: String(fields[2])),
                let index = QueryIndex(description: String(fields[3]))
            else { continue }
            let definition = IndexDefinition(pattern: pattern, index: index)
            indexes.append(Index(number: number, definition: definition, isComplete: fields[1] == "1"))
        }
    }

    /// Keeps those that are defined, and adds what is missing.
    mutating func set(_ definitions: [IndexDefinition]) {
        let known = Dictionary(indexes.map { ($0.definition, $0) }) { first, _ in first }
        indexes = []
        for definition in definitions where !indexes.contains(where: { $0.definition == definition }) {
            if let index = known[definition] {
                indexes.append(index)
            } else {
                indexes.append(Index(number: next, definition: definition, isComplete: false))
                next += 1
            }
        }
    }

    var stored: [UInt8] {
        let lines = indexes.map {
            "\($0.number)\t\($0.isComplete ? 1 : 0)\t\($0.definition.pattern.text)\t\($0.definition.index)"
        }
        return Array(([String(next)] + lines).joined(separator: "\n").utf8)
    }

    /// The first one whose entries are not all there.
    var incomplete: Index? { indexes.first { !$0.isComplete } }

    mutating func complete(_ number: UInt32) {
        for place in indexes.indices where indexes[place].number == number { indexes[place].isComplete = true }
    }
}
