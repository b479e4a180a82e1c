package import HearthJSONTree
import HearthTreeText
package import HearthWireProtocol

extension WireAssignment {
    /// Reads the object of an update as one text (``CanonicalJSON/childAssignments(of:)``) if all its keys are those of
    /// children, and it has so many bytes or members that this pays off; the contents of `text` are lost. Otherwise
    /// answers nil and leaves the text as it is, for ``parse(_:base:)``.
    package static func parseChildren(
        using text: inout [UInt8], base: Path, bytesMin: Int, countMin: Int
    ) throws(RequestError) -> (value: CanonicalJSON, hasServerValues: Bool)? {
        guard let count = text.withUnsafeBytes(countOfChildren), text.count >= bytesMin || count >= countMin else {
            return nil
        }
        let read: (value: CanonicalJSON, hasServerValues: Bool)
        do throws(JSONError) {
            let limits = CanonicalJSON.Limits(depth: Path.maximumDepth - base.depth)
            read = try CanonicalJSON.parseChildren(using: &text, limits: limits)
        } catch {
            throw .value(error)
        }
        // Of equal keys the last one is left.
        if read.value.childCount < count { throw .overlappingPaths }
        return read
    }

    /// How many members an object has whose keys are all keys of children and need no escapes; nil for anything else.
    private static func countOfChildren(_ text: UnsafeRawBufferPointer) -> Int? {
        var reader = JSONReader(text)
        var count = 0
        do throws(JSONError) {
            try reader.forEachMember { (reader, key) throws(JSONError) in
                if key.contains(UInt8(ascii: "\\")) || !Key.isValid(key) {
                    throw JSONError(.unknownMetadata, at: reader.offset)
                }
                count += 1
                _ = try reader.skipValue()
            }
            try reader.finish()
        } catch {
            return nil
        }
        return count
    }
}
