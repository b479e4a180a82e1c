import HearthJSONTree
import HearthTreeText

/// The text of a path as a client sends it, plain and percent-encoded: its own text reads back as itself.
public func fuzzPaths(_ bytes: UnsafeRawBufferPointer) {
    let text = [UInt8](bytes)
    for path in [try? Path(parsing: text), try? Path(percentEncoded: text)] {
        guard let path else { continue }
        guard let copy = try? Path(parsing: path.text), let encoded = Path(validatingEncoded: path.encoded) else {
            preconditionFailure("a written path is refused")
        }
        precondition(copy == path && encoded == path && Path(path.keys) == path, "a written path is another")
        precondition(path.depth <= Path.maximumDepth, "too deep")
    }
    _ = try? WriteTarget(parsing: text)
    _ = Path(validatingEncoded: text)
}
