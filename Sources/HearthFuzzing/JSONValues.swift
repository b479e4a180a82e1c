import HearthJSONPieces
import HearthJSONTree

/// The text of a value as a client sends it. The result is canonical, so it reads back as itself, and is the same after
/// taking it apart and joining it again. An import of the text gives the same value.
public func fuzzJSONValues(_ bytes: UnsafeRawBufferPointer) {
    fuzzPieces(bytes)
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

/// A text that is accepted in pieces is accepted as a whole, and is the same value.
private func fuzzPieces(_ bytes: UnsafeRawBufferPointer) {
    var pieces = JSONPieces(at: .root, pieceBytesMax: 8)
    var value = CanonicalJSON.null
    var rest = bytes
    while true {
        guard let step = try? pieces.next() else { return }
        switch step {
        case .end:
            let whole = try? CanonicalJSON.parse([UInt8](bytes)).value
            precondition(whole == value, "the pieces make another value")
            return
        case .needsMore where rest.isEmpty: pieces.finish()
        case .needsMore:
            pieces.append(UnsafeRawBufferPointer(rebasing: rest.prefix(5)))
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(5))
        case .piece(.value(let path, let json, _)): value = value.setting(json, at: path)
        case .piece(.clear(let path)): value = value.setting(.null, at: path)
        case .piece(.priority(let path, let json, _)): value = value.settingPriority(json, at: path) ?? value
        }
    }
}
