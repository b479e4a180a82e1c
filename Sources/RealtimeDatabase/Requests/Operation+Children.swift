package import HearthJSONTree
import HearthTreeText

extension Operation {
    /// An update of very many children of one place as one text (``setChildren(_:_:)``); any other operation as it is.
    package var asText: Operation {
        guard case .update(_, let entries) = self, let parent = entries.first?.target.path.parent,
            entries.count >= Self.largeCountMin || byteCount >= Self.largeBytesMin
        else { return self }
        return asText(childrenOf: parent) ?? self
    }

    /// Nil if it sets something else.
    package func asText(childrenOf parent: Path) -> Operation? {
        guard case .update(_, let entries) = self, !entries.isEmpty else { return nil }
        let isFlat = entries.allSatisfy { target, _ in !target.isPriority && target.path.isChild(of: parent) }
        guard isFlat else { return nil }
        let assignments = entries.map { Assignment(target: $0.target, value: $0.value.json) }
        let text = CanonicalJSON(children: assignments, of: parent)
        let hasServerValues = entries.contains { $0.value.hasServerValues }
        return .setChildren(parent, IncomingValue(json: text, hasServerValues: hasServerValues))
    }
}

extension IncomingValue {
    /// The children of a place that it sets (``Operation/setChildren(_:_:)``). Takes memory for each.
    package func entries(of base: Path) -> [(target: WriteTarget, value: IncomingValue)] {
        json.childAssignments(of: base).map { child in
            (child.target, IncomingValue(json: child.value, hasServerValues: hasServerValues))
        }
    }
}
