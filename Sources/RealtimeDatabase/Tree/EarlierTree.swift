import HearthJSONTree
import HearthSecurityRules

/// The tree in which rules are asked for the first time about a write with increments, while others go on to change
/// the values that these refer to: numbers are those that the sums were made of.
final class EarlierTree: RuleTree {
    private let tree: any RuleTree
    private let reading: WriteReading

    init(_ tree: any RuleTree, _ reading: WriteReading) { (self.tree, self.reading) = (tree, reading) }

    func value(at path: RawSpan) throws(RuleTreeError) -> RuleTreeValue {
        if !reading.earlier.isEmpty {
            let place = path.withUnsafeBytes { Path(encoded: Array($0)) }
            if let number = reading.earlier[place] { return RuleTreeValue(number) }
        }
        return try tree.value(at: path)
    }

    func forEachChild(
        of path: RawSpan, _ body: (RawSpan) throws(RuleTreeError) -> Bool
    ) throws(RuleTreeError) {
        try tree.forEachChild(of: path, body)
    }
}
