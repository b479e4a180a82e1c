import HearthJSONTree
import HearthTreeText

/// The fields that somebody wants of each child (Protocol.md 18.3).
extension Query {
    /// Whether only some fields of each child are sent.
    var choosesFields: Bool { conditions?.fields.isEmpty == false }

    /// The part of a child that is sent; null if it has none of the fields.
    func chosen(of value: CanonicalJSON) -> CanonicalJSON {
        guard let fields = conditions?.fields, !fields.isEmpty else { return value }
        let parts = fields.compactMap { field in
            field.isRoot
                ? CanonicalJSON.Edit(path: field, value: value)
                : value.range(of: field).map { CanonicalJSON.Edit(path: field, value: value.part($0)) }
        }
        return parts.isEmpty ? .null : CanonicalJSON.null.setting(parts)
    }

    /// The part of an object of children that is sent.
    func chosen(ofChildren object: CanonicalJSON) -> CanonicalJSON {
        if !choosesFields { return object }
        var text = ObjectText()
        for child in object.children {
            var segment: [UInt8] = []
            child.appendSegment(to: &segment)
            // It is no longer than its source.
            try? text.append(segment, chosen(of: object.part(child.value)))
        }
        return text.finish()
    }
}
