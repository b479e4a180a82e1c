package import HearthJSONTree

/// Where members of a wide object begin, about a KiB apart, so that one is found without reading all that come before
/// it.
package struct MemberIndex: Sendable {
    /// An object of fewer bytes is read as fast.
    package static let bytesMin = 4 << 10
    private static let distance = 1 << 10

    /// In key order. Not empty unless the object is.
    private var starts: [UInt32] = []
    private let end: Int

    /// Of the object whose text is `range` of `json`. O(bytes of the range).
    package init(_ json: CanonicalJSON, _ range: Range<Int>) {
        end = json.bytes.withUnsafeBytes { CanonicalShape($0, range).content.upperBound }
        json.bytes.withUnsafeBytes { text in
            var next = 0
            for member in CanonicalMembers(text, CanonicalShape(text, range)) where member.all.lowerBound >= next {
                starts.append(UInt32(member.all.lowerBound))
                next = member.all.lowerBound + Self.distance
            }
        }
    }

    /// The position of a child's value in the text; nil if there is none. O(log of the children).
    ///
    /// - parameter segment: the encoded key.
    package func value(of segment: UnsafeRawBufferPointer, in json: CanonicalJSON) -> Range<Int>? {
        json.bytes.withUnsafeBytes { text in
            Segment.withKey(of: segment) { key in
                let after = starts.partitioningIndex { start in
                    CanonicalMember(keyAt: Int(start), text).withKey(text) { compareKeys($0, key) > 0 }
                }
                guard after > 0 else { return nil }
                let end = after < starts.count ? Int(starts[after]) - 1 : end
                var members = CanonicalMembers(text, from: Int(starts[after - 1]), to: end)
                while let member = members.next() {
                    if member.withKey(text, { equalBytes($0, key) }) { return member.value }
                }
                return nil
            }
        }
    }
}
