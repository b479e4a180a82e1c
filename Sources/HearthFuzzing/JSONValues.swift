import JSONTree

/// The text of a value as a client sends it: what is read is canonical, so it reads back as itself, and taken apart and
/// put together again it is the same.
public func fuzzJSONValues(_ bytes: UnsafeRawBufferPointer) {
    guard let (value, hasServerValues) = try? CanonicalJSON.parse([UInt8](bytes)) else { return }
    guard let (copy, copyHasServerValues) = try? CanonicalJSON.parse(value.bytes) else {
        preconditionFailure("canonical text is refused")
    }
    precondition(copy == value && copyHasServerValues == hasServerValues, "canonical text reads as another value")
    guard !value.isLeaf, !value.isNull else { return }
    var joined = CanonicalJSON.null
    var previous: Key?
    for child in value.children {
        precondition(previous.map { $0 < child.key } ?? true, "keys out of order")
        previous = child.key
        let path = Path([child.key])
        let part = value.part(child.value)
        precondition(value.value(at: path) == part, "a child is not where its key says")
        joined = joined.setting(part, at: path)
        precondition(value.setting(part, at: path) == value, "setting what is there changes it")
    }
    precondition(joined.settingPriority(value.priority, at: .root) == value, "the children do not make the value")
}
