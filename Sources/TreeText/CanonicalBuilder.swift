package import HearthJSONTree

/// Puts a large value together from pieces that come in tree order, such as the rows of a subtree.
///
///     var builder = CanonicalBuilder()
///     builder.openObject()
///     builder.key(a)
///     builder.value(text)
///     builder.closeObject()
///     let value = builder.finish()
///
/// The caller keeps the order of keys and balances the calls; objects that stay empty vanish, with their keys and
/// priorities.
package struct CanonicalBuilder {
    private struct Open {
        /// Where to cut when the object stays empty: before the comma and the key that lead to it.
        var start: Int
        var hasChildren = false
        /// Whether a comma is due before the next child: there is a priority or a child.
        var needsComma: Bool
    }

    private var bytes: [UInt8] = []
    private var open: [Open] = []
    /// Before the comma of the last key, which has no value yet.
    private var memberStart = 0

    package init() {}

    /// Bytes so far.
    package var count: Int { bytes.count }

    package mutating func reserveCapacity(_ count: Int) { bytes.reserveCapacity(count) }

    /// Begins an inner node, as the root or after a key. `priority` is null or the priority's text.
    package mutating func openObject(priority: CanonicalJSON = .null) {
        open.append(Open(start: memberStart, needsComma: !priority.isNull))
        bytes.append(UInt8(ascii: "{"))
        if !priority.isNull {
            bytes.append(contentsOf: "\".priority\":".utf8)
            bytes.append(contentsOf: priority.bytes)
        }
    }

    package mutating func key(_ key: Key) {
        beginMember()
        JSONText.appendQuoted(key.utf8, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }

    /// The key as one encoded segment of a path.
    package mutating func key(segment: RawSpan) {
        beginMember()
        segment.withUnsafeBytes { segment in
            Segment.withKey(of: segment) { JSONText.appendQuoted($0, to: &bytes) }
        }
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func beginMember() {
        memberStart = bytes.count
        if let last = open.last, last.needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    /// The value of the last key, or the whole value: canonical text. A null takes the key away again.
    package mutating func value(_ text: RawSpan) {
        text.withUnsafeBytes { text in
            guard text.first != UInt8(ascii: "n") else {
                bytes.removeSubrange(memberStart...)
                return
            }
            bytes.append(contentsOf: text)
            noteChild()
        }
    }

    package mutating func value(_ value: CanonicalJSON) { self.value(value.bytes.span.bytes) }

    package mutating func closeObject() {
        guard let last = open.popLast() else { return }
        if last.hasChildren {
            bytes.append(UInt8(ascii: "}"))
            noteChild()
        } else {
            bytes.removeSubrange(last.start...)
        }
    }

    private mutating func noteChild() {
        guard !open.isEmpty else { return }
        open[open.count - 1].hasChildren = true
        open[open.count - 1].needsComma = true
    }

    /// Null if nothing was added.
    package consuming func finish() -> CanonicalJSON {
        bytes.isEmpty ? .null : CanonicalJSON(trusted: bytes)
    }
}
