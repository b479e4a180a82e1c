import HearthJSONTree

/// One node of the tree of rules (docs/rules.md 1).
struct RulePlace: Sendable {
    /// The key as it is written, `$` and all. Empty at the root.
    var name: [UInt8]
    var parent: Int?
    /// Levels below the root.
    var depth: Int
    /// Encoded keys in byte order, and the places of the same number.
    private(set) var segments: [[UInt8]] = []
    private(set) var children: [Int] = []
    var wildcard: Int?
    /// Numbers of rules.
    var read: Int?
    var write: Int?
    var validate: Int?
    /// Whether there is a `.validate` below.
    var validatesBelow = false

    init(name: [UInt8], parent: Int?, depth: Int) {
        self.name = name
        self.parent = parent
        self.depth = depth
    }

    /// The place of a child: a literal name wins over the wildcard (docs/rules.md 2).
    func child(_ segment: UnsafeRawBufferPointer) -> Int? {
        var (low, high) = (0, segments.count)
        while low < high {
            let middle = (low + high) / 2
            let isBefore = segments[middle].withUnsafeBytes { $0.precedesBytewise(segment) }
            if isBefore { low = middle + 1 } else { high = middle }
        }
        if low < segments.count, segments[low].withUnsafeBytes({ $0.equalsBytewise(segment) }) { return children[low] }
        return wildcard
    }

    /// Takes the named children, in any order.
    mutating func setChildren(_ named: [(segment: [UInt8], place: Int)]) {
        let sorted = named.sorted { $0.segment.precedesBytewise($1.segment) }
        segments = sorted.map(\.segment)
        children = sorted.map(\.place)
    }

    func rule(_ kind: RuleKind) -> Int? {
        switch kind {
        case .read: read
        case .write: write
        case .validate: validate
        }
    }
}

package enum RuleKind: String, Hashable, Sendable {
    case read = ".read"
    case write = ".write"
    case validate = ".validate"
}

/// One `.read`, `.write` or `.validate`.
struct Rule: Sendable {
    var kind: RuleKind
    var place: Int
    /// The expression, out of its JSON string.
    var text: [UInt8]
    /// The file's offset of each byte of the text, and of its end.
    var offsets: [Int32]
    /// The instruction that decides.
    var root: Int
    /// All instructions of the rule.
    var instructions: Range<Int>
}
