package import HearthJSONTree

/// One state of a database, as rules read it. Places are encoded paths (`Path.encoded`).
///
/// Rules look at few places and at little of each, so nothing here assembles a value.
package protocol RuleTree: AnyObject {
    /// The value at a place. Should cost a walk and a reference, not a copy.
    func value(at path: RawSpan) throws(RuleTreeError) -> RuleTreeValue

    /// Visits the encoded keys of a place's children, each once and in any order, until `body` answers false. Asked
    /// only about places whose value is `.spread`.
    func forEachChild(
        of path: RawSpan, _ body: (RawSpan) throws(RuleTreeError) -> Bool
    ) throws(RuleTreeError)
}

/// The value of a tree at a place.
package enum RuleTreeValue: Sendable {
    case nothing
    /// The whole value is the canonical text in `range` of `json`.
    case text(CanonicalJSON, Range<Int>)
    /// There are children (at least one), which have to be asked for; `priority` is the place's own, or null.
    case spread(priority: CanonicalJSON)
}

/// The tree cannot be read now. Then there is no decision: the operation fails with the reason.
package struct RuleTreeError: Error {
    package let reason: any Error

    package init(_ reason: any Error) { self.reason = reason }
}

extension RuleTreeValue {
    package init(_ json: CanonicalJSON) { self = json.isNull ? .nothing : .text(json, json.range) }

    var exists: Bool {
        if case .nothing = self { false } else { true }
    }

    var hasChildren: Bool {
        switch self {
        case .nothing: false
        case .text(let json, let range): json.shape(of: range).kind == .inner
        case .spread: true
        }
    }

    /// The first byte of a primitive's text, which tells its type.
    var leafStart: UInt8? {
        guard case .text(let json, let range) = self else { return nil }
        let shape = json.shape(of: range)
        guard shape.kind == .leaf, !shape.content.isEmpty else { return nil }
        return json.bytes[shape.content.lowerBound]
    }

    /// The text of the priority and its position; nil if there is none.
    var priority: (CanonicalJSON, Range<Int>)? {
        switch self {
        case .nothing: nil
        case .text(let json, let range): json.shape(of: range).priority.map { (json, $0) }
        case .spread(let priority): priority.isNull ? nil : (priority, priority.range)
        }
    }
}

extension CanonicalJSON {
    func shape(of range: Range<Int>) -> CanonicalShape { bytes.withUnsafeBytes { CanonicalShape($0, range) } }
}
